// SPDX-License-Identifier: Apache-2.0
/*
 * usage: swap HOW LIBRARY_A LIBRARY_B SECONDS
 *
 * Two threads, each with an address at which two libraries are mapped alternately: over the other
 * one (overmap), after unmapping it (munmap), by moving the second one there (mremap), by the
 * dynamic linker (dlopen), or by a forked child that continues like its parent (fork). The function
 * called through the library tells by its name which one it is. Where a walker with the wrong table
 * would look for a return address, there is one: decoy().
 */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PLACE_SIZE 0x10000
#define N_DECOYS 512

/* A false root. */
void decoy(void);
__asm__(".text\n"
	".globl decoy\n"
	".type decoy, @function\n"
	"decoy:\n"
	".cfi_startproc\n"
	".cfi_undefined rip\n"
	"ud2\n"
	"ud2\n"
	".cfi_endproc\n"
	".size decoy, . - decoy\n");

struct library {
	const char *path;
	int fd;
	Elf64_Ehdr header;
	Elf64_Phdr segments[16];
	void (*under)(void);
};

static struct library libraries[2];
static const char *how;
static double end;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(const char *what)
{
	perror(what);
	_exit(1);
}

/* Up to 3 ms, so that some mappings are gone before anyone can have heard of them. */
static __attribute__((noinline)) int spin(void)
{
	static __thread unsigned int seed = 1;
	double until = now() + (double)(rand_r(&seed) % 3000) / 1e6;
	volatile int n = 0;

	while (now() < until)
		for (int i = 0; i < 1000; i++)
			n++;
	return n;
}

static __attribute__((noinline)) void under_a(void)
{
	spin();
	__asm__ volatile("");
}

static __attribute__((noinline)) void under_b(void)
{
	spin();
	__asm__ volatile("");
}

static void map_segments(const struct library *l, uint8_t *place)
{
	for (int i = 0; i < l->header.e_phnum; i++) {
		const Elf64_Phdr *p = &l->segments[i];
		uint64_t before = p->p_vaddr % 4096;
		int protection = PROT_READ | (p->p_flags & PF_X ? PROT_EXEC : 0);

		if (p->p_type == PT_LOAD && mmap(place + p->p_vaddr - before, p->p_memsz + before,
						 protection, MAP_PRIVATE | MAP_FIXED, l->fd,
						 (off_t)(p->p_offset - before)) == MAP_FAILED)
			fail("mmap");
	}
}

/* Segment by segment, as they are separate mappings. */
static void move_segments(const struct library *l, uint8_t *from, uint8_t *to)
{
	volatile const uint8_t *bytes = from; /* real programs have touched their code too */

	for (int i = 0; i < l->header.e_phnum; i++) {
		const Elf64_Phdr *p = &l->segments[i];
		uint64_t page = p->p_vaddr & ~4095ULL;
		size_t size = (p->p_memsz + p->p_vaddr % 4096 + 4095) & ~4095ULL;

		if (p->p_type != PT_LOAD)
			continue;
		(void)bytes[page];
		if (mremap(from + page, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to + page) ==
		    MAP_FAILED)
			fail("mremap");
	}
}

static void *reserve(void)
{
	void *place = mmap(NULL, PLACE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (place == MAP_FAILED)
		fail("mmap");
	return place;
}

/* Calls through the function at an address, from a frame full of decoys. */
static __attribute__((noinline)) void call(const struct library *l, uintptr_t address)
{
	void (*through)(void (*)(void), void (*)(void)) = (void *)address;
	void (*volatile decoys[N_DECOYS])(void);

	for (int i = 0; i < N_DECOYS; i++)
		decoys[i] = decoy;
	through(l->under, decoy);
	__asm__ volatile("" : : "r"(decoys) : "memory");
}

static __attribute__((noinline)) void turn(const struct library *l, uint8_t *place, uint8_t *aside)
{
	if (strcmp(how, "dlopen") == 0) {
		void *handle = dlopen(l->path, RTLD_NOW);
		uintptr_t *base = handle; /* struct link_map: its first member is l_addr */

		if (!handle)
			fail(l->path);
		call(l, *base + l->header.e_entry);
		dlclose(handle);
		return;
	}
	if (strcmp(how, "munmap") == 0) {
		munmap(place, PLACE_SIZE / 2);
		map_segments(l, place);
	} else if (strcmp(how, "mremap") == 0 && l == &libraries[1]) {
		map_segments(l, aside);
		move_segments(l, aside, place);
	} else {
		map_segments(l, place);
	}
	call(l, (uintptr_t)place + l->header.e_entry);
	__asm__ volatile("");
}

static void *swap(__attribute__((unused)) void *arg)
{
	uint8_t *place = reserve(), *aside = reserve();
	unsigned int i = 0;

	if (strcmp(how, "mremap") == 0) { /* a known mapping to be replaced */
		map_segments(&libraries[0], place);
		usleep(200000);
	}
	while (now() < end) {
		pid_t child = 0;

		if (strcmp(how, "fork") == 0 && i % 8 == 7)
			child = fork();
		if (child < 0)
			fail("fork");
		if (child > 0 && waitpid(child, NULL, 0) != child)
			fail("waitpid");
		if (child == 0)
			turn(&libraries[i % 2], place, aside);
		if (strcmp(how, "fork") == 0 && i % 8 == 7 && child == 0) {
			turn(&libraries[1 - i % 2], place, aside);
			_exit(0);
		}
		i++;
	}
	return NULL;
}

static void open_library(struct library *l, const char *path, void (*under)(void))
{
	l->path = path;
	l->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (l->fd < 0 ||
	    pread(l->fd, &l->header, sizeof(l->header), 0) != (ssize_t)sizeof(l->header) ||
	    l->header.e_phnum > 16 ||
	    pread(l->fd, l->segments, l->header.e_phnum * sizeof(*l->segments),
		  (off_t)l->header.e_phoff) < 0)
		fail(path);
	l->under = under;
}

int main(int argc, char **argv)
{
	pthread_t other;

	if (argc != 5) {
		fprintf(stderr, "usage: swap HOW LIBRARY_A LIBRARY_B SECONDS\n");
		return 2;
	}
	how = argv[1];
	open_library(&libraries[0], argv[2], under_a);
	open_library(&libraries[1], argv[3], under_b);
	if (libraries[0].header.e_entry != libraries[1].header.e_entry) {
		fprintf(stderr, "the libraries differ in more than their frames\n");
		return 1;
	}
	end = now() + strtod(argv[4], NULL);
	if (pthread_create(&other, NULL, swap, NULL) != 0)
		return 1;
	swap(NULL);
	pthread_join(other, NULL);
	return 0;
}
