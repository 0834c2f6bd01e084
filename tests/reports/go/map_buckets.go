// SPDX-License-Identifier: GPL-2.0-or-later
// Report: golang/go#20135. A map keeps its buckets when its entries are gone. Without an argument a larger burst each
// two seconds: one object grows. `steady`: one burst, and memory that stays.
//
// kind: one block that grows
// leak go-map-buckets:
//
//	part: managed-objects|managed
//	code: sessions|main\.burst|map|bucket
//
// healthy go-map-kept: steady
package main

import (
	"os"
	"time"
)

var sessions = map[int][128]byte{}

func burst(n int) {
	for i := 0; i < n; i++ {
		sessions[i] = [128]byte{1}
	}
	for i := 0; i < n; i++ {
		delete(sessions, i)
	}
}

func main() {
	for n := 20000; ; n += 10000 {
		burst(n)
		if len(os.Args) > 1 {
			for {
				time.Sleep(time.Second)
			}
		}
		time.Sleep(2 * time.Second)
	}
}
