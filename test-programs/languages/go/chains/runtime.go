// SPDX-License-Identifier: Apache-2.0

// Work for the runtime: channels, maps, sorting, copies, garbage, finalizers, time.
package main

import (
	"runtime"
	"sort"
	"time"
)

// chain: main.channels main.receive
// chain: main.channels.func main.send
func channels() {
	c, full := make(chan int), make(chan int, 16)
	go func() {
		for {
			send(c, full)
			runtime.Gosched()
		}
	}()
	for {
		receive(c, full)
		runtime.Gosched()
	}
}

//go:noinline
func send(c, full chan<- int) {
	for i := 0; i < 100; i++ {
		c <- i
		full <- i
	}
}

//go:noinline
func receive(c, full <-chan int) {
	for i := 0; i < 100; i++ {
		<-c
		<-full
	}
}

// chain: main.choosing main.choose main.spin
// chain: main.choosing.func main.choose main.spin
func choosing() {
	a, b := make(chan int), make(chan int)
	go func() {
		for {
			choose(b, a)
			runtime.Gosched()
		}
	}()
	for {
		choose(a, b)
		runtime.Gosched()
	}
}

//go:noinline
func choose(in <-chan int, out chan<- int) {
	select {
	case <-in:
		spin(1)
	case out <- 1:
	case <-time.After(time.Second):
	}
}

type key struct {
	n    int
	name string
}

// chain: main.maps main.fill
// chain: main.maps main.drain
func maps() {
	for {
		m := map[key]int{}
		fill(m)
		drain(m)
		runtime.Gosched()
	}
}

//go:noinline
func fill(m map[key]int) {
	for i := 0; i < 300; i++ {
		m[key{i * 7919 % 1009, "name"}] += i
	}
}

//go:noinline
func drain(m map[key]int) {
	for k, n := range m {
		// Unconditionally, it would be clear().
		if n >= 0 {
			delete(m, k)
		}
	}
}

type byKey []int

//go:noinline
func (s byKey) Len() int { return len(s) }

//go:noinline
func (s byKey) Less(i, j int) bool { return s[i] < s[j] && spin(1) >= 0 }

//go:noinline
func (s byKey) Swap(i, j int) { s[i], s[j] = s[j], s[i] }

// chain: main.sorts main.sorted main.(*byKey).Less? main.byKey.Less main.spin
// chain: main.sorts main.sorted main.(*byKey).Swap? main.byKey.Swap
// chain: main.sorts main.sorted main.(*byKey).Len? main.byKey.Len
// chain: main.sorts main.sliced main.sliced.func main.spin
func sorts() {
	for {
		s := make([]int, 8)
		for i := range s {
			s[i] = i * 7919 % 9
		}
		sorted(append(byKey(nil), s...))
		sliced(s)
		runtime.Gosched()
	}
}

//go:noinline
func sorted(s byKey) { sort.Sort(s) }

//go:noinline
func sliced(s []int) {
	sort.Slice(s, func(i, j int) bool { return s[i] > s[j] && spin(1) >= 0 })
}

// chain: main.copies main.copying
func copies() {
	from, to := make([]byte, 50000), make([]byte, 50000)
	for i := 0; ; i++ {
		copying(to, from, i%1000)
		runtime.Gosched()
	}
}

//go:noinline
func copying(to, from []byte, n int) int {
	equal := 0
	for i := 0; i < 3; i++ {
		copy(to[n:], from)
		copy(to[n:], to)
		for j := range from {
			from[j] = 0
		}
		if string(to) == string(from) {
			equal++
		}
	}
	return equal
}

type tree struct {
	left, right *tree
	room        [4]int
}

// chain: main.garbage main.grow*9
// chain: main.garbage main.bulky
// chain: main.garbage main.collect
// chain: main.garbage main.trace
func garbage() {
	for i := 0; ; i++ {
		bulky(100000 + grow(9).room[1])
		if i%50 == 0 {
			collect()
		}
		trace(i%5 == 0)
		runtime.Gosched()
	}
}

//go:noinline
func grow(n int) *tree {
	if n == 1 {
		return &tree{}
	}
	return &tree{grow(n - 1), grow(n - 1), [4]int{n}}
}

//go:noinline
func bulky(n int) int { return len(make([]byte, n)) }

//go:noinline
func collect() { runtime.GC() }

//go:noinline
func trace(all bool) {
	var memory runtime.MemStats
	buffer := make([]byte, 4096)
	runtime.Stack(buffer, all)
	if all {
		runtime.ReadMemStats(&memory)
	}
}

// chain: main.finalizers main.doom
// chain: main.finalized main.spin
func finalizers() {
	for {
		doom()
		time.Sleep(time.Millisecond)
	}
}

//go:noinline
func doom() {
	for i := 0; i < 5; i++ {
		t := &tree{}
		t.left = &tree{}
		runtime.SetFinalizer(t, finalized)
	}
}

//go:noinline
func finalized(t *tree) { spin(1) }

// chain: main.clock main.now
// chain: main.clock main.spin
func clock() {
	for {
		now()
		spin(1)
		runtime.Gosched()
	}
}

//go:noinline
func now() int {
	n := 0
	for i := 0; i < 500; i++ {
		n += time.Now().Nanosecond()
	}
	return n
}

// chain: main.timers main.sleep
// chain: main.ticked main.spin
func timers() {
	for {
		for i := 0; i < 10; i++ {
			time.AfterFunc(time.Millisecond, ticked)
		}
		sleep()
	}
}

//go:noinline
func sleep() { time.Sleep(500 * time.Microsecond) }

//go:noinline
func ticked() { spin(1) }
