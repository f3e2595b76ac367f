// SPDX-License-Identifier: Apache-2.0
/*
 * usage: breakpoint SECONDS
 *
 * Calls for so long a function whose first instruction is a push of one byte, compiled with a frame
 * pointer, and one whose first instruction the kernel does not emulate for a uprobe: it executes a
 * copy.
 */
#include <stdlib.h>
#include <time.h>

int probed_copy(int n);

__asm__(".pushsection .text\n"
	".type probed_copy, @function\n"
	"probed_copy:\n"
	"\t.cfi_startproc\n"
	"\tlea 1(%rdi), %eax\n"
	"\tret\n"
	"\t.cfi_endproc\n"
	".size probed_copy, . - probed_copy\n"
	".popsection\n");

__attribute__((noinline, noclone)) static int probed_push(int n)
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
			n = probed_copy(probed_push(n));
	return n == 0;
}
