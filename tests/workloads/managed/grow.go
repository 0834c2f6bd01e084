// SPDX-License-Identifier: GPL-2.0-or-later

// A workload (tests/workloads/workload.h) that grows in Go's heap: 96 MiB of slices.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
)

var kept [][]byte

func grow() {
	for i := 0; i < 96; i++ {
		slice := make([]byte, 1<<20)
		for j := range slice {
			slice[j] = 1
		}
		kept = append(kept, slice)
	}
}

// The runtime maps arenas by 4 MiB, in which it has stacks as well.
func truth() {
	const step = 4 << 20
	var stats runtime.MemStats

	runtime.ReadMemStats(&stats)
	fmt.Printf("{\"mapped\":%d,\"held\":%d}\n",
		(stats.HeapSys+stats.StackSys+step-1)/step*step, stats.HeapInuse)
}

func main() {
	input := bufio.NewScanner(os.Stdin)
	fmt.Println("ready", os.Getpid())
	for input.Scan() && input.Text() != "quit" {
		if input.Text() == "grow" {
			grow()
			fmt.Println("done")
		} else {
			truth()
		}
	}
}
