// SPDX-License-Identifier: Apache-2.0
/*
 * usage: breakpoint SECONDS
 *
 * Calls for so long a function whose first instruction is a push of one byte, compiled with a frame
 * pointer; one whose first instruction the kernel does not emulate for a uprobe: it executes a copy;
 * and one whose first instruction reads a page that is not there. In front of the last two is what
 * Go and lld fill gaps with, which looks like breakpoints.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE 4096

int probed_copy(int n);
int read_page(const char *page);

/* In the gap are other rules than in the functions. */
#define FUNCTION(name, code)                                                                       \
	__asm__(".pushsection .text\n"                                                             \
		"\t.cfi_startproc\n"                                                               \
		"\t.cfi_def_cfa_offset 64\n"                                                       \
		"\t.fill 16, 1, 0xcc\n"                                                            \
		"\t.balign 16, 0xcc\n"                                                             \
		"\t.cfi_endproc\n"                                                                 \
		".type " name ", @function\n" name ":\n"                                           \
		"\t.cfi_startproc\n" code "\tret\n"                                                \
		"\t.cfi_endproc\n"                                                                 \
		".size " name ", . - " name "\n"                                                   \
		".popsection\n")

FUNCTION("probed_copy", "\tlea 1(%rdi), %eax\n");
FUNCTION("read_page", "\tmovzbl (%rdi), %eax\n");

__attribute__((noinline, noclone)) static int probed_push(int n)
{
	__asm__ volatile("" ::: "memory");
	return n + 1;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	char *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int n = 0;

	if (page == MAP_FAILED) {
		perror("breakpoint: mmap");
		return 1;
	}
	while (time(NULL) < end)
		for (int i = 0; i < 1000; i++) {
			madvise(page, PAGE, MADV_DONTNEED);
			n = probed_copy(probed_push(n)) + read_page(page);
		}
	return n == 0;
}
