// SPDX-License-Identifier: GPL-2.0-or-later

// C strings that nothing frees: "leak 100" from the main goroutine, "leak-deep 100" from a goroutine
// with a stack that has grown, and so moved, several times before. Answers "done".
package main

// #include <stdlib.h>
import "C"

import (
	"bufio"
	"fmt"
	"os"
	"unsafe"
)

//go:noinline
func bind(query string) *C.char {
	return C.CString(query)
}

//go:noinline
func leak(count int) {
	for i := 0; i < count; i++ {
		bind("select")
	}
}

//go:noinline
func deeper(depth, count int) byte {
	var room [2048]byte
	room[depth%len(room)] = byte(depth)
	if depth == 0 {
		leak(count)
	} else {
		room[0] += deeper(depth-1, count)
	}
	return room[depth%len(room)]
}

//go:noinline
func freeAfter(count int) {
	for i := 0; i < count; i++ {
		C.free(unsafe.Pointer(bind("freed")))
	}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	fmt.Println("ready")
	for lines.Scan() {
		var command string
		var count int
		fmt.Sscan(lines.Text(), &command, &count)
		switch command {
		case "leak":
			leak(count)
		case "leak-deep":
			done := make(chan byte)
			go func() { done <- deeper(10, count) }()
			<-done
		}
		freeAfter(count)
		fmt.Println("done")
	}
}
