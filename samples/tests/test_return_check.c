// SPDX-License-Identifier: Apache-2.0
/* Return addresses that do not follow a call end a stack, apart from those that are exempt. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/tests/world.h"
#include "samples/return_check.h"
#include "sandbox/fetchers.h"
#include "symbols/tests/some_names.h"

/* A binary of one section, mapped at the world's code, and a stack of callers. */
#define SECTION 0x1000
#define BIAS (WORLD_CODE - SECTION)

static uint8_t code[64] = { [10] = 0xe8, [20] = 0xff, [21] = 0xd0, [60] = 0x90 };
static struct elf_code section = { .address = SECTION, .size = sizeof(code) };
static struct table table;
static struct module no_file = { .fd = -1 };
static struct binary binary = {
	.number = 1,
	.table = &table,
	.module = &no_file,
	.elf = { .code = &section, .n_code = 1 },
	.bytes = code,
	.n_bytes = sizeof(code),
};
static struct mapping mapping = {
	.start = BIAS + SECTION,
	.end = BIAS + SECTION + sizeof(code),
	.bias = BIAS,
	.binary = &binary,
};
static struct snapshot snapshot = { .cell = WORLD_SPACE_CELL,
				    .mappings = &mapping,
				    .n_mappings = 1 };
static struct world *w;
static struct pool pool;
static struct unwinder *unwinder;
static struct return_check return_check;

static const uint64_t direct = BIAS + SECTION + 15, indirect = BIAS + SECTION + 22,
		      neither = BIAS + SECTION + 30;

static void begin(void)
{
	w = world_new();
	pool.segments = &w->segment;
	pool.n_segments = 1;
	cr_assert(unwinder_new(&pool, DP_UNWIND_AUTO, 100, &unwinder) == 0);
	return_check_init(&return_check, unwinder, NULL);
}

static void end(void)
{
	unwinder_free(unwinder);
	world_free(w);
}

TestSuite(check, .init = begin, .fini = end);

static __u64 found(uint64_t address, enum dp_method method)
{
	return DP_FRAME_ADDRESS(address) | (__u64)method << DP_METHOD_SHIFT;
}

static void expect(const __u64 *frames, size_t n, enum dp_outcome outcome, size_t n_left)
{
	struct unwinder_result walk = { .outcome = outcome, .frames = frames, .n_frames = n };
	__u64 copy[8];

	memcpy(copy, frames, n * sizeof(*frames));
	return_check_cut(&return_check, &snapshot, 0, &walk, copy);
	if (walk.n_landed > 0)
		cr_expect(DP_FRAME_METHOD(copy[walk.n_landed - 1]) == DP_METHOD_LANDING_PAD);
	cr_expect(walk.n_frames == n_left, "%zu frames of %zu, not %zu", walk.n_frames, n, n_left);
	cr_expect(walk.outcome == (n_left < n ? DP_NO_CALL : outcome));
}

Test(check, ends_a_walk_where_nobody_has_called)
{
	const __u64 good[] = { found(neither, DP_METHOD_LEAF), found(direct, DP_METHOD_TABLE),
			       found(indirect, DP_METHOD_TABLE), found(direct, DP_METHOD_TABLE) };
	const __u64 bad[] = { good[0], good[1], found(neither, DP_METHOD_TABLE), good[3] };

	for (int i = 0; i < 2; i++) { /* the second time from the cache */
		expect(good, 4, DP_READ_FAULT, 4);
		expect(bad, 4, DP_COMPLETE, 2);
	}
	expect(good, 0, DP_NO_PROCESS, 0);
	/* Results for one binary do not count for another one at the same address. */
	binary.number = 2;
	code[10] = 0x90;
	expect(good, 4, DP_COMPLETE, 1);
}

Test(check, asks_only_for_what_was_found_by_tables)
{
	const enum dp_method methods[] = { DP_METHOD_FRAME_POINTER, DP_METHOD_SIGNAL,
					   DP_METHOD_LANDING_PAD };

	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
		const __u64 frames[] = { found(neither, DP_METHOD_LEAF),
					 found(neither, methods[i]) };

		expect(frames, 2, DP_READ_FAULT, 2);
	}
}

/* A stack's root, and the code to which a signal handler returns, are not called. */
Test(check, knows_whom_nobody_calls)
{
	const __u64 root[] = { found(neither, DP_METHOD_LEAF), found(neither, DP_METHOD_TABLE) };
	const __u64 signal[] = { root[0], root[1], found(neither, DP_METHOD_SIGNAL) };

	expect(root, 2, DP_COMPLETE, 2);
	expect(root, 2, DP_READ_FAULT, 1);
	expect(signal, 3, DP_READ_FAULT, 3);
	/* The code to which a handler returns may be the last frame, known by its rule. */
	world_rule(w, 0, 16)->cfa = DP_CFA_SIGNAL;
	expect(root, 2, DP_DEPTH_LIMIT, 2);
	expect(root, 2, DP_READ_FAULT, 2);
	/* That of another frame does not count. */
	expect((const __u64[]){ root[0], root[1], root[1] }, 3, DP_READ_FAULT, 1);
}

