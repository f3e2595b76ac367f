// SPDX-License-Identifier: Apache-2.0

// Goroutines with labels (runtime/pprof). The name of a function that is called with labels says
// which these are; cli/tests/check_go_labels.py has the list.
package main

import (
	"context"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
)

// Go's collections, by the one goroutine that asks for them.
var collections int

//go:noinline
func spin() int {
	sum := 0
	for i := 0; i < 200000; i++ {
		sum += i * sum
	}
	return sum
}

//go:noinline
func without() {
	spin()
}

//go:noinline
func withOne() {
	spin()
}

//go:noinline
func withTwo() {
	spin()
}

//go:noinline
func withInner() {
	spin()
}

//go:noinline
func withOuter() {
	spin()
}

//go:noinline
func withMany() {
	spin()
}

//go:noinline
func withGrown() {
	spin()
}

//go:noinline
func withTooMany() {
	spin()
}

//go:noinline
func withLong() {
	spin()
}

//go:noinline
func withOdd() {
	spin()
}

//go:noinline
func withInherited() {
	spin()
}

// On a stack that has to grow, and on the thread's own.
//
//go:noinline
func withDeep(depth int) int {
	var room [64]int
	room[depth%64] = depth
	if depth > 0 {
		return withDeep(depth-1) + room[depth%64]
	}
	spin()
	if collections++; collections%50 == 0 {
		runtime.GC()
	}
	return room[0]
}

func numbered(n int) pprof.LabelSet {
	var args []string
	for i := 0; i < n; i++ {
		args = append(args, "key"+strconv.Itoa(i), "value"+strconv.Itoa(i))
	}
	return pprof.Labels(args...)
}

func do(labels pprof.LabelSet, f func(context.Context)) {
	pprof.Do(context.Background(), labels, f)
}

func forever(f func()) {
	for {
		f()
	}
}

func main() {
	turns := []func(){
		without,
		func() {
			do(pprof.Labels("one", "1"), func(context.Context) { withOne() })
		},
		func() {
			do(pprof.Labels("method", "GET", "path", "/a;b c"), func(context.Context) { withTwo() })
		},
		func() {
			do(pprof.Labels("level", "outer", "kept", "yes"), func(ctx context.Context) {
				pprof.Do(ctx, pprof.Labels("level", "inner"), func(context.Context) { withInner() })
				withOuter()
			})
		},
		func() {
			do(numbered(20), func(context.Context) { withMany() })
		},
		func() {
			do(numbered(27), func(context.Context) { withGrown() })
		},
		func() {
			do(numbered(40), func(context.Context) { withTooMany() })
		},
		func() {
			do(pprof.Labels("long", strings.Repeat("é", 200)), func(context.Context) { withLong() })
		},
		func() {
			do(pprof.Labels("", "empty key", "bad\xff", "zero\x00", "none", ""), func(context.Context) { withOdd() })
		},
		func() {
			do(pprof.Labels("from", "parent"), func(context.Context) {
				done := make(chan bool)
				go func() {
					withInherited()
					done <- true
				}()
				<-done
			})
		},
		func() {
			do(pprof.Labels("deep", "yes"), func(context.Context) { withDeep(500) })
		},
	}
	for i := range turns {
		go forever(turns[i])
	}
	select {}
}
