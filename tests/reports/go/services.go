// SPDX-License-Identifier: GPL-2.0-or-later
// A service. `subscribers`: goroutines that wait on a channel of a subscription that is over. `cache`: a global map by
// request. `slice`: a short slice of a large body keeps the body. `files`: files that are not closed. `lru`: a map of
// the latest 2,000. `churn`: garbage alone. `workers`: goroutines that end. `pool`: sync.Pool.
//
// kind: Go
// leak go-subscribers: subscribers
//
//	part: goroutines
//	code: main\.subscribe
//
// leak go-cache: cache
//
//	part: managed-objects
//	code: main\.remember|768-byte object
//	holder: sessions
//
// leak go-slice-of-body: slice
//
//	part: managed-objects
//	code: main\.token|8192-byte object
//	holder: tokens
//
// leak go-files: files
//
//	kind: descriptors
//	part: descriptors
//	code: main\.readHost|os\.Open|syscall
//	holder: /etc/
//
// healthy go-lru: lru
//
//	warm: 20
//
// healthy go-churn: churn
// healthy go-workers: workers
// healthy go-pool: pool
package main

import (
	"os"
	"strconv"
	"sync"
	"time"
)

type Session struct {
	User string
	Body [700]byte
}

var (
	sessions = map[int]*Session{}
	tokens   [][]byte
	files    []*os.File
	pool     = sync.Pool{New: func() interface{} { return new(Session) }}
	sum      int
)

func subscribe(n int) {
	events := make(chan int)
	go func() {
		for e := range events {
			sum += e
		}
	}()
	if n < 0 {
		close(events)
	}
}

func remember(n int) {
	sessions[n] = &Session{User: "user " + strconv.Itoa(n)}
}

func token(n int) []byte {
	body := make([]byte, 8000)
	body[5] = byte(n)
	return body[:10]
}

func readHost() {
	f, err := os.Open("/etc/hostname")
	if err == nil {
		files = append(files, f)
	}
}

func work(n int) {
	done := make(chan int)
	go func() { time.Sleep(time.Millisecond); done <- n }()
	sum += <-done
}

func main() {
	mode := "churn"
	if len(os.Args) > 1 {
		mode = os.Args[1]
	}
	for n := 0; ; n++ {
		switch mode {
		case "subscribers":
			subscribe(n)
			time.Sleep(20 * time.Millisecond)
		case "cache":
			remember(n)
		case "slice":
			tokens = append(tokens, token(n))
		case "files":
			readHost()
			time.Sleep(100 * time.Millisecond)
		case "lru":
			remember(n)
			delete(sessions, n-2000)
		case "workers":
			work(n)
		case "pool":
			s := pool.Get().(*Session)
			s.Body[n%700]++
			pool.Put(s)
		default:
			sum += len(token(n))
		}
		if n%5 == 4 {
			time.Sleep(20 * time.Millisecond)
		}
	}
}
