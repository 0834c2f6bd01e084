// SPDX-License-Identifier: GPL-2.0-or-later

// A web server: /work answers; /leak answers, too, and leaves a goroutine that waits for ever.
package main

import (
	"fmt"
	"net"
	"net/http"
)

var results = make(chan int)

//go:noinline
func notify() {
	results <- 1 // nobody reads
}

func leak(out http.ResponseWriter, _ *http.Request) {
	go notify()
	fmt.Fprintln(out, "ok")
}

func work(out http.ResponseWriter, _ *http.Request) {
	done := make(chan int)
	go func() { done <- len(make([]byte, 4096)) }()
	fmt.Fprintln(out, <-done)
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	http.HandleFunc("/leak", leak)
	http.HandleFunc("/work", work)
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, nil))
}
