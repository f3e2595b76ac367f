// SPDX-License-Identifier: Apache-2.0
/*
 * Perf maps and jitdumps, intact, growing and damaged; the index compared with a search of all
 * pieces.
 */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "limits/limits.h"
#include "symbols/failures.h"
#include "symbols/jit.h"
#include "symbols/jit_dump.h"
#include "symbols/jit_index.h"
#include "symbols/jit_map.h"
#include "symbols/jit_reader.h"
#include "symbols/tests/jit_dump_bytes.h"
#include "symbols/tests/some_names.h"

#define ANY_TIME UINT64_MAX

struct file {
	int fd;
	struct jit_position at;
};

/* All that there is. 0 or a negative errno. */
static int read_on(enum jit_kind kind, struct file *file, struct jit_index *index)
{
	int more = 1;

	while (more > 0) {
		struct jit_pieces pieces = { .bytes = NULL };

		more = jit_file_read(kind, file->fd, &file->at, &pieces);
		cr_assert_lt(pieces.n, JIT_PIECES_MAX);
		cr_assert_eq(jit_pieces_place(&pieces, SIZE_MAX, index), 0);
		jit_pieces_done(&pieces);
	}
	return more;
}

static void add(struct jit_index *index, const char *name, uint64_t start, uint64_t size,
		uint64_t born)
{
	struct jit_code code = { .name = strdup(name), .size = size };
	uint32_t number;

	cr_assert_eq(jit_index_add_code(index, &code, &number), 0);
	cr_assert_eq(jit_index_place(index, number, start, born), 0);
}

/* The name at an address; "?" if there is none. */
static const char *name_at(struct jit_index *index, uint64_t address, uint64_t time)
{
	uint64_t offset;
	uint32_t code = jit_index_find(index, address, time, &offset);

	if (code == JIT_CODE_NONE)
		return "?";
	cr_assert_lt(offset, index->codes[code].size);
	return index->codes[code].name;
}

#define expect(index, address, time, name)                                                         \
	cr_assert_str_eq(name_at((index), (address), (time)), (name), "%s at %" PRIx64,            \
			 name_at((index), (address), (time)), (uint64_t)(address))

Test(jit_index, knows_what_was_where_and_when)
{
	struct jit_index index = { 0 };
	uint64_t offset;

	add(&index, "old", 0x1000, 0x100, 10);
	add(&index, "new", 0x1040, 0x40, 20);
	add(&index, "last", 0x1000, 0x50, 30);
	/* Before all pieces, at each time, and at the boundaries */
	expect(&index, 0x1040, 9, "?");
	expect(&index, 0x1040, 10, "old");
	expect(&index, 0x1040, 19, "old");
	expect(&index, 0x1040, 20, "new");
	expect(&index, 0x1040, 30, "last");
	expect(&index, 0x1050, 30, "new");
	expect(&index, 0x107f, 30, "new");
	expect(&index, 0x1080, 30, "old");
	expect(&index, 0x10ff, 30, "old");
	expect(&index, 0x1100, 30, "?");
	expect(&index, 0xfff, 30, "?");
	/* In the same code, behind the piece that replaced its middle */
	cr_assert_neq(jit_index_find(&index, 0x1080, 30, &offset), JIT_CODE_NONE);
	cr_assert_eq(offset, 0x80);
	/* If the time is unknown, only addresses that never had other code */
	expect(&index, 0x1040, ANY_TIME, "?");
	expect(&index, 0x1080, ANY_TIME, "old");
	jit_index_done(&index);
}

/* Compared with a simple search: the last added piece that was born by then. */
Test(jit_index, agrees_with_a_search_of_all)
{
	enum { N = 400, SPAN = 256 };
	static struct {
		uint64_t start, size;
		char name[16];
	} pieces[N];
	struct jit_index index = { 0 };
	unsigned int seed = 1;

	for (size_t i = 0; i < N; i++) {
		pieces[i].start = 0x1000 + (uint64_t)rand_r(&seed) % SPAN;
		pieces[i].size = 1 + (uint64_t)rand_r(&seed) % 30;
		snprintf(pieces[i].name, sizeof(pieces[i].name), "%zu", i);
		add(&index, pieces[i].name, pieces[i].start, pieces[i].size, i + 1);
		/* A look-up sorts what there is, and more follows. */
		expect(&index, pieces[i].start, i + 1, pieces[i].name);
		for (size_t j = 0; j < i; j += 7)
			expect(&index, pieces[j].start, j + 1, pieces[j].name);
	}
	for (uint64_t time = 0; time <= N; time += 3)
		for (uint64_t at = 0x0ff0; at < 0x1000 + SPAN + 40; at++) {
			const char *wanted = "?";

			for (size_t i = 0; i < N && i + 1 <= time; i++)
				if (pieces[i].start <= at && at - pieces[i].start < pieces[i].size)
					wanted = pieces[i].name;
			expect(&index, at, time, wanted);
		}
	jit_index_done(&index);
}

