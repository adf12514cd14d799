// SPDX-License-Identifier: Apache-2.0
// exchange N: like exchange.c, in Go: sends a message of 64 bytes N times at one end of a Unix socket,
// and receives it at the other end in the same goroutine. Before that it does so for a while, until a
// recorder has looked at it. Prints the CPU time of a send and a receive together.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

const threadCPU = 3 // CLOCK_THREAD_CPUTIME_ID

// The time of this thread alone.
func cpuNs() int64 {
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, threadCPU, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

func exchange(ends [2]int, message []byte) {
	if n, err := syscall.Write(ends[0], message); n != len(message) {
		panic(err)
	}
	if n, err := syscall.Read(ends[1], message); n != len(message) {
		panic(err)
	}
}

func main() {
	n, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		panic(err)
	}
	debug.SetGCPercent(-1)
	runtime.LockOSThread()
	message := make([]byte, 64)
	for begin := time.Now(); time.Since(begin) < 500*time.Millisecond; {
		exchange(ends, message)
	}
	begin := cpuNs()
	for i := 0; i < n; i++ {
		exchange(ends, message)
	}
	fmt.Printf("ns_per_call %.2f\n", float64(cpuNs()-begin)/float64(n))
}
