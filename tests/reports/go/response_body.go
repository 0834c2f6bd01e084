// SPDX-License-Identifier: GPL-2.0-or-later
// Report: golang/go#16953, openshift/cluster-api-provider-gcp#150. A response body that is not closed keeps its
// connection and two goroutines. `fixed`: it is closed.
//
// kind: Go
// leak go-response-body: leak
//
//	part: goroutines|descriptors
//	code: http\.|net\.|main\.poll
//
// healthy go-body-closed: fixed
package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"time"
)

func poll(c *http.Client, url string, fixed bool) {
	r, err := c.Get(url)
	if err != nil {
		fmt.Println(err)
		return
	}
	if fixed {
		r.Body.Close()
	}
}

func main() {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write(make([]byte, 8192))
	}))
	c := &http.Client{Transport: &http.Transport{}}
	for {
		poll(c, s.URL, len(os.Args) > 1 && os.Args[1] == "fixed")
		time.Sleep(200 * time.Millisecond)
	}
}
