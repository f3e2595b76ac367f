// SPDX-License-Identifier: Apache-2.0

// Chains through C: as in ../chains, with functions of C among them, whose names begin with c_.
// An exported function is there twice: goUp is what C calls, main.goUp is Go's. @NAME stands for
// each of the rows that begin with `part NAME:`.
//
// It is a program, and as a library what `host/host.c` calls.
package main

/*
#cgo CFLAGS: -O2 -fomit-frame-pointer
#cgo LDFLAGS: -pthread
#include "chain.h"
*/
import "C"

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

var signals = make(chan os.Signal, 1)

//go:noinline
func spin(n int) int {
	x := uint32(n)
	for i := 0; i < n*10000; i++ {
		x = x*1664525 + 1013904223
	}
	return int(x & 0xff)
}

// part nested: (main.down c_down c_middle c_up goUp main.goUp)*3 main.spin
// part nested: (main.down c_down c_middle c_up goUp main.goUp)*3 c_spin
// part nested: (main.down c_down c_middle c_up goUp main.goUp)*3 main.large*20 main.spin
//
//go:noinline
func down(n int) int { return int(C.c_down(C.int(n))) + 1 }

//export goUp
//go:noinline
func goUp(n C.int) C.int {
	if n > 1 {
		return C.int(down(int(n-1))) + 1
	}
	return C.int(spin(1)+large(20)) + C.c_spin(1)
}

// The stack grows, and its parts are copied, C's between them not.
//
//go:noinline
func large(n int) int {
	var room [100]int
	room[n] = n
	if n == 1 {
		return spin(1) + room[n]
	}
	return large(n-1) + room[n%7]
}

// chain: main.calls @nested
func calls() {
	for {
		down(3)
		runtime.Gosched()
	}
}

// chain: main.locked main.pinned @nested
func locked() {
	runtime.LockOSThread()
	for {
		pinned(3)
	}
}

//go:noinline
func pinned(n int) int {
	runtime.Gosched()
	return down(n) + 1
}

// part work: main.spin
// part work: main.churn*9
// part work: (main.down c_down c_middle c_up goUp main.goUp)*2 main.spin
// part work: (main.down c_down c_middle c_up goUp main.goUp)*2 c_spin
// part work: (main.down c_down c_middle c_up goUp main.goUp)*2 main.large*20 main.spin
//
//export goWork
//go:noinline
func goWork(n C.int) C.int {
	return C.int(spin(1) + down(int(n)) + churn(9).n)
}

type tree struct {
	left, right *tree
	n           int
}

//go:noinline
func churn(n int) *tree {
	if n == 1 {
		return &tree{}
	}
	return &tree{churn(n - 1), churn(n - 1), n}
}

//export goBrief
//go:noinline
func goBrief(n C.int) { spin(3) }

// chain: main.threads main.join c_join
func threads() {
	for {
		join()
	}
}

//go:noinline
func join() { C.c_join() }

// chain: main.sorts main.sorted c_sort c_compare goCompare main.goCompare main.spin
// chain: main.sorts main.sorted c_sort c_compare c_spin
func sorts() {
	for {
		sorted(50)
		runtime.Gosched()
	}
}

//go:noinline
func sorted(n int) int { return int(C.c_sort(C.int(n))) + 1 }

//export goCompare
//go:noinline
func goCompare(a, b C.int) C.int { return a - b + 0*C.int(spin(1)) }

// What is thrown passes C's functions. They are still there when the deferred function runs.
//
// chain: main.panics main.panicking main.throwing c_panic goPanic main.goPanic main.panicking.func main.spin
// chain: main.panics main.spin
func panics() {
	for {
		panicking()
		spin(1)
		runtime.Gosched()
	}
}

//go:noinline
func panicking() (ret int) {
	defer func() {
		if recover() != nil {
			ret = spin(2)
		}
	}()
	return throwing()
}

//go:noinline
func throwing() int { return int(C.c_panic(1)) + 1 }

//export goPanic
//go:noinline
func goPanic(n C.int) C.int {
	if n > 0 {
		panic("thrown")
	}
	return n
}

// chain: main.storm main.strike
func storm() {
	for {
		strike()
	}
}

//go:noinline
func strike() {
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	time.Sleep(200 * time.Microsecond)
}

// chain: main.handler
func handler() {
	for range signals {
	}
}

// chain: main.collector main.collect
func collector() {
	for {
		collect()
		time.Sleep(20 * time.Millisecond)
	}
}

//go:noinline
func collect() { runtime.GC() }

// chain: c_host goStart main.goStart c_threads
//
//export goStart
//go:noinline
func goStart() {
	signal.Notify(signals, syscall.SIGUSR1)
	for _, f := range []func(){calls, locked, threads, sorts, panics, handler, storm, collector} {
		go f()
	}
	C.c_threads()
}

// chain: main.main main.goStart c_threads
func main() {
	goStart()
	select {}
}
