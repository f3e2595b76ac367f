// SPDX-License-Identifier: Apache-2.0

// Prints what Go's own runtime knows about addresses in this program, given one per line in hex, as
// in the file. The argument is the file's first address. The program has examples of what compilers
// generate.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"sort"
	"strings"
)

type shape interface {
	area() int
}

type square struct{ side int }

func (s square) area() int { return s.side * s.side }

// The compiler generates its method area(), as for a pointer to a square.
type framed struct {
	square
	frame int
}

func twice(n int) int    { return n + n }
func fourfold(n int) int { return twice(n) + twice(n+1) }

//go:noinline
func work(names []string, shapes []shape) (sum int) {
	sort.Slice(names, func(i, j int) bool { return strings.ToUpper(names[i]) < strings.ToUpper(names[j]) })
	defer func() { sum += fourfold(len(names)) }()
	for _, s := range shapes {
		sum += func() int { return fourfold(s.area()) }()
	}
	return sum + generic(sum)
}

// The bias: address in the process minus address in the file.
func slide(first uintptr) uintptr {
	var start uintptr

	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		panic(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		panic(err)
	}
	for _, line := range strings.Split(string(maps), "\n") {
		if strings.HasSuffix(line, exe) {
			fmt.Sscanf(line, "%x", &start)
			break
		}
	}
	return start - first
}

func main() {
	var first uintptr

	if work([]string{"b", "a"}, []shape{square{2}, &framed{square{3}, 1}}) == 0 {
		return
	}
	fmt.Sscanf(os.Args[1], "0x%x", &first)
	moved := slide(first)
	in, out := bufio.NewScanner(os.Stdin), bufio.NewWriter(os.Stdout)
	for in.Scan() {
		var address uintptr

		fmt.Sscanf(in.Text(), "%x", &address)
		fmt.Fprintf(out, "0x%016x\n", address)
		// CallersFrames() expects return addresses. It returns inlined functions only if another
		// caller follows.
		frames := runtime.CallersFrames([]uintptr{address + moved + 1, 1})
		for {
			frame, more := frames.Next()
			if frame.PC != 0 {
				fmt.Fprintf(out, "%s\n%s:%d:0\n", frame.Function, frame.File, frame.Line)
			}
			if !more {
				break
			}
		}
	}
	out.Flush()
}