Test(jit_index, refuses_what_cannot_be)
{
	struct jit_index index = { 0 };
	struct jit_code code = { .name = strdup("a"), .size = 0 };
	uint32_t number;

	cr_assert_eq(jit_index_add_code(&index, &code, &number), 0);
	cr_assert_eq(jit_index_place(&index, number, 0x1000, 0), -EINVAL);
	index.codes[number].size = 16;
	cr_assert_eq(jit_index_place(&index, number, UINT64_MAX - 8, 0), -EINVAL);
	index.codes[number].size = JIT_CODE_MAX + 1;
	cr_assert_eq(jit_index_place(&index, number, 0x1000, 0), -EINVAL);
	cr_assert_eq(jit_index_find_start(&index, 0x1000), JIT_CODE_NONE);
	expect(&index, UINT64_MAX, ANY_TIME, "?");
	jit_index_done(&index);
}

Test(jit_map, reads_on_from_where_it_was)
{
	struct file map = { .fd = memfd_create("map", MFD_CLOEXEC) };
	struct jit_index index = { 0 };
	static char line[2 * JIT_MAP_LINE_MAX];

	dprintf(map.fd, "1000 10 one\n0x2000\t0x20 two words\n\nnonsense\n-5 5 x\n3000 8");
	cr_assert_eq(read_on(JIT_MAP, &map, &index), 0);
	expect(&index, 0x100f, ANY_TIME, "one");
	expect(&index, 0x2010, ANY_TIME, "two words");
	expect(&index, 0x3000, ANY_TIME, "?");
	dprintf(map.fd, " three\n1000 8 other\n");
	cr_assert_eq(read_on(JIT_MAP, &map, &index), 0);
	expect(&index, 0x3007, ANY_TIME, "three");
	expect(&index, 0x1007, ANY_TIME, "other");
	expect(&index, 0x1008, ANY_TIME, "one");
	/* Lines without an end, and what follows them */
	memset(line, 'x', sizeof(line) - 1);
	dprintf(map.fd, "4000 8 %s\n5000 8 five\n", line);
	cr_assert_eq(read_on(JIT_MAP, &map, &index), 0);
	expect(&index, 0x5000, ANY_TIME, "five");
	cr_assert_leq(strlen(name_at(&index, 0x4000, ANY_TIME)), JIT_MAP_LINE_MAX);
	/* The map is written again from the start. */
	cr_assert_eq(ftruncate(map.fd, 0), 0);
	lseek(map.fd, 0, SEEK_SET);
	dprintf(map.fd, "1000 10 again\n");
	cr_assert_eq(read_on(JIT_MAP, &map, &index), 0);
	expect(&index, 0x1000, ANY_TIME, "again");
	jit_index_done(&index);
	close(map.fd);
}

Test(jit_dump, waits_for_what_is_not_there_yet)
{
	struct file dump = { .fd = memfd_create("dump", MFD_CLOEXEC) };
	struct jit_index index = { 0 };
	const uint32_t half[2] = { 0, 64 };

	cr_assert_eq(read_on(JIT_DUMP, &dump, &index), 0);
	put(dump.fd, &good_header, sizeof(good_header));
	put_load(dump.fd, 5, 0x1000, 16, "one");
	cr_assert_eq(read_on(JIT_DUMP, &dump, &index), 0);
	expect(&index, 0x1000, 5, "one");
	expect(&index, 0x1000, 4, "?");
	put(dump.fd, half, sizeof(half));
	cr_assert_eq(read_on(JIT_DUMP, &dump, &index), 0);
	cr_assert_eq(index.n_codes, 1);
	lseek(dump.fd, -(off_t)sizeof(half), SEEK_CUR);
	put_load(dump.fd, 7, 0x1000, 16, "two");
	cr_assert_eq(read_on(JIT_DUMP, &dump, &index), 0);
	expect(&index, 0x1000, 6, "one");
	expect(&index, 0x1000, 7, "two");
	jit_index_done(&index);
	close(dump.fd);
}

