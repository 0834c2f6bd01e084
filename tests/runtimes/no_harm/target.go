// SPDX-License-Identifier: GPL-2.0-or-later

// A program under load that checks itself; what it reads and writes: see ../no_harm.py.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"
)

type node struct {
	number    int
	following *node
	text      string
}

type value struct {
	number int
	list   []*value
}

var (
	lock   sync.Mutex
	counts = map[string]int{}
	wrong  = map[string]int{}
	beats  = map[string]map[int]int{"alone": {}, "looked": {}}
	kept   = map[string]*value{}
	phase  = "alone"
	begins = true
)

const keptValues = 1000

func add(counters map[string]int, name string) {
	lock.Lock()
	counters[name]++
	lock.Unlock()
}

func expect(name string, right bool) {
	if !right {
		add(wrong, name)
	}
}

func checkKept() {
	right := 0
	for i := 0; i < keptValues; i++ {
		one := kept[fmt.Sprint("key ", i)]
		if one != nil && one.number == i && one.list[0] == one {
			right++
		}
	}
	expect("planted objects", right == keptValues)
	add(counts, "checks")
}

// Goroutines with deep stacks, which are copied as they grow.
func deep(left int) int {
	var room [64]int
	room[left%64] = left
	if left == 0 {
		return 0
	}
	return deep(left-1) + room[left%64]
}

func allocate() {
	var statistics debug.GCStats
	for round := 1; ; round++ {
		var head *node
		sum, finalised := 0, make(chan bool, 1)
		for i := 0; i < 20000; i++ {
			head = &node{i, head, fmt.Sprint(i)}
		}
		for one := head; one != nil; one = one.following {
			sum += one.number + len(one.text)
		}
		expect("new objects", sum == 199990000+88890)
		answers := make(chan int)
		for i := 0; i < 10; i++ {
			go func() { answers <- deep(1000) }()
		}
		for i := 0; i < 10; i++ {
			expect("stacks that grow", <-answers == 500500)
		}
		runtime.SetFinalizer(head, func(*node) { finalised <- true })
		head = nil
		if round%20 == 0 {
			runtime.GC()
			select {
			case <-finalised:
			case <-time.After(time.Minute):
				add(wrong, "garbage that stays")
			}
			debug.ReadGCStats(&statistics)
			lock.Lock()
			counts["collections"] = int(statistics.NumGC)
			lock.Unlock()
			checkKept()
		}
		add(counts, "rounds")
		time.Sleep(2 * time.Millisecond)
	}
}

func byteAt(position int) byte { return byte(position*31 + position/4093) }

func socketPair() (net.Conn, net.Conn) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		panic(err)
	}
	var ends [2]net.Conn
	for i, descriptor := range pair {
		if ends[i], err = net.FileConn(os.NewFile(uintptr(descriptor), "pair")); err != nil {
			panic(err)
		}
	}
	return ends[0], ends[1]
}

func write(connection net.Conn) {
	for written := 0; ; {
		data := make([]byte, written%4000+1)
		for i := range data {
			data[i] = byteAt(written)
			written++
		}
		count, err := connection.Write(data)
		expect(fmt.Sprint("write: ", err), err == nil && count == len(data))
		if written%7 == 0 {
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func read(connection net.Conn) {
	data := make([]byte, 4096)
	for got := 0; ; {
		count, err := connection.Read(data)
		expect(fmt.Sprint("read: ", err), err == nil && count > 0)
		right := true
		for i := 0; i < count; i++ {
			right = right && data[i] == byteAt(got)
			got++
		}
		expect("received bytes", right)
		add(counts, "received")
	}
}

// Limits of time are kept, and are what ends a wait.
func wait(quiet net.Conn) {
	for data := make([]byte, 1); ; {
		began := time.Now()
		quiet.SetReadDeadline(began.Add(7 * time.Millisecond))
		_, err := quiet.Read(data)
		problem, ok := err.(net.Error)
		expect(fmt.Sprint("read in vain: ", err), ok && problem.Timeout())
		time.Sleep(7 * time.Millisecond)
		nap := syscall.NsecToTimespec(1000000)
		for err = syscall.EINTR; err == syscall.EINTR; {
			err = syscall.Nanosleep(&nap, &nap) // the runtime itself interrupts threads
		}
		expect(fmt.Sprint("nanosleep: ", err), err == nil)
		expect("waited too short", time.Since(began) >= 15*time.Millisecond)
		add(counts, "waits")
	}
}

func hand() {
	var guard sync.Mutex
	var items []int
	filled := sync.NewCond(&guard)
	go func() {
		for number := 0; ; number++ {
			guard.Lock()
			items = append(items, number)
			guard.Unlock()
			filled.Signal()
			time.Sleep(time.Millisecond)
		}
	}()
	for wanted := 0; ; {
		guard.Lock()
		for len(items) == 0 {
			filled.Wait()
		}
		for _, item := range items {
			expect("items in order", item == wanted)
			wanted++
		}
		items = nil
		guard.Unlock()
		add(counts, "handed")
	}
}

func beat() {
	for before := time.Now(); ; {
		time.Sleep(time.Millisecond)
		now := time.Now()
		lock.Lock()
		if !begins {
			beats[phase][int(now.Sub(before)/(10*time.Microsecond))]++
		}
		begins = false
		counts["beats"]++
		lock.Unlock()
		before = now
	}
}

func countSignals() {
	signals := make(chan os.Signal, 10)
	signal.Notify(signals, syscall.SIGUSR1)
	go func() {
		for range signals {
			add(counts, "signals")
			os.Stdout.WriteString("s\n")
		}
	}()
}

func tick() {

	ticker := time.NewTicker(5 * time.Millisecond)
	for range ticker.C {
		lock.Lock()
		counts["ticks"]++
		lock.Unlock()
	}
}

func main() {
	for i := 0; i < keptValues; i++ {
		one := &value{number: i}
		one.list = []*value{one}
		kept[fmt.Sprint("key ", i)] = one
	}
	countSignals()
	writer, reader := socketPair()
	quiet, silent := socketPair()
	for _, work := range []func(){allocate, hand, beat, tick} {
		go work()
	}
	go write(writer)
	go read(reader)
	go wait(quiet)
	os.Stdout.WriteString("ready\n")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		lock.Lock()
		if in.Text() == "truth" {
			answer, _ := json.Marshal(map[string]interface{}{"counts": counts, "wrong": wrong,
				"alone": beats["alone"], "looked": beats["looked"]})
			os.Stdout.Write(append(answer, '\n'))
		} else {
			phase, begins = in.Text(), true
		}
		lock.Unlock()
	}
	silent.Close()
}
