// SPDX-License-Identifier: Apache-2.0

// With C code, another linker links the program. Left out without cgo.
package main

/*
static int __attribute__((noinline)) c_code(int n)
{
	volatile int copy = n;

	return copy + 1;
}
*/
import "C"

//export Called
func Called(n C.int) C.int { return C.c_code(n) + C.int(fourfold(int(n))) }

func init() { Called(1) }
