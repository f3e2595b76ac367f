// SPDX-License-Identifier: Apache-2.0
/*
 * usage: jitted plain SECONDS | jitted dump SECONDS DIRECTORY
 *
 * Code that is in no file, like that of JIT compilers.
 *
 * plain: prints its place as `ADDRESS SIZE`, and runs it. dump: describes it in
 * DIRECTORY/jit-PID.dump: the function `first`, then `second` in its place, which then moves to
 * another place. Each runs for the given CPU time, and is printed as `NAME ADDRESS FROM TO`, with
 * times by CLOCK_MONOTONIC in ns.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 1000000

/* push %rbp; mov %rsp,%rbp; mov $ROUNDS,%ecx; again: dec %ecx; jnz again; pop %rbp; ret */
static const uint8_t code[] = {
	0x55, 0x48, 0x89, 0xe5, 0xb9, ROUNDS & 0xff, ROUNDS >> 8 & 0xff, ROUNDS >> 16, 0,
	0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3
};
#define LOOP_AT 9

static uint64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

static void *make_code(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	if (at == MAP_FAILED)
		exit(1);
	memcpy(at, code, sizeof(code));
	return at;
}

static void run(const char *name, const void *at, double seconds)
{
	uint64_t start = now(), cpu_start = read_clock(CLOCK_PROCESS_CPUTIME_ID);
	void (*function)(void);

	memcpy(&function, &at, sizeof(at));
	while ((double)(read_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu_start) < seconds * 1e9)
		function();
	if (name)
		printf("%s %lx %lu %lu\n", name, (unsigned long)(uintptr_t)at, start, now());
}

/* Records of the format, from tools/perf/Documentation/jitdump-specification.txt. */
struct header {
	uint32_t magic, version, size, machine, padding, pid;
	uint64_t time, flags;
};

struct prefix {
	uint32_t id, size;
	uint64_t time;
};

static void write_record(int fd, uint32_t id, const void *body, size_t size)
{
	struct prefix prefix = { id, (uint32_t)(sizeof(prefix) + size), now() };

	if (write(fd, &prefix, sizeof(prefix)) != sizeof(prefix) ||
	    write(fd, body, size) != (ssize_t)size)
		exit(1);
}

static void write_lines(int fd, uint64_t at)
{
	struct __attribute__((packed)) {
		uint64_t address, n;
		struct __attribute__((packed)) {
			uint64_t address;
			uint32_t line, discriminator;
			char file[12];
		} first;
		struct __attribute__((packed)) {
			uint64_t address;
			uint32_t line, discriminator;
			char file[2];
		} second;
	} body = { at, 2, { at, 10, 0, "made.script" }, { at + LOOP_AT, 20, 0, "\xff" } };

	write_record(fd, 2, &body, sizeof(body));
}

static void write_load(int fd, const char *name, uint64_t at)
{
	struct __attribute__((packed)) {
		uint32_t pid, tid;
		uint64_t vma, address, size, index;
		char name[8];
		uint8_t bytes[sizeof(code)];
	} body = { (uint32_t)getpid(), (uint32_t)getpid(), at, at, sizeof(code), 1 };

	snprintf(body.name, sizeof(body.name), "%s", name);
	memcpy(body.bytes, code, sizeof(code));
	write_record(fd, 0, &body, sizeof(body));
}

static void write_move(int fd, uint64_t old, uint64_t new)
{
	struct {
		uint32_t pid, tid;
		uint64_t vma, old, new, size, index;
	} body = { (uint32_t)getpid(), (uint32_t)getpid(), new, old, new, sizeof(code), 1 };

	write_record(fd, 1, &body, sizeof(body));
}

static void dump(const char *directory, double seconds)
{
	struct header header = { 0x4a695444, 1, sizeof(header), EM_X86_64, 0, (uint32_t)getpid(),
				 now(),      0 };
	void *a = make_code(), *b = make_code();
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/jit-%d.dump", directory, getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	/* Profilers find the file by this mapping. */
	if (fd < 0 || write(fd, &header, sizeof(header)) != sizeof(header) ||
	    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		exit(1);
	write_lines(fd, (uintptr_t)a);
	write_load(fd, "first", (uintptr_t)a);
	run("first", a, seconds);
	write_load(fd, "second", (uintptr_t)a);
	run("second", a, seconds);
	write_move(fd, (uintptr_t)a, (uintptr_t)b);
	run("second", b, seconds);
	write_record(fd, 3, NULL, 0);
	close(fd);
}

int main(int argc, char **argv)
{
	void *at;

	if (argc == 4 && strcmp(argv[1], "dump") == 0) {
		dump(argv[3], atof(argv[2]));
		return 0;
	}
	if (argc != 3)
		return 2;
	at = make_code();
	printf("%lx %zx\n", (unsigned long)(uintptr_t)at, sizeof(code));
	fflush(stdout);
	run(NULL, at, atof(argv[2]));
	return 0;
}
