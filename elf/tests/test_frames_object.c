// SPDX-License-Identifier: Apache-2.0
/* Unwind information of generated code: copies of registered sections, and several joined to one. */
#include "elf/frames_object.h"

#include <criterion/criterion.h>
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cfi/machine.h"
#include "cfi/tests/assembler.h"
#include "elf/elf_file.h"
#include "elf/frames_join.h"
#include "limits/limits.h"

#define CODE 0x7f0000001000
#define FRAMES 0x550000080000

static uint8_t *program;
static size_t program_size;
static struct elf_file file;

static void open_program(void)
{
	cr_assert_eq(elf_file_init_memory(&file, program, program_size), 0);
}

static void close_program(void)
{
	elf_file_done(&file);
	free(program);
}

/* The section, behind its place. */
static int link_it(const struct assembler *a, uint64_t magic)
{
	struct frames_copy copy = { magic, FRAMES };
	uint8_t bytes[sizeof(copy) + ASSEMBLER_SIZE];

	memcpy(bytes, &copy, sizeof(copy));
	memcpy(bytes + sizeof(copy), a->bytes, a->size);
	return frames_object_link(bytes, sizeof(copy) + a->size, &program, &program_size);
}

static void put_fde(struct assembler *a, size_t cie, uint64_t start, uint64_t size)
{
	record_end(a, fde_begin(a, cie, start, size));
}

Test(frames_object, code_is_where_the_records_say)
{
	struct assembler a = { .size = 0 };
	size_t cie = put_cie(&a);

	put_fde(&a, cie, CODE + 0x10000, 0x20);
	put_fde(&a, cie, CODE, 0x10);
	put_fde(&a, cie, CODE + 0x20, 0x10);
	put_u32(&a, 0);
	cr_assert_eq(link_it(&a, FRAMES_COPY_MAGIC), 0);
	open_program();
	cr_assert_eq(file.n_segments, 2);
	cr_expect_eq(file.segments[0].address, CODE);
	cr_expect_eq(file.segments[0].memory_size, 0x30);
	cr_expect_eq(file.segments[0].file_size, 0);
	cr_expect(file.segments[0].executable);
	cr_expect_eq(file.segments[1].address, CODE + 0x10000);
	cr_expect_eq(file.segments[1].memory_size, 0x20);
	cr_expect_eq(file.cfi.address, FRAMES);
	cr_assert_eq(file.cfi.size, a.size);
	cr_expect_eq(memcmp(file.cfi.data, a.bytes, a.size), 0);
	close_program();
}

Test(frames_object, what_is_none_is_refused)
{
	struct assembler a = { .size = 0 };
	size_t cie = put_cie(&a);

	cr_expect_eq(link_it(&a, FRAMES_COPY_MAGIC), -ENODATA);
	put_fde(&a, cie, CODE, 0x10);
	cr_expect_eq(link_it(&a, 0), -EBADMSG);
	cr_expect_eq(frames_object_link(a.bytes, sizeof(struct frames_copy) - 1, &program,
					&program_size),
		     -EBADMSG);
	put_fde(&a, cie, CODE + 0x100000000, 0x10);
	cr_expect_eq(link_it(&a, FRAMES_COPY_MAGIC), -EFBIG);
}

/* A mapping for each would be too many. */
Test(frames_object, many_ranges_are_joined)
{
	struct frames_code code[10 * FRAMES_MAX_CODE];
	const struct cfi_section section = { .data = (const uint8_t *)"", .size = 1 };
	size_t n = sizeof(code) / sizeof(*code);

	for (size_t i = 0; i < n; i++)
		code[i] = (struct frames_code){ CODE + i * 0x10000, CODE + i * 0x10000 + 16 };
	cr_assert_eq(frames_object_make(&section, code, n, &program, &program_size), 0);
	open_program();
	cr_expect_leq(file.n_segments, FRAMES_MAX_CODE);
	cr_expect_eq(file.segments[0].address, CODE);
	close_program();
	code[0].end = CODE + 0x10000 - 4096;
	code[2].start = code[1].end + 4097;
	cr_assert_eq(frames_object_make(&section, code, 3, &program, &program_size), 0);
	open_program();
	cr_expect_eq(file.n_segments, 2);
	cr_expect_eq(file.segments[0].memory_size, 0x10010);
	close_program();
}

/* Of a function of 16 bytes: rsp+8, and from its byte 1 on rsp+16. */
static struct assembler make_section(uint8_t encoding, uint64_t start, uint64_t address)
{
	struct assembler a = { .size = 0 };
	size_t cie = cie_begin(&a, "zR", encoding), fde;

	put_u8(&a, DW_CFA_def_cfa), put_uleb(&a, 7), put_uleb(&a, 8);
	put_u8(&a, DW_CFA_offset | 16), put_uleb(&a, 1);
	record_end(&a, cie);
	fde = record_begin(&a);
	put_u32(&a, (uint32_t)(a.size - cie));
	put_u32(&a, (uint32_t)(start - (address + a.size)));
	put_u32(&a, 16);
	put_uleb(&a, 0);
	put_u8(&a, DW_CFA_advance_loc | 1), put_u8(&a, DW_CFA_def_cfa_offset), put_uleb(&a, 16);
	record_end(&a, fde);
	return a;
}

