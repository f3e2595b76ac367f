// SPDX-License-Identifier: Apache-2.0
/*
 * usage: breakpoint SECONDS
 *
 * Calls for so long a function whose first instruction is a push of one byte, compiled with a frame pointer, and
 * one whose first instruction the kernel does not emulate for a uprobe: it executes a copy.
 */
#include <stdlib.h>
#include <time.h>

int steps(int n);

__asm__(".pushsection .text\n"
	".type steps, @function\n"
	"steps:\n"
	"\t.cfi_startproc\n"
	"\tlea 1(%rdi), %eax\n"
	"\tret\n"
	"\t.cfi_endproc\n"
	".size steps, . - steps\n"
	".popsection\n");

__attribute__((noinline, noclone)) static int pushes(int n)
{
	__asm__ volatile("" ::: "memory");
	return n + 1;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	int n = 0;

	while (time(NULL) < end)
		for (int i = 0; i < 1000; i++)
			n = steps(pushes(n));
	return n == 0;
}
