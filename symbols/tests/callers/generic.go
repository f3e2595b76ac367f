// SPDX-License-Identifier: Apache-2.0

//go:build go1.18
// +build go1.18

package main

type number interface{ ~int | ~float64 }

type list[T number] struct{ items []T }

func (l *list[T]) add(item T) { l.items = append(l.items, item) }

//go:noinline
func (l *list[T]) sum() (sum T) {
	for _, item := range l.items {
		sum += half(item)
	}
	return sum
}

func half[T number](n T) T { return n / 2 }

func generic(n int) int {
	var whole list[int]
	var real list[float64]

	for i := 0; i < n; i++ {
		whole.add(i)
		real.add(float64(i))
	}
	return whole.sum() + int(real.sum())
}