static uint8_t *copy(const struct assembler *a)
{
	uint8_t *bytes = malloc(a->size);

	cr_assert(bytes);
	return memcpy(bytes, a->bytes, a->size);
}

static void expect_rows(const struct cfi_index *index, size_t i, uint64_t start)
{
	const struct cfi_fde *fde = &index->fdes[i];
	struct cfi_machine m;
	struct cfi_span span;

	cr_expect_eq(fde->start, start);
	cr_expect_eq(fde->end, start + 16);
	cfi_machine_init(&m, &file.cfi, &index->cies[fde->cie], fde);
	cr_assert_eq(cfi_machine_next(&m, &span), CFI_STEP_ROW);
	cr_expect_eq(span.end, start + 1);
	cr_expect_eq(m.row.cfa.offset, 8);
	cr_assert_eq(cfi_machine_next(&m, &span), CFI_STEP_ROW);
	cr_expect_eq(span.end, start + 16);
	cr_expect_eq(m.row.cfa.offset, 16);
	cr_expect_eq(cfi_machine_next(&m, &span), CFI_STEP_END);
}

/* Whether its addresses are distances to somewhere near or far. */
Test(frames_join, each_section_keeps_its_meaning)
{
	const uint8_t encoding = DW_EH_PE_pcrel | DW_EH_PE_sdata4;
	struct assembler near = make_section(encoding, CODE, CODE + 16),
			 far = make_section(encoding, CODE + 0x4000, CODE + 0x40000000);
	struct frames_join join = { 0 };
	struct cfi_index index;

	cr_assert_eq(frames_join_take(&join, 1, CODE + 16, copy(&near), near.size), 0);
	cr_expect(frames_join_has(&join, 1, CODE + 16));
	cr_expect_not(frames_join_has(&join, 1, CODE + 32));
	cr_assert_eq(frames_join_add(&join, CODE, CODE + 16), 0);
	cr_assert_eq(frames_join_take(&join, 2, CODE + 0x40000000, copy(&far), far.size), 0);
	/* What has other code, and what is cut off, does not count. */
	cr_assert_eq(frames_join_add(&join, CODE + 0x3000, CODE + 0x3010), 0);
	cr_assert_eq(frames_join_add(&join, CODE + 0x4000, CODE + 0x400f), 0);
	cr_assert_eq(join.n, 1);
	cr_assert_eq(frames_join_add(&join, CODE + 0x4000, CODE + 0x4010), 0);
	cr_assert_eq(frames_join_end(&join, &program, &program_size), 0);
	frames_join_done(&join);
	open_program();
	cr_assert_eq(cfi_index_init(&index, &file.cfi), 0);
	cr_expect_eq(index.n_cies, 1, "equal ones are one");
	cr_assert_eq(index.n_fdes, 2);
	expect_rows(&index, 0, CODE);
	expect_rows(&index, 1, CODE + 0x4000);
	cr_expect_eq(file.n_segments, 2);
	cfi_index_done(&index);
	close_program();
}

Test(frames_join, different_cies_stay_apart)
{
	struct assembler a = { .size = 0 };
	struct frames_join join = { 0 };
	struct cfi_index index;
	size_t cie = put_cie(&a);

	put_fde(&a, cie, CODE, 16);
	cie = cie_begin(&a, "zRS", 0);
	put_u8(&a, DW_CFA_def_cfa), put_uleb(&a, 7), put_uleb(&a, 8);
	put_u8(&a, DW_CFA_offset | 16), put_uleb(&a, 1);
	record_end(&a, cie);
	put_fde(&a, cie, CODE + 16, 16);
	cr_assert_eq(frames_join_take(&join, 1, FRAMES, copy(&a), a.size), 0);
	cr_assert_eq(frames_join_add(&join, CODE, CODE + 32), 0);
	cr_assert_eq(frames_join_end(&join, &program, &program_size), 0);
	frames_join_done(&join);
	open_program();
	cr_assert_eq(cfi_index_init(&index, &file.cfi), 0);
	cr_assert_eq(index.n_cies, 2);
	cr_assert_eq(index.n_fdes, 2);
	cr_expect_not(index.cies[index.fdes[0].cie].signal);
	cr_expect(index.cies[index.fdes[1].cie].signal);
	cr_expect_eq(index.cies[0].data_factor, -8);
	cfi_index_done(&index);
	close_program();
}

Test(frames_join, too_much_ends)
{
	struct assembler a = { .size = 0 };
	struct frames_join join = { 0 };
	size_t cie = put_cie(&a);

	for (int i = 0; i < 100; i++)
		put_fde(&a, cie, CODE + 16 * (uint64_t)i, 16);
	cr_assert_eq(frames_join_take(&join, 1, FRAMES, copy(&a), a.size), 0);
	for (int i = 0; i < 2000; i++)
		cr_assert_eq(frames_join_add(&join, CODE, CODE + 1600), 0);
	cr_expect_leq(join.size, FRAMES_JOINED_MAX);
	cr_expect_gt(join.size, FRAMES_JOINED_MAX - 256);
	frames_join_done(&join);
}
