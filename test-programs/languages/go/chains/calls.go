// SPDX-License-Identifier: Apache-2.0

// Ways to call: generic functions, closures, methods, interfaces, reflection, defer and panic.
package main

import (
	"reflect"
	"runtime"
)

type number interface{ ~int | ~float64 }

type list[T number] struct{ values []T }

// chain: main.generics main.generic[...] main.(*list[...]).walk main.visit[...] main.spin
func generics() {
	ints, floats := &list[int]{[]int{1, 2}}, &list[float64]{[]float64{3}}
	for {
		generic(ints)
		generic(floats)
		runtime.Gosched()
	}
}

//go:noinline
func generic[T number](l *list[T]) int { return l.walk() + 1 }

//go:noinline
func (l *list[T]) walk() int {
	n := 0
	for _, value := range l.values {
		n += visit(value)
	}
	return n
}

//go:noinline
func visit[T number](value T) int { return spin(1) + int(value) }

// chain: main.closures (main.apply main.closures.func)*3 main.apply main.spin
func closures() {
	var f func(n int) int
	f = func(n int) int { return apply(n-1, f) + 1 }
	for {
		apply(3, f)
		runtime.Gosched()
	}
}

//go:noinline
func apply(n int, f func(n int) int) int {
	if n == 0 {
		return spin(1) + 1
	}
	return f(n) + 1
}

type counter struct{ n [5]int }

// chain: main.methods main.call main.counter.step-fm main.counter.step main.spin
func methods() {
	c := counter{[5]int{1, 2, 3}}
	for {
		call(c.step)
		runtime.Gosched()
	}
}

//go:noinline
func call(f func(n int) int) int { return f(2) + 1 }

//go:noinline
func (c counter) step(n int) int { return spin(1) + c.n[n] }

type shape interface{ turn(next []shape) int }
type circle struct{ radius int }
type square struct{ side, angle int }

// chain: main.interfaces main.turning main.(*circle).turn main.turning main.(*square).turn? main.square.turn main.turning main.spin
func interfaces() {
	shapes := []shape{&circle{3}, square{4, 5}}
	for {
		turning(shapes)
		runtime.Gosched()
	}
}

//go:noinline
func turning(shapes []shape) int {
	if len(shapes) == 0 {
		return spin(1) + 1
	}
	return shapes[0].turn(shapes[1:]) + 1
}

//go:noinline
func (c *circle) turn(next []shape) int { return turning(next) + c.radius }

//go:noinline
func (s square) turn(next []shape) int { return turning(next) + s.side*s.angle }

// chain: main.reflected main.reflecting main.spin
func reflected() {
	f, arguments := reflect.ValueOf(reflecting), []reflect.Value{reflect.ValueOf(1), reflect.ValueOf("two")}
	for {
		f.Call(arguments)
		runtime.Gosched()
	}
}

//go:noinline
func reflecting(n int, s string) int { return spin(n) + len(s) }

// chain: main.defers main.deferring main.deferring.func main.last main.spin
// chain: main.defers main.deferring main.spin
func defers() {
	for {
		deferring(3)
		runtime.Gosched()
	}
}

//go:noinline
func deferring(n int) (ret int) {
	defer func() { ret += last(n) }()
	return spin(1)
}

//go:noinline
func last(n int) int { return spin(1) + n }

// As many as are called in a loop are kept in a list.
//
// chain: main.looped main.loop main.loop.func main.last main.spin
func looped() {
	for {
		loop(3)
		runtime.Gosched()
	}
}

//go:noinline
func loop(n int) (ret int) {
	for i := 0; i < n; i++ {
		i := i
		defer func() { ret += last(i) }()
	}
	return n
}

// The deferred function is called while the stack is still there, and it goes on behind.
//
// chain: main.panics main.panicking main.throw*3 main.panicking.func main.last main.spin
// chain: main.panics main.panicking main.throw*3 main.throw.func main.spin
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
			ret = last(1)
		}
	}()
	return throw(3)
}

//go:noinline
func throw(n int) int {
	if n == 1 {
		defer func() { spin(1) }()
		panic("thrown")
	}
	return throw(n-1) + 1
}

// The signal's handler makes it look as if the faulting instruction had called.
//
// chain: main.faults main.faulting main.fault main.faulting.func main.last main.spin
// chain: main.faults main.spin
func faults() {
	for {
		faulting(nil)
		spin(1)
		runtime.Gosched()
	}
}

//go:noinline
func faulting(at *counter) (ret int) {
	defer func() {
		if recover() != nil {
			ret = last(2)
		}
	}()
	return fault(at) + 1
}

//go:noinline
func fault(at *counter) int { return at.n[2] + 1 }
