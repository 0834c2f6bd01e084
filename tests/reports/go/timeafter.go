// SPDX-License-Identifier: GPL-2.0-or-later
// Report: hashicorp/vault#14814, golang/go#29316, go-mysql-org/go-mysql#423. time.After in a select loop: until Go 1.23
// the timer stays until it fires. `fixed`: NewTimer and Stop.
//
// kind: Go
// leak go-timeafter: leak
//
//	part: managed-objects|.*timer.*
//	code: time\.(After|NewTimer|Timer)|main\.worker
//	near: (96|80|24)-byte object
//	holder: timer|worker|runtime
//
// healthy go-timer-stopped: fixed
package main

import (
	"os"
	"time"
)

func worker(in chan int, fixed bool) {
	for {
		t := time.Hour
		if fixed {
			timer := time.NewTimer(t)
			select {
			case <-in:
				timer.Stop()
			case <-timer.C:
				return
			}
			continue
		}
		select {
		case <-in:
		case <-time.After(t):
			return
		}
	}
}

func main() {
	in := make(chan int)
	go worker(in, len(os.Args) > 1 && os.Args[1] == "fixed")
	for i := 0; ; i++ {
		in <- i
		if i%50 == 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}
}
