// SPDX-License-Identifier: Apache-2.0

// Threads whose stacks stay as they are: each has a goroutine of its own, which calls a chain of
// functions, through C and back in some, and then only counts. A profiler and a debugger can look
// at them one after the other. It writes a line when all of them count.
package main

/*
#cgo CFLAGS: -O2 -fomit-frame-pointer
#cgo LDFLAGS: -pthread
#include "still.h"
*/
import "C"

import (
	"os"
	"runtime"
	"runtime/debug"
	"sort"
)

var count [64]int

// Forever.
//
//go:noinline
func still(n int) int {
	for {
		count[n]++
	}
}

//go:noinline
func first(n int) int { return second(n) + 1 }

//go:noinline
func second(n int) int {
	if n == 0 {
		return still(0)
	}
	return first(n-1) + n
}

type shape interface{ turn(n int) int }
type square struct{ side, angle int }

//go:noinline
func (s square) turn(n int) int { return still(n) + s.side }

//go:noinline
func generic[T int | float64](value T) int { return still(2) + int(value) }

//go:noinline
func closing(n int) int {
	return apply(func(m int) int { return still(m) + n })
}

//go:noinline
func apply(f func(n int) int) int { return f(3) + 1 }

//go:noinline
func deferring() (ret int) {
	defer func() { ret = still(4) + 1 }()
	return 1
}

//go:noinline
func panicking() (ret int) {
	defer func() { ret = still(5) + 1 }()
	throw(3)
	return 1
}

//go:noinline
func throw(n int) {
	if n == 0 {
		panic("thrown")
	}
	throw(n - 1)
}

//go:noinline
func sorted() {
	numbers := []int{3, 1, 2}
	sort.Slice(numbers, func(i, j int) bool { return still(6) > 0 })
}

//go:noinline
func large(n int) int {
	var room [200]int
	room[n] = n
	if n == 0 {
		return still(7) + room[0]
	}
	return large(n-1) + room[n]
}

//go:noinline
func down(n, end int) int { return int(C.c_down(C.int(n), C.int(end))) + 1 }

//export goUp
//go:noinline
func goUp(n, end C.int) C.int {
	if n == 0 {
		return C.int(still(int(end)))
	}
	return C.int(down(int(n)-1, int(end))) + 1
}

func main() {
	debug.SetGCPercent(-1)
	work := []func(){
		func() { first(5) },
		func() { var s shape = square{1, 2}; s.turn(1) },
		func() { generic(1.5) },
		func() { closing(1) },
		func() { deferring() },
		func() { panicking() },
		func() { sorted() },
		func() { large(30) },
		func() { down(0, 8) },
		func() { down(3, 9) },
		func() { C.c_threads(10, 11) },
		func() { C.c_still(12) },
	}
	runtime.GOMAXPROCS(len(work) + 4)
	for _, f := range work {
		f := f
		go func() {
			runtime.LockOSThread()
			f()
			select {}
		}()
	}
	runtime.LockOSThread()
	for n := 0; n <= 12; {
		if count[n] > 0 || C.c_count(C.int(n)) > 0 {
			n++
		}
		runtime.Gosched()
	}
	os.Stdout.WriteString("still\n")
	still(13)
}
