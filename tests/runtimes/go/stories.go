// SPDX-License-Identifier: GPL-2.0-or-later

// A workload (tests/workloads/workload.h) that knows its own goroutines, records and figures:
// "spawn N" makes N goroutines that wait for ever; "keep N" keeps N blocks of 64 KiB; "gc" collects
// twice; "truth" and "stats" say what the runtime knows of all that, as one line of JSON.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync"
	"time"
)

var (
	kept   [][]byte
	last   []byte
	queue  = make(chan int)
	gate   sync.Mutex
	never  = make(chan struct{})
	ticker = make(chan struct{})
)

//go:noinline
func worker(ready *sync.WaitGroup) {
	ready.Done()
	<-queue // waits for ever
}

//go:noinline
func spawn(count int) {
	var ready sync.WaitGroup

	ready.Add(count)
	for i := 0; i < count; i++ {
		go worker(&ready)
	}
	ready.Wait()
}

func locker(ready *sync.WaitGroup) {
	ready.Done()
	gate.Lock()
}

func sleeper(ready *sync.WaitGroup) {
	ready.Done()
	time.Sleep(time.Hour)
}

func selector(ready *sync.WaitGroup) {
	ready.Done()
	select {
	case <-never:
	case <-ticker:
	}
}

func others() {
	var ready sync.WaitGroup

	gate.Lock()
	ready.Add(6)
	for i := 0; i < 3; i++ {
		go locker(&ready)
	}
	for i := 0; i < 2; i++ {
		go sleeper(&ready)
	}
	go selector(&ready)
	ready.Wait()
}

// Inlined into its caller. Every page is written to, and so resident.
func block() []byte {
	made := make([]byte, 64<<10)
	for i := 0; i < len(made); i += 4096 {
		made[i] = 1
	}
	return made
}

//go:noinline
func keep(count int) {
	for i := 0; i < count; i++ {
		kept = append(kept, block())
	}
}

//go:noinline
func churn(count int) {
	for i := 0; i < count; i++ {
		last = block()
	}
	last = nil
}

type group struct {
	State   string `json:"state"`
	Creator string `json:"creator"`
	Where   string `json:"where"`
}

var header = regexp.MustCompile(`^goroutine \d+ \[([^,\]]+).*\]:$`)

// "main.spawn stories.go:41": of a line with the function, and the one with its place below.
func place(function, at string) string {
	function = strings.TrimPrefix(function, "created by ")
	function, _, _ = strings.Cut(function, " in goroutine")
	if end := strings.LastIndexByte(function, '('); end > 0 && strings.HasSuffix(function, ")") {
		function = function[:end]
	}
	at, _, _ = strings.Cut(strings.TrimSpace(at), " ")
	return function + " " + at[strings.LastIndexByte(at, '/')+1:]
}

// Every goroutine that is none of the runtime's own: how many of each kind.
func goroutines() []map[string]any {
	text := make([]byte, 64<<20)
	counts := map[group]int{}
	var list []map[string]any

	text = text[:runtime.Stack(text, true)]
	for _, one := range strings.Split(string(text), "\n\n") {
		var found group
		lines := strings.Split(strings.TrimSpace(one), "\n")
		state := header.FindStringSubmatch(lines[0])
		if state == nil {
			continue
		}
		found.State = state[1]
		for i := 1; i+1 < len(lines); i += 2 {
			if strings.HasPrefix(lines[i], "created by ") {
				found.Creator = place(lines[i], lines[i+1])
			} else if found.Where == "" {
				found.Where = place(lines[i], lines[i+1])
			}
		}
		counts[found]++
	}
	for one, count := range counts {
		list = append(list, map[string]any{"state": one.State, "creator": one.Creator,
			"where": one.Where, "count": count})
	}
	return list
}

func frames(stack []uintptr) []string {
	var list []string

	for found := runtime.CallersFrames(stack); ; {
		frame, more := found.Next()
		file := frame.File[strings.LastIndexByte(frame.File, '/')+1:]
		list = append(list, fmt.Sprintf("%s %s:%d", frame.Function, file, frame.Line))
		if !more {
			return list
		}
	}
}

func records() []map[string]any {
	var list []map[string]any
	all := make([]runtime.MemProfileRecord, 10000)
	count, _ := runtime.MemProfile(all, true)

	for _, one := range all[:count] {
		list = append(list, map[string]any{"allocated_objects": one.AllocObjects,
			"freed_objects": one.FreeObjects, "allocated_bytes": one.AllocBytes,
			"freed_bytes": one.FreeBytes, "frames": frames(one.Stack())})
	}
	return list
}

// What is written is not collected, for it is no news to the records.
func truth(out *json.Encoder) {
	found, threads := records(), goroutines()
	out.Encode(map[string]any{"version": runtime.Version(), "records": found,
		"goroutines": threads, "count": runtime.NumGoroutine(),
		"rate": runtime.MemProfileRate})
}

func figures(out *json.Encoder) {
	var stats runtime.MemStats

	limit := debug.SetMemoryLimit(-1)
	runtime.ReadMemStats(&stats)
	out.Encode(map[string]any{"heap_in_use": stats.HeapInuse, "heap_idle": stats.HeapIdle,
		"heap_released": stats.HeapReleased, "stack_in_use": stats.StackInuse,
		"next_gc": stats.NextGC, "collections": stats.NumGC, "limit": limit})
}

func expire() {}

// Timers that nobody waits for: outside of modules, those of time.After stay until they fire.
func forget(count int) {
	for i := 0; i < count; i++ {
		time.AfterFunc(time.Hour, expire)
		time.After(time.Hour)
	}
}

func main() {
	var count int
	input, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)

	others()
	fmt.Println("ready")
	for input.Scan() && input.Text() != "quit" {
		words := strings.Fields(input.Text())
		if len(words) > 1 {
			fmt.Sscan(words[1], &count)
		}
		switch words[0] {
		case "spawn":
			spawn(count)
		case "keep":
			keep(count)
		case "churn":
			churn(count)
		case "forget":
			forget(count)
		case "stats":
			figures(out)
			continue
		case "end":
			for i := 0; i < count; i++ {
				queue <- i
			}
		case "write":
			file, err := os.Create(words[1])
			if err == nil {
				err = pprof.WriteHeapProfile(file)
			}
			if err != nil {
				panic(err)
			}
			file.Close()
		case "gc":
			runtime.GC()
			runtime.GC()
		case "truth":
			truth(out)
			continue
		}
		fmt.Println("done")
	}
}