Test(check, asks_only_in_files_that_have_tables)
{
	const __u64 frames[] = { found(neither, DP_METHOD_LEAF), found(neither, DP_METHOD_TABLE) };

	binary.table = NULL;
	expect(frames, 2, DP_READ_FAULT, 2);
	binary.table = &table;
	mapping.binary = NULL;
	expect(frames, 2, DP_READ_FAULT, 2);
	/* Nothing is known about a file that was closed. */
	mapping.binary = &binary;
	binary.elf.n_code = 0;
	expect(frames, 2, DP_READ_FAULT, 2);
}

/* The address of an exception handler replaces a return address some time before the jump. */
Test(check, knows_the_landing_of_an_exception)
{
	static const uint8_t end_of_landing[] = { 0x48, 0x89, 0xcc, 0xc3 };
	static uint8_t landing_code[2 * WORLD_FUNCTION_SIZE];
	const uint64_t landing = BIAS + SECTION + 40, handler = neither;
	const __u64 frames[] = { found(neither, DP_METHOD_LEAF),   found(direct, DP_METHOD_TABLE),
				 found(landing, DP_METHOD_SIGNAL), found(direct, DP_METHOD_TABLE),
				 found(handler, DP_METHOD_TABLE),  found(direct, DP_METHOD_TABLE) };
	const __u64 elsewhere[] = { frames[0], frames[1],
				    frames[2], found(BIAS + SECTION + 2, DP_METHOD_SIGNAL),
				    frames[4], frames[5] };
	const __u64 twice[] = { frames[0], frames[1], frames[2], frames[3], frames[4], frames[4] };
	const __u64 border[] = { frames[0],
				 frames[1],
				 frames[2],
				 frames[3],
				 found(BIAS + SECTION + 2 * WORLD_FUNCTION_SIZE, DP_METHOD_TABLE),
				 frames[5] };
	/* A signal may have interrupted code in no file, such as JIT code. */
	const __u64 in_no_file[] = { frames[0], frames[1],
				     frames[2], found(WORLD_LIBRARY, DP_METHOD_SIGNAL),
				     frames[4], frames[5] };
	struct unwinder_result walk = { .outcome = DP_COMPLETE, .frames = frames, .n_frames = 6 };

	memcpy(landing_code, code, sizeof(code));
	binary.bytes = landing_code;
	binary.n_bytes = section.size = sizeof(landing_code);
	mapping.end = mapping.start + sizeof(landing_code);
	world_rule(w, 0, 16)->lands = 1;
	expect(frames, 6, DP_COMPLETE, 4); /* it is not at its end */
	memcpy(landing_code + 40 + 30, end_of_landing, sizeof(end_of_landing));
	expect(frames, 6, DP_COMPLETE, 6);
	expect(elsewhere, 6, DP_COMPLETE, 4);
	expect(in_no_file, 6, DP_COMPLETE, 4);
	expect(twice, 6, DP_READ_FAULT, 5);
	cr_expect(return_check_frame(&return_check, &snapshot, &mapping, 0, &walk, 4) ==
		  RETURN_LANDS);
	cr_expect(walk.n_landed == 5);
	/* The walker used another function's rule, or none. */
	world_rule(w, 1, 16);
	world_rule(w, 2, 32);
	expect(border, 6, DP_COMPLETE, 4);
	world_rule(w, 1, 32);
	expect(border, 6, DP_COMPLETE, 6);
	*world_rule(w, 1, 0) = *world_rule(w, 2, 0) = (struct dp_rule){ .why = DP_NO_RULE };
	expect(border, 6, DP_COMPLETE, 4);
	world_rule(w, 0, 16)->lands = 0;
	expect(frames, 6, DP_COMPLETE, 4);
}

/* What fetchers have been asked for, and answer. */
static size_t n_read;
static int read_err;

int __real_fetchers_read(struct fetchers *f, pid_t pid, uint64_t address, void *ret, size_t size);
int __wrap_fetchers_read(struct fetchers *f, pid_t pid, uint64_t address, void *ret, size_t size);

int __wrap_fetchers_read(struct fetchers *f, pid_t pid, uint64_t address, void *ret, size_t size)
{
	if (!f)
		return __real_fetchers_read(f, pid, address, ret, size);
	n_read++;
	if (read_err == 0)
		memcpy(ret, code + (address - BIAS - SECTION), size);
	return read_err;
}

