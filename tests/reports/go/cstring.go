// SPDX-License-Identifier: GPL-2.0-or-later
// Report: jsonnet_cgo#8. A C string that cgo code does not free. `fixed`: it is freed.
//
// kind: native memory of Go
// leak go-cstring: leak
//
//	part: native-blocks
//	code: main\.bind|main\._Cfunc_CString
//	near: _cgo|CString|asmcgocall
//
// healthy go-cstring-freed: fixed
package main

// #include <stdlib.h>
// #include <string.h>
import "C"

import (
	"os"
	"strings"
	"time"
	"unsafe"
)

func bind(query string, fixed bool) int {
	c := C.CString(query)
	if fixed {
		defer C.free(unsafe.Pointer(c))
	}
	return int(C.strlen(c))
}

func main() {
	q := strings.Repeat("select ", 100)
	for n := 0; ; n++ {
		bind(q, len(os.Args) > 1 && os.Args[1] == "fixed")
		if n%10 == 0 {
			time.Sleep(20 * time.Millisecond)
		}
	}
}
