// SPDX-License-Identifier: Apache-2.0

// From Go to C and back.
package main

/*
#include <stdlib.h>

extern int goCompare(void *a, void *b);
static int compare(const void *a, const void *b) { return goCompare((void *)a, (void *)b); }

static int sorted(int n)
{
	int *numbers = malloc((size_t)n * sizeof(*numbers)), result;

	for (int i = 0; i < n; i++)
		numbers[i] = i * 7919 % n;
	qsort(numbers, (size_t)n, sizeof(*numbers), compare);
	result = numbers[n / 2];
	free(numbers);
	return result;
}

static int crunch(int n)
{
	unsigned int x = 1;

	for (int i = 0; i < n; i++)
		x = x * 1664525 + 1013904223;
	return (int)x;
}
*/
import "C"

import "unsafe"

//export goCompare
func goCompare(a, b unsafe.Pointer) C.int {
	return *(*C.int)(a) - *(*C.int)(b)
}

//go:noinline
func descend(n int) int {
	if n == 0 {
		return int(C.sorted(500)) + int(C.crunch(300000))
	}
	return descend(n-1) + 1
}

func main() {
	done := make(chan int)
	for {
		go func() { done <- descend(30) }()
		descend(10)
		<-done
	}
}
