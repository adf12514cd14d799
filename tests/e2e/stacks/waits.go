// SPDX-License-Identifier: Apache-2.0

// Waits for 60 ms in a known stack, as program.c does; nothing of it is C.
package main

import "syscall"

var done int

//go:noinline
func inner() {
	syscall.Nanosleep(&syscall.Timespec{Nsec: 60000000}, nil)
	done++ // no call is the last thing
}

//go:noinline
func outer() {
	inner()
	done++
}

func main() {
	outer()
	done++
}