/* A reader without memory finds them again. */
Test(jit_dump, lines_wait_for_their_code)
{
	struct file dump = { .fd = memfd_create("dump", MFD_CLOEXEC) };
	struct jit_index index = { 0 };

	put(dump.fd, &good_header, sizeof(good_header));
	put_lines(dump.fd, 0x1000, 0x1000, 0x1008);
	cr_assert_eq(read_on(JIT_DUMP, &dump, &index), 0);
	cr_assert_eq(read_on(JIT_DUMP, &dump, &index), 0);
	put_load(dump.fd, 5, 0x1000, 16, "one");
	cr_assert_eq(read_on(JIT_DUMP, &dump, &index), 0);
	cr_assert_eq(index.n_codes, 1);
	cr_assert_eq(index.codes[0].n_lines, 2);
	cr_assert_eq(index.codes[0].lines[1].line, 8);
	jit_index_done(&index);
	close(dump.fd);
}

/* Line 0: unknown. */
static void expect_line(struct jit *jit, uint64_t address, unsigned int line)
{
	const struct source_location *location = NULL;

	cr_assert(jit_find(jit, jit_locate(jit, address, ANY_TIME), true, &location));
	cr_expect_eq(location->line, line, "%" PRIx64 ": %u", address, location->line);
	cr_expect(line ? location->file && strcmp(location->file, "a.js") == 0 : !location->file);
}

/* Lines precede their code. V8's addresses are offset by the size of an ELF header. */
Test(jit, has_the_lines_of_each_piece)
{
	int writer = memfd_create("dump", MFD_CLOEXEC);
	struct jit *jit;

	cr_assert(jit_new(some_names(), &jit) == 0);
	put(writer, &good_header, sizeof(good_header));
	put_lines(writer, 0x1000, 0x1000, 0x1008);
	put_load(writer, 0, 0x1000, 16, "one");
	put_lines(writer, 0x2000, 0x2040, 0x2048);
	put_load(writer, 0, 0x2000, 16, "v8");
	put_lines(writer, 0x9000, 0x9000, 0x9008);
	put_load(writer, 0, 0x3000, 16, "without");
	jit_set_dump(jit, writer, getuid());
	for (uint64_t code = 0x1000; code <= 0x2000; code += 0x1000) {
		expect_line(jit, code, 7);
		expect_line(jit, code + 7, 7);
		expect_line(jit, code + 8, 8);
		expect_line(jit, code + 15, 8);
	}
	expect_line(jit, 0x3000, 0);
	expect_line(jit, 0x300f, 0);
	jit_free(jit);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void expect_name(struct jit *jit, uint64_t located, const char *name)
{
	const struct source_location *location = NULL;
	bool found = jit_find(jit, located, false, &location);

	cr_assert(found == (name != NULL));
	cr_assert(!name || strcmp(location->function, name) == 0, "%s", location->function);
}

/* Where the kernel does not let us open a mapping: only the mapped file itself has the names. */
Test(jit, looks_its_dump_up_in_the_process_s_root)
{
	char path[] = "/tmp/jit-XXXXXX";
	int writer = mkostemp(path, O_CLOEXEC);
	struct stat st;

	cr_assert(writer >= 0 && fstat(writer, &st) == 0);
	put(writer, &good_header, sizeof(good_header));
	put_lines(writer, 0x1000, 0x1000, 0x1008);
	put_load(writer, 0, 0x1000, 16, "one");
	for (int other = 0; other < 2; other++) {
		int root = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
		struct jit *jit;

		cr_assert(jit_new(some_names(), &jit) == 0);
		jit_set_dump_path(jit, root, path + strlen("/tmp"), st.st_ino + (ino_t)other,
				  getuid());
		expect_name(jit, jit_locate(jit, 0x1000, ANY_TIME), other ? NULL : "one");
		jit_free(jit);
	}
	unlink(path);
	close(writer);
}

/* Even if its files have just been read: what a sample hits was written before the sample. */
Test(jit, knows_what_took_the_place_of_other_code)
{
	int writer = memfd_create("dump", MFD_CLOEXEC);
	struct jit *jit;

	cr_assert(jit_new(some_names(), &jit) == 0);
	put(writer, &good_header, sizeof(good_header));
	jit_set_dump(jit, dup(writer), getuid());
	for (int i = 0; i < 1000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%d", i);
		put_load(writer, now_ns(), 0x1000, 16, name);
		expect_name(jit, jit_locate(jit, 0x1008, now_ns()), name);
	}
	close(writer);
	jit_free(jit);
}

/* Even if it was looked up just before. */
Test(jit, finds_what_programs_write_when_they_exit)
{
	char directory[] = "/tmp/jit.XXXXXX";
	_cleanup_free_ char *tmp = NULL, *path = NULL;
	uint64_t located;
	struct jit *jit;
	FILE *map;

	cr_assert(mkdtemp(directory));
	cr_assert(asprintf(&tmp, "%s/tmp", directory) > 0 && mkdir(tmp, 0700) == 0);
	cr_assert(asprintf(&path, "%s/perf-7.map", tmp) > 0);
	cr_assert(jit_new(some_names(), &jit) == 0);
	jit_set_root(jit, open(directory, O_PATH | O_CLOEXEC), 7, geteuid(), geteuid());
	located = jit_locate(jit, 0x1008, now_ns());
	expect_name(jit, located, NULL);
	map = fopen(path, "we");
	fprintf(map, "1000 10 late\n");
	fclose(map);
	names_settle(some_names());
	expect_name(jit, located, "late");
	jit_free(jit);
	cr_assert(unlink(path) == 0 && rmdir(tmp) == 0 && rmdir(directory) == 0);
}

/* Of a process with a map of that size, and one name, which is found or not. */
static void find_in_map(const char *directory, pid_t pid, off_t size, const char *found)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_fclose_ FILE *map = NULL;
	struct jit *jit;

	cr_assert(asprintf(&path, "%s/tmp/perf-%d.map", directory, pid) > 0);
	map = fopen(path, "we");
	cr_assert(map && fputs("1000 10 first\n", map) > 0 && fflush(map) == 0);
	cr_assert(ftruncate(fileno(map), size) == 0);
	cr_assert(jit_new(some_names(), &jit) == 0);
	jit_set_root(jit, open(directory, O_PATH | O_CLOEXEC), pid, geteuid(), geteuid());
	expect_name(jit, jit_locate(jit, 0x1008, now_ns()), found);
	jit_free(jit);
	unlink(path);
}

