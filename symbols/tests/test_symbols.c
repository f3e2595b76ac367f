// SPDX-License-Identifier: Apache-2.0
/* Demangling, the range index, the location cache, symbol tables, and modules that use them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "limits/limits.h"
#include "symbols/demangle.h"
#include "symbols/dwfl_file.h"
#include "symbols/kallsyms.h"
#include "symbols/kernel_list.h"
#include "symbols/names.h"
#include "symbols/location_cache.h"
#include "symbols/range_index.h"
#include "symbols/symtab.h"
#include "symbols/tests/some_names.h"

static void expect_style(const char *symbol, enum names_demangle style, const char *name)
{
	char *got = demangle(symbol, style);

	cr_assert_str_eq(got, name, "%s: %s", symbol, got);
	free(got);
}

static void expect_name(const char *symbol, const char *name)
{
	expect_style(symbol, NAMES_DEMANGLE_SIMPLE, name);
}

Test(demangle, gives_names_as_written)
{
	expect_name("main", "main");
	expect_name("_ZN9wikipedia7article6formatEv", "wikipedia::article::format");
	expect_name("_ZNSt6vectorIiSaIiEE9push_backERKi",
		    "std::vector<int, std::allocator<int> >::push_back");
	/* Rust's legacy and v0 schemes; the hash is removed */
	expect_name("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
		    "core::fmt::Write::write_fmt");
	expect_name("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
}

Test(demangle, knows_who_mangled_a_name)
{
	cr_assert_eq(mangling_find("_ZN1a1bEv"), MANGLING_CPLUS);
	cr_assert_eq(mangling_find("_RNvCs1234_7mycrate3bar"), MANGLING_RUST);
	cr_assert_eq(mangling_find("_D8demangle4testFaZv"), MANGLING_D);
	cr_assert_eq(mangling_find("__write"), MANGLING_NONE);
	cr_assert_eq(mangling_find("Zebra"), MANGLING_NONE);
	cr_assert_eq(mangling_find("_"), MANGLING_NONE);
	cr_assert_eq(mangling_find(""), MANGLING_NONE);
}

Test(demangle, takes_the_endings_of_clones_off)
{
	expect_name("reduce.constprop.0", "reduce");
	expect_name("reduce.isra.0.cold", "reduce");
	expect_name("_ZN1a1bEv.part.3", "a::b");
	expect_name("_ZN1a1bEv.llvm.12345", "a::b");
	expect_name(".cold", ".cold");
	expect_name("memcpy@@GLIBC_2.14", "memcpy");
	expect_name("@", "@");
}

Test(demangle, leaves_other_names_alone)
{
	char longest[10000];

	expect_name("_Zebra crossing", "_Zebra crossing");
	expect_name("_ZN", "_ZN");
	expect_name("", "");
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	memcpy(longest, "_ZN", 3);
	expect_name(longest, longest);
}

static void expect_styles(const char *symbol, const char *simple, const char *full)
{
	expect_style(symbol, NAMES_DEMANGLE_NONE, symbol);
	expect_style(symbol, NAMES_DEMANGLE_FULL, full);
	expect_name(symbol, simple);
}

Test(demangle, has_three_styles)
{
	expect_styles("_ZN1a1bEi.part.3", "a::b", "a::b(int) [clone .part.3]");
	expect_styles("_ZNKSt5ctypeIcE9do_narrowEcc", "std::ctype<char>::do_narrow",
		      "std::ctype<char>::do_narrow(char, char) const");
	expect_styles("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar", "mycrate::foo::bar");
	expect_styles("_D8demangle4testFaZv", "demangle.test", "demangle.test(char)");
	expect_styles("_D8demangle4testFG42aZv", "demangle.test", "demangle.test(char[42])");
	expect_styles("_D8demangle11__T4testTaZv", "demangle.test!(char)", "demangle.test!(char)");
	expect_styles("reduce.constprop.0", "reduce", "reduce.constprop.0");
}

