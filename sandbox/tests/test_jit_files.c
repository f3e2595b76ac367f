// SPDX-License-Identifier: Apache-2.0
/*
 * Names of generated code by parsers are those that this process reads; what a parser can do that such a file
 * has taken over, and what one user's files may cost. This program is also the helper.
 */
#include "sandbox/jit_files.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "sandbox/helper.h"
#include "sandbox/parsers.h"
#include "sandbox/tests/faulty.h"
#include "sandbox/tests/helper_test.h"
#include "symbols/jit.h"
#include "symbols/tests/jit_dump_bytes.h"
#include "symbols/tests/some_names.h"

/* Sizes of files that take a parser over: it says without end that there is more, ends, or writes no pieces. */
#define ENDLESS 666
#define DEADLY 667
#define LYING 668
/* Nobody is asked who they are. */
#define USER 65432
#define OTHER 65431
#define ANY_TIME UINT64_MAX

static bool is_helper;

int __real_parse_here(const struct parse_request *request, struct parse_result *ret);
int __wrap_parse_here(const struct parse_request *request, struct parse_result *ret);

int __wrap_parse_here(const struct parse_request *request, struct parse_result *ret)
{
	struct stat st = { 0 };

	if (is_helper)
		(void)fstat(request->fd, &st);
	*ret = (struct parse_result){ .position = { .at = request->position.at + 1 } };
	switch (st.st_size) {
	case ENDLESS:
		ret->has_more = true;
		return 0;
	case DEADLY:
		_exit(1);
	case LYING:
		ret->pieces.n = 100;
		ret->pieces.bytes = malloc(ret->pieces.n);
		memset(ret->pieces.bytes, 0xff, ret->pieces.n);
		return 0;
	default:
		return __real_parse_here(request, ret);
	}
}

int main(int argc, char **argv)
{
	is_helper = helper_is_one(argv[0]);
	return is_helper ? helper_main(argc, argv) : run_tests(argc, argv);
}

static struct parsers *parsers;
static struct names *names;

static void begin(void)
{
	faulty_begin();
	cr_assert(parsers_new(program, &parsers) == 0);
	names = names_with((struct names_options){ 0 });
	cr_assert(jit_files_start(parsers, names) == 0);
}

static void end(void)
{
	names_free(names);
	parsers_drop(parsers);
	faulty_end();
}

TestSuite(jit_files, .init = begin, .fini = end, .timeout = 60);

/* With the dump of a user's process, of this size unless that is 0. The caller has to free it. */
static struct jit *dump_of(struct names *by, uid_t user, off_t size)
{
	int fd = memfd_create("dump", MFD_CLOEXEC);
	struct jit *jit;

	cr_assert(jit_new(by, &jit) == 0);
	put(fd, &good_header, sizeof(good_header));
	put_lines(fd, 0x1000, 0x1000, 0x1008);
	put_load(fd, 5, 0x1000, 16, "_ZN1a1bEv");
	put_load(fd, 6, 0x2000, 16, "two");
	cr_assert(size == 0 || ftruncate(fd, size) == 0);
	jit_set_dump(jit, fd, user);
	return jit;
}

static bool knows(struct jit *jit, const char *name)
{
	const struct source_location *location;

	return jit_find(jit, jit_locate(jit, 0x1008, ANY_TIME), true, &location) &&
	       strcmp(location->function, name) == 0;
}

static size_t n_parsers(void)
{
	pid_t spawner[16], found[16];

	return children(getpid(), spawner) > 0 ? children(spawner[0], found) : 0;
}

static void expect_same_names(struct names *by)
{
	const struct source_location *location;
	struct jit *jit = dump_of(by, USER, 0);

	cr_assert(jit_find(jit, jit_locate(jit, 0x1008, 5), true, &location));
	cr_assert_str_eq(location->function, "a::b");
	cr_assert_str_eq(location->file, "a.js");
	cr_assert_eq(location->line, 8);
	cr_assert(jit_find(jit, jit_locate(jit, 0x2000, 6), true, &location));
	cr_assert_str_eq(location->function, "two");
	cr_assert_eq(location->line, 0);
	jit_free(jit);
}

Test(jit_files, have_the_same_names)
{
	cr_assert_eq(n_parsers(), 0);
	expect_same_names(names);
	cr_assert_eq(n_parsers(), 1);
	expect_same_names(some_names());
}

/* Large maps are read in parts. */
Test(jit_files, are_read_to_their_end)
{
	_cleanup_free_ char *directory_of_it = NULL, *path = NULL;
	char root[] = "/tmp/dwarfprof-test-XXXXXX";
	uint64_t began;
	struct jit *jit;
	FILE *map;

	cr_assert(mkdtemp(root) && asprintf(&directory_of_it, "%s/tmp", root) > 0);
	cr_assert(mkdir(directory_of_it, 0700) == 0);
	cr_assert(asprintf(&path, "%s/perf-7.map", directory_of_it) > 0);
	map = fopen(path, "we");
	cr_assert(map);
	for (unsigned int i = 0; i < 100000; i++)
		fprintf(map, "%x 10 some function of it\n", 0x100000 + i * 16);
	fprintf(map, "1000 10 last\n");
	cr_assert(fclose(map) == 0);
	cr_assert(jit_new(names, &jit) == 0);
	jit_set_root(jit, open(root, O_PATH | O_CLOEXEC), 7, geteuid(), USER);
	began = clock_now_ns();
	names_settle(names);
	/* Unless the time for it was over. */
	while (!knows(jit, "last"))
		cr_assert_geq(clock_now_ns() - began, JIT_FILES_SHARE_NS);
	jit_free(jit);
	unlink(path);
	rmdir(directory_of_it);
	rmdir(root);
}

/* Root's programs write down what others call their functions. */
Test(jit_files, meet_no_tables)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	_cleanup_close_ int fd = memfd_create("binary", MFD_CLOEXEC);
	const struct parse_request request = { .kind = PARSE_FACTS, .fd = fd, .other = -1 };
	clockid_t clock = 0;

	cr_assert_lt(parsers_ask(parsers, &request, &clock, &result), 0);
	cr_assert_eq(n_parsers(), 1);
	expect_same_names(names);
	cr_assert_eq(n_parsers(), 2);
}

Test(jit_files, cost_only_themselves)
{
	const off_t sizes[] = { DEADLY, LYING };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct jit *jit = dump_of(names, USER, sizes[i]);

		cr_assert(!knows(jit, "a::b"));
		jit_free(jit);
		expect_same_names(names);
	}
}

/* What samples wait for, one user's share, and that of another. */
Test(jit_files, take_a_share_of_time)
{
	struct jit *jit = dump_of(names, OTHER, ENDLESS), *late = dump_of(names, OTHER, 0);
	uint64_t begun;

	expect_same_names(names); /* a parser is there */
	begun = clock_now_ns();
	(void)jit_locate(jit, 0x1008, 5);
	cr_assert_lt(clock_now_ns() - begun, JIT_FILES_SHARE_NS);
	names_settle(names);
	(void)jit_locate(jit, 0x1008, 5);
	cr_assert_lt(clock_now_ns() - begun, 5 * JIT_FILES_SHARE_NS);
	cr_assert(!knows(late, "a::b"));
	expect_same_names(names);
	jit_free(jit);
	jit_free(late);
}