/* The first one is told, others only with -v. */
Test(jit, tells_of_a_file_that_is_too_large)
{
	char directory[] = "/tmp/jit.XXXXXX";
	_cleanup_free_ char *tmp = NULL, *said = NULL;

	cr_assert(mkdtemp(directory));
	cr_assert(asprintf(&tmp, "%s/tmp", directory) > 0 && mkdir(tmp, 0700) == 0);
	cr_redirect_stderr();
	find_in_map(directory, 7, 14, "first");
	find_in_map(directory, 8, (off_t)JIT_FILE_MAX + 1, NULL);
	find_in_map(directory, 9, (off_t)JIT_FILE_MAX + 1, NULL);
	cr_assert(
		asprintf(
			&said,
			"dwarfprof: warning: %s/perf-8.map is too large: it is read no further, and "
			"generated code may lack names (-v names all such files)\n",
			tmp) > 0);
	fflush(stderr);
	cr_expect_stderr_eq_str(said);
	cr_assert(rmdir(tmp) == 0 && rmdir(directory) == 0);
}

/* A line that never ends: its name would be cut. */
Test(jit, tells_what_limits_leave_out)
{
	char directory[] = "/tmp/jit.XXXXXX";
	const char *first[PARSERS_SHOWN_FAILURES];
	_cleanup_free_ char *tmp = NULL, *said = NULL;

	cr_assert(mkdtemp(directory));
	cr_assert(asprintf(&tmp, "%s/tmp", directory) > 0 && mkdir(tmp, 0700) == 0);
	find_in_map(directory, 7, 14 + JIT_MAP_LINE_MAX, "first");
	cr_assert_eq(failures_look(names_failures(some_names()), first), 0);
	find_in_map(directory, 8, 14 + JIT_MAP_LINE_MAX + 1, "first");
	cr_assert_eq(failures_look(names_failures(some_names()), first), 1);
	cr_assert(
		asprintf(
			&said,
			"%s/perf-8.map: its names are incomplete: beyond 16 KiB (a line of a perf map), "
			"the name is cut (JIT_MAP_LINE_MAX)",
			tmp) > 0);
	cr_assert_str_eq(first[0], said);
	cr_assert(rmdir(tmp) == 0 && rmdir(directory) == 0);
}

