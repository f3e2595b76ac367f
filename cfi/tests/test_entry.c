// SPDX-License-Identifier: Apache-2.0
/*
 * CIEs and FDEs, sections written out as bytes, as DWARF 5 §6.4 and the LSB's .eh_frame define
 * them.
 */
#include <criterion/criterion.h>
#include <dwarf.h>
#include <errno.h>

#include "cfi/index.h"
#include "cfi/tests/assembler.h"
#include "limits/limits.h"

static struct cfi_index read_index(const struct assembler *a)
{
	struct cfi_section section = assembled(a);
	struct cfi_index index;

	cr_assert(cfi_index_init(&index, &section) == 0);
	return index;
}

static void expect_refusal(const struct cfi_index *index, enum cfi_reason reason, uint64_t offset)
{
	cr_assert(index->n_refusals == 1, "%zu refusals", index->n_refusals);
	cr_assert(index->refusals[0].reason == reason, "%s",
		  cfi_reason_word(index->refusals[0].reason));
	cr_assert(index->refusals[0].offset == offset, "offset %lu, not %lu",
		  index->refusals[0].offset, offset);
}

Test(entry, sorts_fdes_by_address)
{
	struct assembler a = { .size = 0 };
	size_t cie = put_cie(&a);
	struct cfi_index index;

	record_end(&a, fde_begin(&a, cie, 0x3000, 0x10));
	record_end(&a, fde_begin(&a, cie, 0x1000, 0x20));
	record_end(&a, fde_begin(&a, cie, 0x2000, 0x30));
	index = read_index(&a);
	cr_assert(index.n_refusals == 0 && index.n_cies == 1 && index.n_fdes == 3);
	cr_assert(index.fdes[0].start == 0x1000 && index.fdes[0].end == 0x1020);
	cr_assert(index.fdes[1].start == 0x2000 && index.fdes[2].start == 0x3000);
	cfi_index_done(&index);
}

/* Linkers join files, each with a CIE; after sorting by address, FDEs are far from their CIEs. */
Test(entry, finds_the_cie_of_each_fde)
{
	struct assembler a = { .size = 0 };
	size_t cies[9], n = sizeof(cies) / sizeof(*cies);
	struct cfi_index index;

	for (size_t i = 0; i < n; i++)
		cies[i] = put_cie(&a);
	for (size_t i = 0; i < n; i++)
		record_end(&a, fde_begin(&a, cies[i], 0x1000 * (i + 1), 0x10));
	index = read_index(&a);
	cr_assert(index.n_refusals == 0 && index.n_cies == n && index.n_fdes == n);
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(index.cies[index.fdes[i].cie].offset, cies[i], "%zu", i);
	cfi_index_done(&index);
}

/* The linker leaves an FDE without a range for a function that it dropped. */
Test(entry, leaves_empty_fdes_out)
{
	struct assembler a = { .size = 0 };
	size_t cie = put_cie(&a);
	struct cfi_index index;

	record_end(&a, fde_begin(&a, cie, 0x1000, 0));
	index = read_index(&a);
	cr_assert(index.n_fdes == 0 && index.n_refusals == 0);
	cfi_index_done(&index);
}

Test(entry, reads_pc_relative_addresses)
{
	struct assembler a = { .size = 0 };
	size_t cie = cie_begin(&a, "zR", DW_EH_PE_pcrel | DW_EH_PE_sdata4), fde;
	struct cfi_index index;
	uint64_t at;

	put_u8(&a, DW_CFA_def_cfa), put_uleb(&a, 7), put_uleb(&a, 8);
	record_end(&a, cie);
	fde = record_begin(&a);
	put_u32(&a, (uint32_t)(a.size - cie));
	at = 0x10000 + a.size; /* of the field itself; assembled() loads at 0x10000 */
	put_u32(&a, (uint32_t)(0x4000 - at));
	put_u32(&a, 0x55);
	put_uleb(&a, 0);
	record_end(&a, fde);
	index = read_index(&a);
	cr_assert(index.n_fdes == 1 && index.fdes[0].start == 0x4000);
	cr_assert(index.fdes[0].end == 0x4055);
	cfi_index_done(&index);
}

