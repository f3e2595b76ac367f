// SPDX-License-Identifier: Apache-2.0
/*
 * usage: remapped
 *
 * Runs code in mappings that are new all the time, with a megabyte of the stack in use: nobody knows their
 * unwind information yet, so samples take along a copy of the stack.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))
#define FRAMES 900
#define FRAME_SIZE 1024
#define SPACE (64UL << 30)
#define STEP (1UL << 20)

/* Where the program's code is mapped, and from where in its file. */
struct code {
	uintptr_t start;
	size_t size;
	off_t offset;
};

static volatile int stop;

/* Refers to nothing, so that it runs anywhere. */
APART void spin(unsigned long rounds)
{
	while (rounds-- > 0)
		__asm__ volatile("");
}

static int find_code(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct code *code = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X)
			*code = (struct code){ info->dlpi_addr + p->p_vaddr, p->p_filesz,
					       (off_t)p->p_offset };
	}
	return 1; /* the program is the first */
}

static void run_elsewhere(const struct code *code, int fd, uint8_t *at)
{
	void *copy = mmap(at, code->size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
			  code->offset);
	void (*run)(unsigned long) =
		(void (*)(unsigned long))((uintptr_t)copy + ((uintptr_t)spin - code->start));

	if (copy == MAP_FAILED)
		abort();
	run(2000000);
	if (mmap(at, code->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
		 -1, 0) != at)
		abort();
}

static APART void run(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint8_t *space =
		mmap(NULL, SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct code code;

	if (fd < 0 || space == MAP_FAILED || dl_iterate_phdr(find_code, &code) != 1)
		abort();
	for (size_t at = 0; !stop; at = (at + STEP) % SPACE)
		run_elsewhere(&code, fd, space + at);
}

APART int descend(int n)
{
	volatile char frame[FRAME_SIZE];

	frame[0] = frame[FRAME_SIZE - 1] = (char)n;
	if (n == 0)
		run();
	else
		frame[1] = (char)descend(n - 1);
	return frame[1];
}

int main(void)
{
	return descend(FRAMES);
}
