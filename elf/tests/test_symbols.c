// SPDX-License-Identifier: Apache-2.0
/* Variables of this program, which exports none. */
#include <criterion/criterion.h>

#include "elf/elf_facts.h"
#include "elf/elf_symbols.h"
#include "elf/tests/own_file.h"

/* As compilers have it that tell debuggers of their code. */
struct descriptor {
	uint32_t version, action;
	void *relevant, *first;
};

extern struct descriptor descriptor __asm__("__jit_debug_descriptor");
struct descriptor descriptor = { .version = 1 };

/* As asyncio of CPython publishes where its tasks are; and a section of another size. */
static uint64_t offsets[13] __attribute__((used, section(".AsyncioDebug"))) = { 1 };
static uint64_t other[3] __attribute__((used, section(".OtherDebug"))) = { 1 };

TestSuite(symbols, .init = open_own_file, .fini = close_own_file);

Test(symbols, say_where_generated_code_is_told_of)
{
	struct elf_facts facts;

	cr_assert_eq(elf_facts_init(&facts, &file), 0);
	cr_expect_eq(facts.jit_descriptor, in_file(&descriptor));
	elf_facts_done(&facts);
}

Test(symbols, are_found_by_name_and_size)
{
	const char *name = "__jit_debug_descriptor";

	cr_expect_eq(elf_symbols_find_variable(&file, name, sizeof(descriptor)),
		     in_file(&descriptor));
	cr_expect_eq(elf_symbols_find_variable(&file, name, sizeof(descriptor) - 1), 0);
	cr_expect_eq(elf_symbols_find_variable(&file, "open_own_file", sizeof(descriptor)), 0);
}

Test(symbols, sections_are_found_by_name_and_size)
{
	struct elf_facts facts;

	cr_assert_eq(elf_facts_init(&facts, &file), 0);
	cr_expect_eq(facts.asyncio, in_file(offsets));
	elf_facts_done(&facts);
	cr_expect_eq(elf_find_section(&file, ".OtherDebug", sizeof(other)), in_file(other));
	cr_expect_eq(elf_find_section(&file, ".OtherDebug", sizeof(other) + 8), 0);
	cr_expect_eq(elf_find_section(&file, ".NoDebug", sizeof(other)), 0);
}
