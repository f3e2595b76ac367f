// SPDX-License-Identifier: Apache-2.0
/* Reading a process's memory page by page, and what cannot be read. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sandbox/process_memory.h"

/* Two pages, and none behind them. */
static uint8_t *pages;
static struct process_memory memory;

static void begin(void)
{
	pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert(pages != MAP_FAILED);
	munmap(pages + 2 * 4096, 4096);
	for (int i = 0; i < 2 * 4096; i++)
		pages[i] = (uint8_t)(i * 7);
	process_memory_init(&memory, NULL, getpid());
}

TestSuite(process_memory, .init = begin);

Test(process_memory, reads_across_pages)
{
	uint8_t bytes[100];

	cr_assert(process_memory_read(&memory, bytes, 100, (uint64_t)pages + 4096 - 50) == 0);
	cr_assert(memcmp(bytes, pages + 4096 - 50, 100) == 0);
}

Test(process_memory, says_what_is_not_there)
{
	uint64_t word;

	cr_assert(process_memory_read(&memory, &word, 8, 0) == -EFAULT);
	cr_assert(process_memory_read(&memory, &word, 8, (uint64_t)pages + 2 * 4096 - 8) == 0);
	cr_assert(process_memory_read(&memory, &word, 8, (uint64_t)pages + 2 * 4096 - 4) ==
		  -EFAULT);
	cr_assert(process_memory_read(&memory, &word, 8, 0x8000000000000000) == -EFAULT);
	cr_assert(memory.err == 0);
}

Test(process_memory, remembers_until_it_forgets)
{
	uint8_t byte;

	cr_assert(process_memory_read(&memory, &byte, 1, (uint64_t)pages) == 0 && byte == 0);
	pages[0] = 99;
	cr_assert(process_memory_read(&memory, &byte, 1, (uint64_t)pages) == 0 && byte == 0);
	process_memory_forget(&memory);
	cr_assert(process_memory_read(&memory, &byte, 1, (uint64_t)pages) == 0 && byte == 99);
}

Test(process_memory, of_a_process_that_is_gone)
{
	uint8_t byte;

	process_memory_init(&memory, NULL, 999999999);
	cr_assert(process_memory_read(&memory, &byte, 1, (uint64_t)pages) == -ESRCH);
	cr_assert(memory.err == 0);
}