/* A foreign file that only helpers read: the process has the code, too. */
Test(check, asks_for_memory_in_place_of_a_file)
{
	const __u64 good[] = { found(neither, DP_METHOD_LEAF), found(direct, DP_METHOD_TABLE) };
	const __u64 bad[] = { good[0], found(neither, DP_METHOD_TABLE) };

	binary.is_foreign = true;
	binary.bytes = NULL;
	binary.n_bytes = 0;
	expect(bad, 2, DP_READ_FAULT, 2); /* nobody knows */
	return_check.fetchers = (void *)&n_read;
	expect(bad, 2, DP_READ_FAULT, 1);
	expect(good, 2, DP_READ_FAULT, 2);
	cr_expect_eq(n_read, 2);
	expect(good, 2, DP_READ_FAULT, 2); /* known from now on */
	cr_expect_eq(n_read, 2);
	read_err = -ETIMEDOUT;
	expect(bad, 2, DP_READ_FAULT, 2);
	/* Nothing is known about a file that was closed, but the memory still is. */
	read_err = 0;
	binary.closed_ns = 1;
	expect(bad, 2, DP_READ_FAULT, 1);
	binary.closed_ns = 0;
	/* One that is mapped here is read here, or not at all. */
	binary.bytes = code;
	binary.n_bytes = sizeof(code);
	n_read = 0;
	expect(good, 2, DP_READ_FAULT, 2);
	cr_expect_eq(n_read, 0);
}

/* A fetcher that has not started yet, or takes too long on a busy machine. */
Test(check, believes_the_file_if_memory_cannot_be_read_now)
{
	const __u64 good[] = { found(neither, DP_METHOD_LEAF), found(direct, DP_METHOD_TABLE) };
	const __u64 bad[] = { good[0], found(neither, DP_METHOD_TABLE) };
	const int errors[] = { -EAGAIN, -ETIMEDOUT };

	return_check.fetchers = (void *)&n_read;
	for (int i = 0; i < 2; i++) {
		read_err = errors[i];
		expect(bad, 2, DP_READ_FAULT, 1);
		expect(good, 2, DP_READ_FAULT, 2);
	}
	cr_expect_eq(n_read, 2);
}

/* The section counts up to its first and last byte. */
Test(check, asks_at_the_borders_of_sections)
{
	const __u64 first[] = { found(neither, DP_METHOD_LEAF),
				found(BIAS + SECTION + 2, DP_METHOD_TABLE) };
	const __u64 last[] = { first[0], found(BIAS + SECTION + sizeof(code), DP_METHOD_TABLE) };

	mapping.end++;
	expect(first, 2, DP_READ_FAULT, 1);
	expect(last, 2, DP_READ_FAULT, 1);
	memcpy(code, "\xff\xd0", 2);
	memcpy(code + sizeof(code) - 5, "\xe8", 1);
	expect(first, 2, DP_READ_FAULT, 2);
	expect(last, 2, DP_READ_FAULT, 2);
}

/* Code that was changed while it ran, and a file that was written to since it was opened. */
Test(check, trusts_no_old_file)
{
	const __u64 frames[] = { found(neither, DP_METHOD_LEAF), found(neither, DP_METHOD_TABLE) };
	struct unwinder_result walk = { .outcome = DP_READ_FAULT, .frames = frames, .n_frames = 2 };
	int fd = memfd_create("code", MFD_CLOEXEC);
	uint8_t *memory;

	memory = mmap((void *)WORLD_CODE, SECTION, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	cr_assert(memory == (void *)WORLD_CODE);
	cr_expect(return_check_frame(&return_check, &snapshot, &mapping, getpid(), &walk, 1) ==
		  RETURN_NOT_CALLED);
	memory[neither - WORLD_CODE - 5] = 0xe8;
	cr_expect(return_check_frame(&return_check, &snapshot, &mapping, getpid(), &walk, 1) ==
		  RETURN_CALLED);
	memory[neither - WORLD_CODE - 5] = 0;
	binary.module = module_new(some_names(), "code", "", fd);
	cr_assert(ftruncate(fd, 1) == 0);
	cr_expect(return_check_frame(&return_check, &snapshot, &mapping, getpid(), &walk, 1) ==
		  RETURN_NOT_CALLED);
	/* Only after the memory is gone, nothing is known. */
	munmap(memory, SECTION);
	cr_expect(return_check_frame(&return_check, &snapshot, &mapping, getpid(), &walk, 1) ==
		  RETURN_CALLED);
	module_free(binary.module);
	binary.module = &no_file;
	cr_expect(return_check_frame(&return_check, &snapshot, &mapping, getpid(), &walk, 1) ==
		  RETURN_NOT_CALLED);
}
