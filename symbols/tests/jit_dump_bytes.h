/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_TESTS_JIT_DUMP_BYTES_H
#define DP_SYMBOLS_TESTS_JIT_DUMP_BYTES_H

/* Writes jitdumps record by record, as in perf's jitdump-specification.txt. */

#include <criterion/criterion.h>
#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static inline void put(int fd, const void *bytes, size_t size)
{
	cr_assert_eq(write(fd, bytes, size), (ssize_t)size);
}

struct dump_header {
	uint32_t magic, version, size, machine, padding, pid;
	uint64_t time, flags;
};

static const struct dump_header good_header = { 0x4a695444, 1, 40, EM_X86_64, 0, 1, 0, 0 };

static inline void put_load(int fd, uint64_t time, uint64_t at, uint64_t size, const char *name)
{
	const uint32_t prefix[2] = { 0, (uint32_t)(16 + 40 + strlen(name) + 1) };
	const uint64_t body[] = { time, 0, at, at, size, 0 };

	put(fd, prefix, sizeof(prefix));
	put(fd, body, sizeof(body));
	put(fd, name, strlen(name) + 1);
}

/*
 * Writes lines 7 and 8 of a file, and the addresses where they begin, for the code at an address.
 */
static inline void put_lines(int fd, uint64_t code, uint64_t seven, uint64_t eight)
{
	static const char file[] = "a.js", same[] = "\xff";
	const uint32_t prefix[2] = { 2, 16 + 16 + 2 * 16 + sizeof(file) + sizeof(same) };
	const uint64_t body[] = { 0, code, 2 };
	const uint64_t lines[][2] = { { seven, 7 }, { eight, 8 } };

	put(fd, prefix, sizeof(prefix));
	put(fd, body, sizeof(body));
	put(fd, lines[0], sizeof(lines[0]));
	put(fd, file, sizeof(file));
	put(fd, lines[1], sizeof(lines[1]));
	put(fd, same, sizeof(same));
}

#endif