Test(entry, reads_every_size_of_pointer)
{
	static const struct {
		uint8_t encoding;
		uint8_t bytes[8];
		size_t size;
		uint64_t value;
	} cases[] = {
		{ DW_EH_PE_absptr, { 1, 2, 3, 4, 5, 6, 7, 8 }, 8, 0x0807060504030201 },
		{ DW_EH_PE_udata8, { 1, 2, 3, 4, 5, 6, 7, 8 }, 8, 0x0807060504030201 },
		{ DW_EH_PE_sdata8,
		  { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
		  8,
		  UINT64_MAX },
		{ DW_EH_PE_udata4, { 0xff, 0xff, 0xff, 0xff }, 4, UINT32_MAX },
		{ DW_EH_PE_sdata4, { 0xff, 0xff, 0xff, 0xff }, 4, UINT64_MAX },
		{ DW_EH_PE_udata2, { 0xfe, 0xff }, 2, 0xfffe },
		{ DW_EH_PE_sdata2, { 0xfe, 0xff }, 2, (uint64_t)-2 },
		{ DW_EH_PE_uleb128, { 0x80, 0x01 }, 2, 128 },
		{ DW_EH_PE_sleb128, { 0x7f }, 1, UINT64_MAX },
		{ DW_EH_PE_pcrel | DW_EH_PE_udata2, { 0x10, 0x00 }, 2, 0x10010 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cfi_section section = { cases[i].bytes, cases[i].size, 0x10000, false };
		struct cursor c;
		uint64_t value;

		cursor_init(&c, section.data, 0, section.size);
		cr_assert(cfi_read_pointer(&section, &c, cases[i].encoding, &value) == CFI_NONE);
		cr_assert(value == cases[i].value, "case %zu: %lx", i, value);
		cursor_init(&c, section.data, 0, section.size - 1);
		cr_assert(cfi_read_pointer(&section, &c, cases[i].encoding, &value) ==
			  CFI_TRUNCATED);
	}
}

Test(entry, refuses_pointers_it_cannot_follow)
{
	static const uint8_t encodings[] = {
		DW_EH_PE_datarel | DW_EH_PE_sdata4,
		DW_EH_PE_textrel | DW_EH_PE_sdata4,
		DW_EH_PE_funcrel | DW_EH_PE_sdata4,
		DW_EH_PE_indirect | DW_EH_PE_pcrel | DW_EH_PE_sdata4,
		DW_EH_PE_aligned,
		DW_EH_PE_omit,
		0x05,
	};

	for (size_t i = 0; i < sizeof(encodings); i++) {
		static const uint8_t bytes[8] = { 0 };
		struct cfi_section section = { bytes, sizeof(bytes), 0, false };
		struct cursor c;
		uint64_t value;

		cursor_init(&c, bytes, 0, sizeof(bytes));
		cr_assert(cfi_read_pointer(&section, &c, encodings[i], &value) == CFI_BAD_ENCODING,
			  "encoding %02x", encodings[i]);
	}
}

/* "zPLR": the personality pointer is skipped by its size, which is not that of the FDEs'. */
Test(entry, reads_augmentation_in_its_order)
{
	struct assembler a = { .size = 0 };
	size_t cie = record_begin(&a), fde;
	struct cfi_index index;

	put_u32(&a, 0);
	put_u8(&a, 1);
	put_string(&a, "zPLR");
	put_uleb(&a, 1), put_sleb(&a, -8), put_u8(&a, 16);
	put_uleb(&a, 7);
	put_u8(&a, DW_EH_PE_indirect | DW_EH_PE_pcrel | DW_EH_PE_sdata4);
	put_u32(&a, 0x1234);
	put_u8(&a, DW_EH_PE_pcrel | DW_EH_PE_sdata4);
	put_u8(&a, DW_EH_PE_udata4);
	put_u8(&a, DW_CFA_def_cfa), put_uleb(&a, 7), put_uleb(&a, 8);
	record_end(&a, cie);
	fde = record_begin(&a);
	put_u32(&a, (uint32_t)(a.size - cie));
	put_u32(&a, 0x7000), put_u32(&a, 0x10);
	put_uleb(&a, 4), put_u32(&a, 0xdeadbeef); /* LSDA */
	put_u8(&a, DW_CFA_def_cfa_offset), put_uleb(&a, 32);
	record_end(&a, fde);
	index = read_index(&a);
	cr_assert(index.n_refusals == 0 && index.n_fdes == 1);
	cr_assert(index.fdes[0].start == 0x7000 && !index.cies[0].signal);
	cr_assert(a.bytes[index.fdes[0].ops] == DW_CFA_def_cfa_offset);
	cfi_index_done(&index);
}

/* An FDE as compilers write it, whose augmentation data is longer than a byte can say, or is padded. */
Test(entry, reads_long_augmentation_data)
{
	static const struct {
		uint8_t bytes[2], n;
		uint32_t length;
	} sizes[] = {
		{ { 0 }, 1, 0 },
		{ { 0x7f }, 1, 0x7f },
		{ { 0x80, 0x00 }, 2, 0 },
		{ { 0x80, 0x01 }, 2, 0x80 },
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct assembler a = { .size = 0 };
		size_t cie = cie_begin(&a, "zR", DW_EH_PE_pcrel | DW_EH_PE_sdata4), fde;
		struct cfi_index index;

		record_end(&a, cie);
		fde = record_begin(&a);
		put_u32(&a, (uint32_t)(a.size - cie));
		put_u32(&a, 0x1000), put_u32(&a, 0x20);
		put_bytes(&a, sizes[i].bytes, sizes[i].n);
		for (uint32_t n = 0; n < sizes[i].length; n++)
			put_u8(&a, 0xff);
		put_u8(&a, DW_CFA_def_cfa_offset), put_uleb(&a, 32);
		record_end(&a, fde);
		index = read_index(&a);
		cr_assert(index.n_refusals == 0 && index.n_fdes == 1, "%zu", i);
		cr_assert_eq(a.bytes[index.fdes[0].ops], DW_CFA_def_cfa_offset, "%zu", i);
		cfi_index_done(&index);
	}
}

Test(entry, knows_signal_frames)
{
	struct assembler a = { .size = 0 };
	size_t cie = record_begin(&a);
	struct cfi_index index;

	put_u32(&a, 0), put_u8(&a, 1), put_string(&a, "zRS");
	put_uleb(&a, 1), put_sleb(&a, -8), put_u8(&a, 16);
	put_uleb(&a, 1), put_u8(&a, DW_EH_PE_absptr);
	record_end(&a, cie);
	index = read_index(&a);
	cr_assert(index.n_cies == 1 && index.cies[0].signal);
	cfi_index_done(&index);
}

/* The initial instructions are evaluated: `as` folds the first rows of some functions into them. */
Test(entry, evaluates_initial_instructions)
{
	struct assembler a = { .size = 0 };
	size_t cie = cie_begin(&a, "zR", DW_EH_PE_absptr);
	struct cfi_index index;

	put_u8(&a, DW_CFA_def_cfa), put_uleb(&a, 7), put_uleb(&a, 48);
	put_u8(&a, DW_CFA_offset | 6), put_uleb(&a, 2);
	record_end(&a, cie);
	index = read_index(&a);
	cr_assert(index.n_cies == 1);
	cr_assert(index.cies[0].initial.cfa.offset == 48);
	cr_assert(index.cies[0].initial.regs[CFI_RBP].kind == CFI_RULE_OFFSET);
	cr_assert(index.cies[0].initial.regs[CFI_RBP].offset == -16);
	cfi_index_done(&index);
}

/* LSB: a length of 0xffffffff announces 64 bits; the CIE pointer stays 4 bytes wide. */
Test(entry, reads_64_bit_lengths)
{
	struct assembler a = { .size = 0 };
	size_t cie = put_cie(&a);
	struct cfi_index index;
	size_t length_at, from;
	uint64_t length;

	put_u32(&a, UINT32_MAX);
	length_at = a.size;
	put_u64(&a, 0);
	from = a.size;
	put_u32(&a, (uint32_t)(a.size - cie));
	put_u64(&a, 0x9000), put_u64(&a, 0x10), put_uleb(&a, 0);
	length = a.size - from;
	memcpy(a.bytes + length_at, &length, sizeof(length));
	index = read_index(&a);
	cr_assert(index.n_refusals == 0 && index.n_fdes == 1);
	cr_assert(index.fdes[0].start == 0x9000);
	cfi_index_done(&index);
}

/* In .debug_frame the id of a CIE is all ones, an FDE's an offset, and it may come first. */
Test(entry, reads_debug_frame)
{
	struct assembler a = { .size = 0 };
	struct cfi_section section;
	struct cfi_index index;
	size_t fde = record_begin(&a), cie, id_at = a.size;
	uint32_t offset;

	put_u32(&a, 0);
	put_u64(&a, 0x1000), put_u64(&a, 0x10);
	record_end(&a, fde);
	cie = record_begin(&a);
	put_u32(&a, UINT32_MAX), put_u8(&a, 4), put_string(&a, "");
	put_u8(&a, 8), put_u8(&a, 0); /* address and segment size */
	put_uleb(&a, 1), put_sleb(&a, -8), put_uleb(&a, 16);
	put_u8(&a, DW_CFA_def_cfa), put_uleb(&a, 7), put_uleb(&a, 8);
	record_end(&a, cie);
	offset = (uint32_t)cie;
	memcpy(a.bytes + id_at, &offset, sizeof(offset));

	section = assembled(&a);
	section.debug_frame = true;
	cr_assert(cfi_index_init(&index, &section) == 0);
	cr_assert(index.n_refusals == 0 && index.n_cies == 1 && index.n_fdes == 1);
	cfi_index_done(&index);
}

/* What follows a zero length is still read: linkers can leave one in the middle. */
Test(entry, goes_on_behind_a_terminator)
{
	struct assembler a = { .size = 0 };
	size_t cie = put_cie(&a);
	struct cfi_index index;

	put_u32(&a, 0), put_u32(&a, 0);
	record_end(&a, fde_begin(&a, cie, 0x1000, 0x10));
	index = read_index(&a);
	cr_assert(index.n_fdes == 1 && index.n_refusals == 0);
	cfi_index_done(&index);
}

Test(entry, names_an_unknown_version)
{
	struct assembler a = { .size = 0 };
	size_t cie = put_cie(&a);
	struct cfi_index index;

	a.bytes[cie + 8] = 2;
	index = read_index(&a);
	expect_refusal(&index, CFI_BAD_CIE_VERSION, cie + 8);
	cfi_index_done(&index);
}

Test(entry, names_an_unknown_augmentation)
{
	struct assembler a = { .size = 0 };
	size_t cie = cie_begin(&a, "zX", 0);
	struct cfi_index index;

	record_end(&a, cie);
	index = read_index(&a);
	cr_assert(index.n_refusals == 1 && index.refusals[0].reason == CFI_BAD_AUGMENTATION);
	cfi_index_done(&index);
}

/* The next record is read although one cannot be used. */
Test(entry, names_an_fde_without_a_cie_and_goes_on)
{
	struct assembler a = { .size = 0 };
	size_t cie = put_cie(&a), bad;
	struct cfi_index index;

	bad = fde_begin(&a, cie + 4, 0x1000, 0x10);
	record_end(&a, bad);
	record_end(&a, fde_begin(&a, cie, 0x2000, 0x10));
	index = read_index(&a);
	expect_refusal(&index, CFI_NO_CIE, bad + 4);
	cr_assert(index.n_fdes == 1 && index.fdes[0].start == 0x2000);
	cfi_index_done(&index);
}

/* With two bytes, which is too short for an id. */
Test(entry, names_a_record_without_an_id_and_goes_on)
{
	struct assembler a = { .size = 0 };
	size_t cie = put_cie(&a), bad = a.size;
	struct cfi_section section;
	struct cfi_index index;

	put_u32(&a, 2), put_u16(&a, 0);
	record_end(&a, fde_begin(&a, cie, 0x2000, 0x10));
	section = assembled(&a);
	cr_assert(cfi_index_init(&index, &section) == 0);
	expect_refusal(&index, CFI_TRUNCATED, bad);
	cr_assert(index.n_fdes == 1 && index.fdes[0].start == 0x2000);
	cfi_index_done(&index);
	/* Of the two passes over .debug_frame, one says so. */
	section.debug_frame = true;
	section.data += bad;
	section.size = 6;
	cr_assert(cfi_index_init(&index, &section) == 0);
	expect_refusal(&index, CFI_TRUNCATED, 0);
	cfi_index_done(&index);
}

Test(entry, names_a_range_that_wraps_around)
{
	struct assembler a = { .size = 0 };
	size_t cie = put_cie(&a);
	struct cfi_index index;

	record_end(&a, fde_begin(&a, cie, UINT64_MAX - 4, 0x10));
	index = read_index(&a);
	cr_assert(index.n_refusals == 1 && index.refusals[0].reason == CFI_BAD_RANGE);
	cfi_index_done(&index);
}

Test(entry, names_a_length_beyond_the_section)
{
	struct assembler a = { .size = 0 };
	struct cfi_index index;
	size_t at;

	put_cie(&a);
	at = a.size;
	put_u32(&a, 100);
	put_u32(&a, 0);
	index = read_index(&a);
	expect_refusal(&index, CFI_TRUNCATED, at);
	cr_assert(index.n_cies == 1);
	cfi_index_done(&index);
}

Test(entry, names_a_reserved_length)
{
	struct assembler a = { .size = 0 };
	struct cfi_index index;

	put_u32(&a, 0xfffffff0);
	put_u32(&a, 0);
	index = read_index(&a);
	expect_refusal(&index, CFI_BAD_LENGTH, 0);
	cfi_index_done(&index);
}

/* Cut off anywhere, a section is read without touching what lies behind it. */
Test(entry, survives_every_truncation)
{
	struct assembler a = { .size = 0 };
	size_t cie = put_cie(&a);
	struct cfi_section section;

	record_end(&a, fde_begin(&a, cie, 0x1000, 0x10));
	record_end(&a, fde_begin(&a, cie, 0x2000, 0x10));
	section = assembled(&a);
	for (size_t size = 0; size <= a.size; size++) {
		struct cfi_index index;
		uint8_t *exact = malloc(size ? size : 1);

		memcpy(exact, a.bytes, size);
		section.data = exact;
		section.size = size;
		cr_assert(cfi_index_init(&index, &section) == 0);
		cr_assert(index.n_fdes <= 2);
		cfi_index_done(&index);
		free(exact);
	}
}

/* Places in it are kept in 32 bits. */
Test(entry, refuses_a_section_that_is_too_large)
{
	struct cfi_section section = { .size = (uint64_t)UINT32_MAX + 1 };
	struct cfi_index index;

	cr_assert_eq(cfi_index_init(&index, &section), -EFBIG);
}

/* What is kept of a CIE is many times its size in the section. */
Test(entry, refuses_too_many_cies)
{
	struct assembler a = { 0 };
	struct cfi_section section;
	struct cfi_index index;
	uint8_t *bytes;
	size_t size;

	put_cie(&a);
	size = a.size;
	bytes = malloc((CFI_CIES_MAX + 1) * size);
	for (size_t i = 0; i <= CFI_CIES_MAX; i++)
		memcpy(bytes + i * size, a.bytes, size);
	section = assembled(&a);
	section.data = bytes;
	section.size = CFI_CIES_MAX * size;
	cr_assert_eq(cfi_index_init(&index, &section), 0);
	cr_assert_eq(index.n_cies, CFI_CIES_MAX);
	cfi_index_done(&index);
	section.size += size;
	cr_assert_eq(cfi_index_init(&index, &section), -EFBIG);
	free(bytes);
}

Test(entry, reads_a_section_that_is_not_there)
{
	struct cfi_section section = { 0 };
	struct cfi_index index;

	cr_assert(cfi_index_init(&index, &section) == 0);
	cr_assert(index.n_cies == 0 && index.n_fdes == 0 && index.n_refusals == 0);
	cfi_index_done(&index);
}

static uint64_t measure(const struct assembler *a, size_t size)
{
	struct cfi_section section = assembled(a);

	section.size = size;
	return cfi_section_measure(&section);
}

/* Found without its size, .eh_frame has other things behind it. */
Test(entry, measures_a_section_to_what_ends_it)
{
	struct assembler a = { .size = 0 };
	size_t cie = put_cie(&a), end, fde;

	cr_assert(measure(&a, 0) == 0 && measure(&a, 3) == 0 && measure(&a, a.size) == a.size);
	record_end(&a, fde_begin(&a, cie, 0x1000, 0x10));
	end = a.size;
	cr_assert(measure(&a, end) == end && measure(&a, end - 1) < end);
	/* the zero that ends it, and behind it what could be a record */
	put_u32(&a, 0);
	cr_assert(measure(&a, a.size) == end);
	record_end(&a, fde_begin(&a, cie, 0x2000, 0x10));
	cr_assert(measure(&a, a.size) == end);
	/* a length that is too long */
	a.size = end;
	put_u32(&a, 0x1000), put_u32(&a, 0);
	cr_assert(measure(&a, a.size) == end);
	/* an FDE without a CIE, a CIE that cannot be read, and good ones behind them */
	a.size = end;
	fde = a.size;
	record_end(&a, fde_begin(&a, cie + 4, 0x2000, 0x10));
	cr_assert(a.size > fde && measure(&a, a.size) == end);
	a.size = end;
	put_u32(&a, 8), put_u32(&a, 0), put_u32(&a, 0x99999999);
	record_end(&a, fde_begin(&a, cie, 0x2000, 0x10));
	cr_assert(measure(&a, a.size) == end);
	/* nothing of it: the same records are all read */
	a.size = end;
	record_end(&a, fde_begin(&a, cie, 0x2000, 0x10));
	cr_assert(measure(&a, a.size) == a.size);
}

Test(entry, sees_whether_there_are_fdes)
{
	struct assembler a = { .size = 0 };
	struct cfi_section section = { 0 };
	size_t cie;

	cr_assert(!cfi_section_has_fdes(&section));
	cie = put_cie(&a);
	put_u32(&a, 0);
	section = assembled(&a);
	cr_assert(!cfi_section_has_fdes(&section));
	record_end(&a, fde_begin(&a, cie, 0x1000, 0x10));
	section = assembled(&a);
	cr_assert(cfi_section_has_fdes(&section));
}