/* A few bytes that expand to a very long name: each type doubles the last one. */
Test(demangle, gives_up_when_a_name_becomes_too_long)
{
	static const char numbers[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char symbol[1000] = "_Z1fISt4pairIiiE";
	size_t n = strlen(symbol);

	for (int i = 1; i < 36; i++)
		n += (size_t)sprintf(symbol + n, "S0_IS%c_S%c_E", numbers[i], numbers[i]);
	strcpy(symbol + n, "Evv");
	expect_name(symbol, symbol);
	/* A few levels are harmless. */
	expect_name(
		"_Z1fISt4pairIiiES0_IS1_S1_EEvv",
		"f<std::pair<int, int>, std::pair<std::pair<int, int>, std::pair<int, int> > >");
}

static double cpu_seconds(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

/* Without limits, demangling takes minutes or all memory. Sanitizers slow it down thirtyfold. */
#if defined(__SANITIZE_ADDRESS__)
#define MOST_SECONDS 10.0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MOST_SECONDS 10.0
#endif
#endif
#ifndef MOST_SECONDS
#define MOST_SECONDS 0.5
#endif

/* Whatever the name, demangling is fast and the result is not long. */
static void expect_bounded(const char *symbol)
{
	double before = cpu_seconds();
	char *name = demangle(symbol, NAMES_DEMANGLE_SIMPLE);

	cr_assert_lt(cpu_seconds() - before, MOST_SECONDS, "%.100s", symbol);
	cr_assert(name);
	cr_assert(strcmp(name, symbol) == 0 || strlen(name) <= 1 << 20, "%.100s", symbol);
	free(name);
}

/* Names of a megabyte, and names whose parts refer to earlier parts. */
Test(demangle, is_bounded_for_hostile_names)
{
	static const char *const pieces[] = { "S_",
					      "S0_IS_S_E",
					      "NSt4pairIS_S_E",
					      "QaQb",
					      "TB_B0_E",
					      "IC1aB_E",
					      "__T3fooTQcTQc",
					      "F",
					      "A3_",
					      "DpT_",
					      "1a",
					      "XspT_E",
					      "M",
					      "P",
					      "HQeQd",
					      "cvT_" };
	static const char *const starts[] = { "_Z", "_ZN",     "_Z1fI",
					      "_R", "_RNvC1a", "_RINvC1aB_",
					      "_D", "_D3foo",  "_D3fooFS3bar" };
	const size_t sizes[] = { 100, 1000, 4000, 1 << 20 };
	static char symbol[(1 << 20) + 64];

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		for (size_t j = 0; j < sizeof(pieces) / sizeof(*pieces); j++)
			for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
				char *end = stpcpy(symbol, starts[i]);

				while (end < symbol + sizes[k])
					end = stpcpy(end, pieces[j]);
				expect_bounded(symbol);
			}
}

/* Each template contains the previous one twice, by D's back references. */
Test(demangle, bounds_names_of_d)
{
	char symbol[4096] = "_D3foo__T1aTiZ1b";
	char again[8192];

	expect_name("_D3foo__T3barTiZ3quxFiZv", "foo.bar!(int).qux");
	for (int i = 0; i < 40; i++)
		strcat(strcat(symbol, "TQcTQd"), i % 2 ? "Z" : "");
	expect_bounded(symbol);
	/* Deep nesting without references, such as arrays of pairs of delegates */
	strcpy(again, "_D3foo");
	for (int i = 0; i < 1000; i++)
		strcat(again, "PFAHi");
	expect_bounded(again);
}

/*
 * Each type is an associative array with keys and values of the previous type, so its name doubles.
 */
Test(demangle, bounds_how_often_names_of_d_repeat_themselves)
{
	enum { LEVELS = 12 /* two references each */ };
	char symbol[128], types[100] = "HiiHQeQg";

	expect_style("_D1fFHiiHQeQgZv", NAMES_DEMANGLE_FULL, "f(int[int], int[int][int[int]])");
	for (int level = 2; level <= LEVELS + 1; level++) {
		char *name;

		strcat(types, "HQgQi");
		snprintf(symbol, sizeof(symbol), "_D1fF%sZv", types);
		name = demangle(symbol, NAMES_DEMANGLE_FULL);
		if (level > LEVELS)
			cr_assert_str_eq(name, symbol);
		else
			cr_assert_eq(strlen(name), (20U << level) - 9, "%zu", strlen(name));
		free(name);
	}
}

static void expect_go(enum names_demangle style, const char *name, const char *wanted)
{
	char *got = demangle_go(name, style);

	cr_assert_str_eq(got, wanted);
	free(got);
}

/* As in Go's own traces. */
Test(demangle, leaves_the_types_of_go_s_generic_functions_out)
{
	expect_go(NAMES_DEMANGLE_SIMPLE, "main.main", "main.main");
	expect_go(NAMES_DEMANGLE_SIMPLE, "main.Map[go.shape.int].Get", "main.Map[...].Get");
	expect_go(NAMES_DEMANGLE_SIMPLE, "main.F[main.T[go.shape.int]]", "main.F[...]");
	expect_go(NAMES_DEMANGLE_SIMPLE, "main.]F[", "main.]F[");
	expect_go(NAMES_DEMANGLE_SIMPLE, "main.F]", "main.F]");
	expect_go(NAMES_DEMANGLE_FULL, "main.F[go.shape.int]", "main.F[go.shape.int]");
	expect_go(NAMES_DEMANGLE_NONE, "main.F[go.shape.int]", "main.F[go.shape.int]");
}

static void expect_range(const struct range_index *index, uint64_t address, int id)
{
	const struct range *range = range_index_find(index, address);

	cr_assert_eq(range ? (int)range->id : -1, id, "%lu: %d", address,
		     range ? (int)range->id : -1);
}

/*
 * A call inlined at the start of a function is inside the function, in whichever order they were
 * added.
 */
Test(range_index, has_the_shorter_one_inside_where_two_begin_together)
{
	static const struct range ranges[] = { { 10, 50, 0 }, { 10, 100, 1 }, { 10, 20, 2 } };
	struct range_index index = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		cr_assert_eq(range_index_add(&index, ranges[i].start, ranges[i].end, ranges[i].id),
			     0);
	range_index_sort(&index);
	expect_range(&index, 10, 2);
	expect_range(&index, 20, 0);
	expect_range(&index, 50, 1);
	range_index_done(&index);
}

Test(range_index, finds_the_innermost_range)
{
	static const struct range ranges[] = {
		{ 50, 60, 4 },  { 10, 100, 1 },  { 20, 40, 2 },  { 30, 40, 3 },
		{ 10, 100, 0 }, { 200, 210, 1 }, { 90, 120, 5 }, { 300, 300, 6 },
	};
	struct range_index index = { 0 };
	const struct range *range;

	expect_range(&index, 0, -1);
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		cr_assert(range_index_add(&index, ranges[i].start, ranges[i].end, ranges[i].id) ==
			  0);
	range_index_sort(&index);
	expect_range(&index, 9, -1);
	expect_range(&index, 10, 1);
	expect_range(&index, 20, 2);
	expect_range(&index, 39, 3);
	expect_range(&index, 40, 1);
	expect_range(&index, 59, 4);
	expect_range(&index, 60, 1);
	/* Overlapping ranges: the result contains the address */
	expect_range(&index, 95, 5);
	expect_range(&index, 110, 5);
	expect_range(&index, 150, -1);
	expect_range(&index, 209, 1);
	expect_range(&index, 300, -1);
	expect_range(&index, UINT64_MAX, -1);

	range = range_index_find(&index, 35);
	for (int id = 3; id >= 0; id--) {
		cr_assert_eq((int)range->id, id);
		range = range_index_outer(&index, range, 35);
	}
	cr_assert(range == NULL);
	range_index_done(&index);
}

static bool is_known(const struct location_cache *cache, uint64_t address, bool lines)
{
	const struct source_location *locations;
	size_t n;

	return location_cache_find(cache, address, lines, &locations, &n);
}

Test(location_cache, has_its_own_names_and_a_limit)
{
	char function[] = "_ZN1a1bEi", file[] = "b.cc", dir[] = "/src";
	const struct source_location added[] = { { function, file, dir, 3, 4, true },
						 { .function = "main", .file = "/src/main.cc" } };
	struct location_cache cache = { 0 };
	const struct source_location *locations;
	size_t n;

	cr_assert(location_cache_add(&cache, 10, false, added, 2) == 0);
	cr_assert(is_known(&cache, 10, false) && !is_known(&cache, 10, true));
	cr_assert(location_cache_add(&cache, 10, true, added, 2) == 0);
	memset(function, 'x', sizeof(function) - 1);
	memset(file, 'x', sizeof(file) - 1);
	cr_assert(location_cache_find(&cache, 10, true, &locations, &n) && n == 2);
	cr_assert_str_eq(locations[0].function, "a::b");
	cr_assert_str_eq(locations[0].file, "/src/b.cc");
	cr_assert(locations[0].line == 3 && locations[0].column == 4 && locations[0].inlined);
	cr_assert_str_eq(locations[1].function, "main");

	cr_assert(location_cache_add(&cache, 20, true, NULL, 0) == 0);
	cr_assert(location_cache_find(&cache, 20, true, &locations, &n) && n == 0);
	for (uint64_t i = 0; i < LOCATION_CACHE_MAX; i++)
		cr_assert(location_cache_add(&cache, 100 + i, true, &added[1], 1) == 0);
	cr_assert(cache.n_entries <= LOCATION_CACHE_MAX && !is_known(&cache, 10, false));
	cr_assert(is_known(&cache, 100 + LOCATION_CACHE_MAX - 1, true));
	location_cache_done(&cache);
}

static int kallsyms_from_by(int (*new)(const struct names *, const char *, struct kallsyms **),
			    const char *text, struct kallsyms **ret)
{
	char path[] = "/tmp/dwarfprof-test-XXXXXX";
	int fd = mkstemp(path), err;

	cr_assert(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	err = new (some_names(), path, ret);
	unlink(path);
	return err;
}

static int kallsyms_from(const char *text, struct kallsyms **ret)
{
	return kallsyms_from_by(kallsyms_new, text, ret);
}

Test(kallsyms, finds_functions_of_kernel_and_modules)
{
	struct kallsyms *k;
	uint64_t offset;

	cr_assert(kallsyms_from("ffffffff81000100 T second\n"
				"ffffffff81000000 T first\n"
				"ffffffff81000180 d data\n"
				"ffffffffa0000000 t in_module\t[ext4]\n",
				&k) == 0);
	cr_assert_str_eq(kallsyms_find(k, 0xffffffff81000010, &offset), "first");
	cr_assert(offset == 0x10);
	cr_assert_str_eq(kallsyms_find(k, 0xffffffff81000190, &offset), "second");
	cr_assert_str_eq(kallsyms_find(k, 0xffffffffa0000001, &offset), "in_module");
	cr_assert(kallsyms_find(k, 0x1000, &offset) == NULL);
	cr_assert(kallsyms_find_module(k, 0xffffffff81000010) == NULL);
	cr_assert_str_eq(kallsyms_find_module(k, 0xffffffffa0000001), "ext4");
	kallsyms_free(k);
}

/* Behind the last code in the list, no name is better than a wrong one. */
Test(kallsyms, leaves_out_what_is_in_no_function)
{
	struct kallsyms *k;
	uint64_t offset;

	cr_assert(kallsyms_from("ffffffff81000000 T __first\n"
				"ffffffff81000000 t private\n"
				"ffffffff81000000 T first\n"
				"ffffffff81000000 W weak\n"
				"ffffffff81000200 T _etext\n"
				"ffffffffa0000ff0 t of_one\t[one]\n"
				"ffffffffa0002000 t of_two\t[two]\n"
				"ffffffffa0006000 t also_of_two\t[two]\n"
				"ffffffffc0000000 t bpf_prog_1\t[bpf]\n",
				&k) == 0);
	cr_assert_str_eq(kallsyms_find(k, 0xffffffff81000000, &offset), "first");
	cr_assert_str_eq(kallsyms_find(k, 0xffffffff810001ff, &offset), "first");
	cr_assert(kallsyms_find(k, 0xffffffff81000200, &offset) == NULL);
	cr_assert_str_eq(kallsyms_find(k, 0xffffffffa0000fff, &offset), "of_one");
	cr_assert(kallsyms_find(k, 0xffffffffa0001000, &offset) == NULL);
	cr_assert_str_eq(kallsyms_find(k, 0xffffffffa0005fff, &offset), "of_two");
	cr_assert_str_eq(kallsyms_find(k, 0xffffffffc0003000, &offset), "bpf_prog_1");
	cr_assert_str_eq(kallsyms_find_module(k, 0xffffffffc0003000), "bpf");
	cr_assert(kallsyms_find(k, 0xffffffffd0000000, &offset) == NULL);
	kallsyms_free(k);
}

Test(kallsyms, prefers_what_is_public)
{
	struct kallsyms *k;
	uint64_t offset;

	cr_assert(kallsyms_from("ffffffff81000000 W weak\n"
				"ffffffff81000000 t private\n"
				"ffffffff81000100 t another\n"
				"ffffffff81000100 T public\n"
				"ffffffff81000200 T __public\n"
				"ffffffff81000200 T the_same\n",
				&k) == 0);
	cr_assert_str_eq(kallsyms_find(k, 0xffffffff81000000, &offset), "private");
	cr_assert_str_eq(kallsyms_find(k, 0xffffffff81000100, &offset), "public");
	cr_assert_str_eq(kallsyms_find(k, 0xffffffff81000200, &offset), "the_same");
	kallsyms_free(k);
}

/* Also behind and among those that are in order. */
Test(kallsyms, finds_functions_in_any_order)
{
	static const char *const names[] = { "first", "second", "third", "fourth" };
	struct kallsyms *k;
	uint64_t offset;

	cr_assert(kallsyms_from("ffffffff81000000 T first\n"
				"ffffffff81000100 T second\n"
				"ffffffff81000300 T fourth\n"
				"ffffffffc0002000 t bpf_prog_2\t[bpf]\n"
				"ffffffffc0001000 t bpf_prog_1\t[bpf]\n"
				"ffffffff81000200 t __third\n"
				"ffffffff81000200 T third\n"
				"ffffffff81000100 t private\n",
				&k) == 0);
	for (uint64_t i = 0; i < ARRAY_SIZE(names); i++)
		cr_assert_str_eq(kallsyms_find(k, 0xffffffff81000010 + i * 0x100, &offset),
				 names[i]);
	cr_assert_str_eq(kallsyms_find(k, 0xffffffffc0001010, &offset), "bpf_prog_1");
	cr_assert_str_eq(kallsyms_find(k, 0xffffffffc0002010, &offset), "bpf_prog_2");
	kallsyms_free(k);
}

Test(kallsyms, takes_functions_that_come_later)
{
	struct kallsyms *k;
	uint64_t offset;

	cr_assert(kallsyms_from("ffffffffc0000000 t bpf_prog_1\t[bpf]\n", &k) == 0);
	cr_assert(kallsyms_add_late(k, 0xffffffffc0001000, 0x100, "bpf_prog_2") == 0);
	cr_assert(kallsyms_add_late(k, 0xffffffffc0001100, 0x100, "bpf_prog_3") == 0);
	cr_assert_str_eq(kallsyms_find(k, 0xffffffffc00010ff, &offset), "bpf_prog_2");
	cr_assert(offset == 0xff);
	cr_assert_str_eq(kallsyms_find(k, 0xffffffffc0001100, &offset), "bpf_prog_3");
	cr_assert_str_eq(kallsyms_find_module(k, 0xffffffffc0001100), "bpf");
	cr_assert_str_eq(kallsyms_find(k, 0xffffffffc0000100, &offset), "bpf_prog_1");
	/* One that replaces both */
	cr_assert(kallsyms_add_late(k, 0xffffffffc00010f0, 0x80, "bpf_prog_4") == 0);
	cr_assert_str_eq(kallsyms_find(k, 0xffffffffc00010ff, &offset), "bpf_prog_4");
	cr_assert_str_eq(kallsyms_find(k, 0xffffffffc0001010, &offset), "bpf_prog_1");
	kallsyms_free(k);
}

/* By a thread, by the first look-up, or never */
Test(kallsyms, is_read_later)
{
	static const char text[] = "ffffffff81000000 T first\n";
	struct kallsyms *k;
	uint64_t offset;

	for (int ahead = 0; ahead < 3; ahead++) {
		cr_assert(kallsyms_from_by(kallsyms_new_unread, text, &k) == 0);
		for (int i = 0; i < ahead; i++)
			kallsyms_read_ahead(k);
		cr_assert(kallsyms_add_late(k, 0xffffffffc0001000, 0x100, "bpf_prog_2") == 0);
		cr_assert_str_eq(kallsyms_find(k, 0xffffffff81000010, &offset), "first");
		cr_assert_str_eq(kallsyms_find(k, 0xffffffffc0001010, &offset), "bpf_prog_2");
		kallsyms_free(k);
	}
	cr_assert(kallsyms_from_by(kallsyms_new_unread, text, &k) == 0);
	kallsyms_free(k);
	cr_assert(kallsyms_from_by(kallsyms_new_unread, text, &k) == 0);
	kallsyms_read_ahead(k);
	kallsyms_free(k);
	cr_assert(kallsyms_from_by(kallsyms_new_unread, "", &k) == 0);
	cr_assert(kallsyms_find(k, 0xffffffff81000010, &offset) == NULL);
	kallsyms_free(k);
}

/* The kernel takes its time to write the list; only a look-up waits for it. */
Test(kernel_list, is_read_while_nobody_asks, .timeout = 60)
{
	char directory[] = "/tmp/kernel_list.XXXXXX", path[sizeof(directory) + 8];
	static const char text[] = "ffffffff81000000 T first\n";
	struct kernel_list *list;
	int fd, left = 1;

	cr_assert(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/list", directory);
	cr_assert_eq(mkfifo(path, 0600), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	cr_assert_eq(kernel_list_new(path, &list), 0);
	kernel_list_read_ahead(list);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	while (left > 0) {
		cr_assert_eq(ioctl(fd, FIONREAD, &left), 0);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	close(fd);
	cr_assert_eq(kernel_list_wait(list), 0);
	cr_assert_str_eq(kernel_list_find(list, 0xffffffff81000010)->name, "first");
	kernel_list_free(list);
	cr_assert(unlink(path) == 0 && rmdir(directory) == 0);
}

Test(kallsyms, says_that_the_addresses_are_hidden)
{
	struct kallsyms *k;

	cr_assert(kallsyms_from("0000000000000000 T first\n", &k) == -EACCES);
	cr_assert(kallsyms_from_by(kallsyms_new_unread, "0000000000000000 T first\n", &k) ==
		  -EACCES);
	cr_assert(kallsyms_new(some_names(), "/nonexistent", &k) == -ENOENT);
	cr_assert(!kallsyms_are_hidden("/nonexistent"));
}

/* A symbol table that is being read is given up, and the kernel's names end, too. */
Test(names, end_everywhere_at_once)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct symtab *symtab;
	struct kallsyms *k;
	uint64_t offset;

	cr_assert(kallsyms_from("ffffffff81000000 T first\n", &k) == 0);
	cr_assert_str_eq(kallsyms_find(k, 0xffffffff81000010, &offset), "first");
	names_disable(some_names());
	cr_assert(kallsyms_find(k, 0xffffffff81000010, &offset) == NULL);
	cr_assert(symtab_new(&(struct dwfl_source){ .names = some_names(),
						    .fd = fd,
						    .path = "/proc/self/exe" },
			     UINT64_MAX, &symtab) == -ECANCELED);
	kallsyms_free(k);
	close(fd);
}

static char *released[4];
static size_t n_released;
static int release_err;

static int release(void *arg, void (*fn)(void *object), void *object)
{
	cr_assert(arg == released && fn == free);
	if (release_err == 0)
		released[n_released++] = object;
	return release_err;
}

/* Programs come and go for months: their names are freed, but not while in use. */
Test(kallsyms, frees_names_of_what_is_gone)
{
	struct kallsyms *k;
	const char *name;
	uint64_t offset;

	cr_assert(kallsyms_from("ffffffffc0000000 t bpf_prog_1\t[bpf]\n", &k) == 0);
	cr_assert(kallsyms_add_late(k, 0xffffffffc0001000, 0x100, "bpf_prog_2") == 0);
	cr_assert(kallsyms_add_late(k, 0xffffffffc0001000, 0x100, "bpf_prog_3") == 0);
	kallsyms_set_release(k, release, released);
	cr_assert(kallsyms_add_late(k, 0xffffffffc0002000, 0x100, "bpf_prog_4") == 0);
	cr_assert_eq(n_released, 0);
	name = kallsyms_find(k, 0xffffffffc0001000, &offset);
	cr_assert(kallsyms_add_late(k, 0xffffffffc0001000, 0x100, "bpf_prog_5") == 0);
	cr_assert(n_released == 1 && released[0] == name && strcmp(name, "bpf_prog_3") == 0);
	free(released[0]);
	release_err = -ENOMEM;
	cr_assert(kallsyms_add_late(k, 0xffffffffc0001000, 0x100, "bpf_prog_6") == 0);
	cr_assert_eq(n_released, 1, "kept, and freed with the others");
	kallsyms_free(k);
}
