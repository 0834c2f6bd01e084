// SPDX-License-Identifier: GPL-2.0-or-later

// Sessions that a cache never drops, and one goroutine a second that waits for ever.
package main

import (
	"fmt"
	"time"
)

type session struct {
	user   string
	basket []string
}

var (
	cache = map[int]*session{}
	never = make(chan int)
)

//go:noinline
func login(number int) *session {
	made := &session{user: fmt.Sprintf("user %d", number)}
	for i := 0; i < 20; i++ {
		made.basket = append(made.basket, fmt.Sprintf("%d/%d", number, i))
	}
	if number%4 == 0 {
		cache[number] = made
	}
	return made
}

func notify() {
	<-never
}

func main() {
	for number := 1; ; number++ {
		login(number)
		if number%20 == 0 {
			time.Sleep(50 * time.Millisecond)
		}
		if number%400 == 0 {
			go notify()
		}
	}
}
