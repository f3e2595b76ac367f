// SPDX-License-Identifier: Apache-2.0

// Work for the Go runtime, too: goroutines, channels, maps, stacks that grow, and garbage.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"sort"
	"strings"
	"syscall"
	"time"
)

//go:noinline
func fibonacci(n int) int {
	if n < 2 {
		return n
	}
	return fibonacci(n-1) + fibonacci(n-2)
}

//go:noinline
func descend(n int) int {
	var room [64]int
	room[n%64] = n
	if n == 0 {
		return fibonacci(20)
	}
	return descend(n-1) + room[(n+1)%64]
}

//go:noinline
func words(n int) string {
	counts := map[string]int{}
	for i := 0; i < n; i++ {
		counts[fmt.Sprintf("word %d", i%997)]++
	}
	var lines []string
	for word, count := range counts {
		lines = append(lines, fmt.Sprint(word, count))
	}
	sort.Slice(lines, func(i, j int) bool { return lines[i] < lines[j] })
	return strings.Join(lines, "\n")
}

//go:noinline
func worker(in <-chan int, out chan<- int) {
	for n := range in {
		defer func() { recover() }()
		out <- len(words(n)) + descend(n%100)
	}
}

func main() {
	in, out := make(chan int), make(chan int)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	for i := 0; i < 3; i++ {
		go worker(in, out)
	}
	go func() {
		for {
			syscall.Kill(os.Getpid(), syscall.SIGUSR1)
			time.Sleep(time.Millisecond)
		}
	}()
	go func() {
		for i := 0; ; i++ {
			in <- 1000 + i%1000
		}
	}()
	for {
		select {
		case <-out:
			go descend(50)
		case <-signals:
		}
	}
}
