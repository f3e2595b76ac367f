// SPDX-License-Identifier: Apache-2.0
/* Where Pythons of each kind set exceptions. */
#include "values/python_raise.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Code at 0x1000 to 0x8000, and the version behind it. */
#define CODE 0x1000
#define VERSION_AT 0x8000

static uint64_t version;
static struct elf_segment segments[] = {
	{ .offset = CODE + 0x100, .address = CODE, .file_size = 0x7000 },
	{ .offset = 0, .address = VERSION_AT, .file_size = sizeof(version) },
};

/* A zero ends the list. */
static int find(const struct elf_symbol *symbols, uint64_t of_version, struct cxx_runtime *ret)
{
	struct elf_file file = { .bytes = (void *)&version,
				 .size = sizeof(version),
				 .segments = segments,
				 .n_segments = 2 };
	struct python_raise raise = { 0 };

	version = of_version;
	memset(ret, 0, sizeof(*ret));
	for (; symbols->name; symbols++)
		python_raise_note(&raise, symbols);
	python_raise_find(&raise, &file, ret);
	cr_assert(cxx_runtime_is_sound(ret));
	return cxx_runtime_throws(ret);
}

#define OUTER(address, size)                                                                       \
	{                                                                                          \
		"PyErr_SetObject", address, size, true                                             \
	}
#define INNER(address, size)                                                                       \
	{                                                                                          \
		"_PyErr_SetObject", address, size, true                                            \
	}
#define VERSION                                                                                    \
	{                                                                                          \
		"Py_Version", VERSION_AT, 8, false                                                 \
	}

static void expect(const struct cxx_place *place, uint64_t address, uint32_t type, uint32_t text)
{
	cr_assert(place->address == address && place->offset == address + 0x100);
	cr_assert(place->type == type + 1 && place->text == text && place->counter == 0);
	cr_assert_eq(place->object, (type == DP_RDI ? DP_RSI : DP_RDX) + 1);
}

Test(python_raise, is_what_all_call)
{
	const struct elf_symbol symbols[] = { OUTER(0x3000, 0x40), INNER(0x2000, 0x200), { 0 } };
	struct cxx_runtime r;

	cr_assert(find(symbols, 0, &r));
	expect(&r.throws[CXX_RAISE], 0x2000, DP_RSI, 48);
	cr_assert_eq(r.throws[CXX_RAISE_WHOLE].address, 0);
}

Test(python_raise, is_both_where_one_is_part_of_the_other)
{
	const struct elf_symbol symbols[] = { OUTER(0x3000, 0x1f0), INNER(0x2000, 0x200), { 0 } };
	struct cxx_runtime r;

	cr_assert(find(symbols, 0, &r));
	expect(&r.throws[CXX_RAISE], 0x2000, DP_RSI, 48);
	expect(&r.throws[CXX_RAISE_WHOLE], 0x3000, DP_RDI, 48);
}

Test(python_raise, is_what_the_compiler_has_split_off)
{
	const struct elf_symbol symbols[] = { VERSION,
					      OUTER(0x3000, 0x70),
					      INNER(0x2000, 0x40),
					      { "_PyErr_SetObject.part.0", 0x1800, 0x400, true },
					      { 0 } };
	struct cxx_runtime r;

	cr_assert(find(symbols, 0x030d00f0, &r));
	expect(&r.throws[CXX_RAISE], 0x1800, DP_RSI, 40);
	cr_assert_eq(r.throws[CXX_RAISE_WHOLE].address, 0);
}

Test(python_raise, has_no_messages_of_a_layout_that_is_not_known)
{
	const struct elf_symbol symbols[] = {
		VERSION, OUTER(0x3000, 0x40), INNER(0x2000, 0x200), { 0 }
	};
	struct cxx_runtime r;

	cr_assert(find(symbols, 0x030b02f0, &r) && r.throws[CXX_RAISE].text == 48);
	cr_assert(find(symbols, 0x030c00f0, &r) && r.throws[CXX_RAISE].text == 40);
	cr_assert(find(symbols, 0x030e00f0, &r) && r.throws[CXX_RAISE].text == 0);
}

/* 3.7 has one function, of which 3.13 exports only what few call. */
Test(python_raise, may_be_hidden)
{
	const struct elf_symbol symbols[] = { VERSION, OUTER(0x3000, 0x40), { 0 } };
	struct elf_symbol split[] = { OUTER(0x3000, 0x70), INNER(0x2000, 0xff), VERSION, { 0 } };
	struct cxx_runtime r;

	cr_assert(!find(symbols, 0x030d00f0, &r) && r.hides == CXX_HIDES_PYTHON);
	cr_assert(find(&symbols[1], 0, &r) && !r.hides);
	expect(&r.throws[CXX_RAISE_WHOLE], 0x3000, DP_RDI, 48);
	cr_assert(!find(split, 0x030c00f0, &r) && r.hides == CXX_HIDES_PYTHON);
	split[1].size = 0x100;
	cr_assert(find(split, 0x030c00f0, &r) && !r.hides);
	split[1].size = 0;
	cr_assert(find(split, 0x030c00f0, &r) && !r.hides);
}

Test(python_raise, is_not_of_other_layouts)
{
	const struct elf_symbol second[] = { OUTER(0x3000, 0x40),
					     { "PyString_Type", 0x5000, 8, false },
					     { 0 } };
	const struct elf_symbol unlocked[] = { OUTER(0x3000, 0x40),
					       INNER(0x2000, 0x200),
					       { "_Py_MergeZeroLocalRefcount", 0x4000, 8, true },
					       { 0 } };
	const struct elf_symbol none[] = { { "_PyErr_SetObjectOfMine", 0x2000, 8, true }, { 0 } };
	struct cxx_runtime r;

	cr_assert(!find(second, 0, &r) && !find(unlocked, 0x030d00f0, &r) && !find(none, 0, &r));
}

Test(python_raise, is_in_the_machine_s_python)
{
	_cleanup_close_ int fd = open("/usr/bin/python3", O_RDONLY | O_CLOEXEC);
	struct cxx_runtime r;
	struct elf_file file;

	if (fd < 0)
		cr_skip_test("there is no python3");
	cr_assert_eq(elf_file_init_fd_only(&file, fd), 0);
	cr_assert_eq(cxx_runtime_find(&file, fd, &r), 0);
	elf_file_done(&file);
	cr_assert(cxx_runtime_throws(&r) || r.hides == CXX_HIDES_PYTHON);
}