/* What others have taken is not the file's fault. */
Test(jit, tells_that_others_have_taken_the_memory)
{
	char directory[] = "/tmp/jit.XXXXXX";
	struct jit *others[JIT_MEMORY_ALL / JIT_MEMORY];
	_cleanup_free_ char *tmp = NULL;

	cr_assert(mkdtemp(directory));
	cr_assert(asprintf(&tmp, "%s/tmp", directory) > 0 && mkdir(tmp, 0700) == 0);
	cr_redirect_stderr();
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		cr_assert(jit_new(some_names(), &others[i]) == 0);
		cr_assert(jit_take_memory(others[i], JIT_MEMORY));
	}
	find_in_map(directory, 8, 14, "first"); /* the last one that is kept */
	find_in_map(directory, 9, 14, "first");
	fflush(stderr);
	cr_expect_stderr_eq_str(
		"dwarfprof: warning: no memory is left for more names of generated code\n");
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		jit_free(others[i]);
	cr_assert(rmdir(tmp) == 0 && rmdir(directory) == 0);
}

Test(jit, memory_is_shared_until_it_is_free_again)
{
	struct names *names = some_names();
	struct jit *jits[JIT_MEMORY_ALL / JIT_MEMORY + 1];
	size_t last = sizeof(jits) / sizeof(*jits) - 1;

	for (size_t i = 0; i <= last; i++)
		cr_assert(jit_new(names, &jits[i]) == 0);
	for (size_t i = 0; i < last; i++) {
		cr_expect(jit_take_memory(jits[i], JIT_MEMORY - 1));
		cr_expect(!jit_take_memory(jits[i], 2));
		cr_expect(jit_take_memory(jits[i], 1));
	}
	cr_expect(!jit_take_memory(jits[last], 1));
	jit_free(jits[0]);
	cr_expect(jit_take_memory(jits[last], JIT_MEMORY));
	for (size_t i = 1; i <= last; i++)
		jit_free(jits[i]);
}

Test(jit_dump, refuses_what_it_cannot_read)
{
	struct dump_header headers[] = { good_header, good_header, good_header, good_header };
	const uint32_t endless[] = { 0, 0, 0, 0 };

	headers[0].magic = 0x4454694a;
	headers[1].version = 2;
	headers[2].machine = EM_AARCH64;
	headers[3].size = 8;
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		struct file dump = { .fd = memfd_create("dump", MFD_CLOEXEC) };
		struct jit_index index = { 0 };

		put(dump.fd, &headers[i], sizeof(headers[i]));
		put_load(dump.fd, 5, 0x1000, 16, "one");
		cr_assert_eq(read_on(JIT_DUMP, &dump, &index), -ENOEXEC);
		close(dump.fd);
	}
	struct file dump = { .fd = memfd_create("dump", MFD_CLOEXEC) };
	struct jit_index index = { 0 };

	put(dump.fd, &good_header, sizeof(good_header));
	put(dump.fd, endless, sizeof(endless));
	cr_assert_eq(read_on(JIT_DUMP, &dump, &index), -EBADMSG);
	close(dump.fd);
}

/* Any damage gives partial results or one of the documented errors. */
Test(jit_dump, survives_any_bytes)
{
	unsigned int seed = 3;

	for (int i = 0; i < 2000; i++) {
		struct file dump = { .fd = memfd_create("dump", MFD_CLOEXEC) };
		struct jit_index index = { 0 };
		const uint64_t lines[] = {
			2 | UINT64_C(74) << 32, 1, 0x1000, 2, 0x1000, 3, 0x74616877, 0x1008, 4, 0xff
		};
		int err;

		put(dump.fd, &good_header, sizeof(good_header));
		put(dump.fd, lines, 74);
		put_load(dump.fd, 5, 0x1000, 16, "one");
		put_load(dump.fd, 6, 0x1008, 16, "two");
		for (int n = rand_r(&seed) % 4; n >= 0; n--) {
			const uint8_t byte = (uint8_t)rand_r(&seed);

			cr_assert_eq(pwrite(dump.fd, &byte, 1, 40 + rand_r(&seed) % 180), 1);
		}
		err = read_on(JIT_DUMP, &dump, &index);
		cr_assert(err == 0 || err == -EBADMSG, "%d", err);
		(void)name_at(&index, 0x1008, 6);
		jit_index_done(&index);
		close(dump.fd);
	}
}
