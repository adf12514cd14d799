// SPDX-License-Identifier: Apache-2.0
// A pool of goroutines that waits for work, and gets some now and then.
package main

import (
	"syscall"
	"time"
)

func main() {
	jobs := make(chan byte)
	for i := 0; i < 4; i++ {
		go func() {
			for job := range jobs {
				syscall.Write(1, []byte{job})
			}
		}()
	}
	for {
		time.Sleep(300 * time.Millisecond)
		for i := 0; i < 4; i++ {
			jobs <- '.'
		}
	}
}
