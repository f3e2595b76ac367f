// SPDX-License-Identifier: Apache-2.0

// A Go program whose stacks are known from their names: each goroutine calls a chain of functions
// that is written above it, root first:
//
//	chain: NAME ... ; (NAME ...)*N is N times the same, NAME? a wrapper that not all have
//
// The functions of this package in a stack must be such a chain, or its beginning. Functions of
// other packages may stand between. Numbers of closures are left out, and types of generic
// functions are [...]. `cli/tests/go_chains.py` reads these lines, and compares.
package main

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

var signals = make(chan os.Signal, 1)

// Some 20 µs without a call, or a multiple of that.
//
//go:noinline
func spin(n int) int {
	x := uint32(n)
	for i := 0; i < n*10000; i++ {
		x = x*1664525 + 1013904223
	}
	return int(x & 0xff)
}

// chain: main.recursion (main.first main.second main.third)*4 main.spin
func recursion() {
	for {
		first(4)
		runtime.Gosched()
	}
}

//go:noinline
func first(n int) int { return second(n) + 1 }

//go:noinline
func second(n int) int {
	var room [9]int
	room[n] = third(n)
	return room[n] + len(room)
}

//go:noinline
func third(n int) int {
	if n == 1 {
		return spin(1) + 1
	}
	return first(n-1) + n
}

// Each begins with a small stack, which grows several times.
//
// chain: main.growing
func growing() {
	done := make(chan int)
	for {
		go grown(done)
		<-done
		runtime.Gosched()
	}
}

// chain: main.growing.func main.grown (main.large main.larger)*20 main.spin
//
//go:noinline
func grown(done chan<- int) { done <- large(20) }

//go:noinline
func large(n int) int {
	var room [100]int
	room[n] = n
	return larger(n) + room[n%7]
}

//go:noinline
func larger(n int) int {
	var room [200]int
	room[n] = n
	if n == 1 {
		return spin(1) + room[n]
	}
	return large(n-1) + room[n%9]
}

// A function that is started with arguments is called by one that the compiler makes.
//
// chain: main.starting

// chain: main.starting.func main.started main.spin
func starting() {
	done := make(chan int)
	for i := 0; ; i++ {
		go started(done, i&1)
		<-done
		runtime.Gosched()
	}
}

//go:noinline
func started(done chan<- int, n int) { done <- spin(1) + n }

// Nothing that the compiler could stop it at: after 10 ms a signal does.
//
// chain: main.preempted main.endless main.spin
func preempted() {
	for {
		endless()
		time.Sleep(200 * time.Millisecond)
	}
}

//go:noinline
func endless() int { return spin(1000) + 1 }

// chain: main.locked (main.pinned main.yielding)*2 main.spin
func locked() {
	runtime.LockOSThread()
	for {
		pinned(2)
	}
}

//go:noinline
func pinned(n int) int { return yielding(n) + n }

//go:noinline
func yielding(n int) int {
	if n > 1 {
		return pinned(n-1) + 1
	}
	runtime.Gosched()
	return spin(2) + 1
}

// chain: main.system main.write
// chain: main.system main.spin
func system() {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	for {
		write(int(null.Fd()))
		spin(1)
		runtime.Gosched()
	}
}

//go:noinline
func write(fd int) int {
	n := 0
	for i := 0; i < 5; i++ {
		m, _ := syscall.Write(fd, []byte("x"))
		n += m
	}
	return n
}

// chain: main.storm main.strike main.sleep
func storm() {
	for {
		strike()
	}
}

//go:noinline
func strike() {
	for i := 0; i < 10; i++ {
		syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	}
	sleep()
}

// chain: main.handler main.handle main.spin
func handler() {
	for range signals {
		handle()
	}
}

//go:noinline
func handle() int { return spin(1) + 1 }

// chain: main.main
func main() {
	signal.Notify(signals, syscall.SIGUSR1)
	work := []func(){
		recursion, growing, starting, preempted, locked, system, storm, handler,
		generics, closures, methods, interfaces, reflected,
		defers, looped, panics, faults,
		channels, choosing, maps, sorts, copies, garbage, finalizers, clock, timers,
	}
	for _, f := range work {
		go f()
	}
	select {}
}
