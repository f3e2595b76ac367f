// SPDX-License-Identifier: Apache-2.0

// usage: spans SECONDS
//
// Goroutines call handle(): nested, and left by returns and panics. They begin with a small stack, which moves
// when it grows: before, within and after the calls. What Go's own label "truth" says is the number of the
// innermost call; 0: there is none, -1: it is just changing.
package main

import (
	"context"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"time"
)

const numbers = 1000

var truths [numbers + 1]context.Context
var changing context.Context
var sum [8]int

type worker struct {
	index  int
	random uint32
}

func (w *worker) next() uint32 {
	w.random = w.random*1664525 + 1013904223
	return w.random >> 16
}

// Within the call of this number.
//
//go:noinline
func work(w *worker, number int) {
	pprof.SetGoroutineLabels(truths[number])
	for i, n := uint32(0), w.next()%30000; i < n; i++ {
		sum[w.index] += int(i)
	}
	pprof.SetGoroutineLabels(changing)
}

// Needs 1 KiB of stack for each of its calls.
//
//go:noinline
func grow(w *worker, number int, depth uint32) int {
	var room [120]int
	room[depth%120] = int(depth)
	if depth > 0 {
		return grow(w, number, depth-1) + room[depth%120]
	}
	work(w, number)
	return room[0]
}

//go:noinline
func handle(route string, number int, depth int, w *worker) int {
	work(w, number)
	if depth > 0 {
		nested(w, number, depth-1)
	}
	if w.next()%2 == 0 {
		sum[w.index] += grow(w, number, w.next()%32)
	}
	if w.next()%4 == 0 {
		runtime.Gosched()
	}
	work(w, number)
	if w.next()%8 == 0 {
		panic(number)
	}
	work(w, number)
	return len(route)
}

//go:noinline
func nested(w *worker, outer int, depth int) {
	number := 1 + int(w.next()%numbers)
	if number > numbers {
		number = numbers
	}
	sum[w.index] += handle("/r/"+strconv.Itoa(number), number, depth, w)
	work(w, outer)
}

//go:noinline
func round(w *worker) {
	defer func() { recover() }()
	nested(w, 0, int(w.next()%6))
}

// A goroutine with a stack of its own, which another one may have had.
func run(w worker, done *sync.WaitGroup) {
	defer done.Done()
	work(&w, 0)
	for i := uint32(0); i < 1+w.next()%4; i++ {
		round(&w)
	}
	work(&w, 0)
}

func main() {
	seconds, err := strconv.ParseFloat(os.Args[1], 64)
	if err != nil {
		os.Exit(2)
	}
	for i := range truths {
		truths[i] = pprof.WithLabels(context.Background(), pprof.Labels("truth", strconv.Itoa(i), "number", "own"))
	}
	changing = pprof.WithLabels(context.Background(), pprof.Labels("truth", "-1"))
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	for random := uint32(1); time.Now().Before(end); random += 8 {
		var done sync.WaitGroup
		for i := 0; i < 8; i++ {
			done.Add(1)
			go run(worker{i, (random + uint32(i)) * 2654435761}, &done)
		}
		done.Wait()
		if random%64 == 1 {
			runtime.GC()
		}
	}
}
