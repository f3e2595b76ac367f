// SPDX-License-Identifier: Apache-2.0
/* Images: the rule found at every address of a table is that of the row or gap it was made of. */
#include <criterion/criterion.h>
#include <dwarf.h>
#include <errno.h>

#define ASSEMBLER_SIZE (40 << 20)
#include "base/array.h"
#include "bpf/lookup.h"
#include "cfi/tests/assembler.h"
#include "tables/decode.h"
#include "tables/image.h"
#include "tables/rule_set.h"

static const struct image_input everywhere = { 0, UINT64_MAX, 0 };

/* Each test runs in a process of its own, and finds it empty. */
static struct assembler a;

/*
 * A pool with a process that has one image mapped: the snapshot in the first
 * segment, the image from the second one on.
 */
#define N_SEGMENTS 10
#define SPACE_CELL 4U
#define BIAS UINT64_C(0x7f0000000000)

struct walk {
	struct port_world world;
};

struct pool_fixture {
	struct port_user port;
	struct walk walk;
	uint8_t *segments[N_SEGMENTS];
};

static struct pool_fixture pool;

static void load(const struct image *image)
{
	struct dp_snapshot snapshot = { .id = 1, .pid = 1, .n_mappings = 1 };
	struct dp_mapping mapping = {
		.start = BIAS,
		.end = BIAS + (UINT64_C(1) << 40),
		.bias = BIAS,
		.image = DP_SEGMENT_CELLS,
	};

	pool = (struct pool_fixture){ .port.n_segments = N_SEGMENTS };
	pool.port.segments = pool.segments;
	pool.walk.world.user = &pool.port;
	for (uint32_t i = 0; i < N_SEGMENTS; i++)
		pool.segments[i] = calloc(1, DP_SEGMENT_SIZE + DP_SEGMENT_SLACK);
	for (uint32_t i = 0; i < image->n_cells; i++)
		memcpy(pool.segments[1 + i / DP_SEGMENT_CELLS] +
			       i % DP_SEGMENT_CELLS * DP_CELL_SIZE,
		       image->cells + i, DP_CELL_SIZE);
	memcpy(pool.segments[0] + SPACE_CELL * DP_CELL_SIZE, &snapshot, sizeof(snapshot));
	memcpy(pool.segments[0] + SPACE_CELL * DP_CELL_SIZE + sizeof(snapshot), &mapping,
	       sizeof(mapping));
}

static void unload(void)
{
	for (int i = 0; i < N_SEGMENTS; i++)
		free(pool.segments[i]);
}

static struct dp_rule look_up(uint64_t address)
{
	struct dp_rule rule;

	lookup_snapshot(&pool.walk, SPACE_CELL, 0, BIAS + address, &rule);
	return rule;
}

static void put_row(uint32_t advance, uint64_t cfa_offset)
{
	put_u8(&a, DW_CFA_advance_loc4), put_u32(&a, advance);
	put_u8(&a, DW_CFA_def_cfa_offset), put_uleb(&a, cfa_offset);
}

static struct image build(void)
{
	struct cfi_section section = assembled(&a);
	struct image image;

	cr_assert(image_build(&section, &everywhere, &image) == 0);
	return image;
}

Test(image, finds_every_row_of_a_function)
{
	size_t cie = put_cie(&a), fde = fde_begin(&a, cie, 0x1000, 0x40);
	struct image image;

	put_row(1, 16);
	put_row(4, 48);
	put_row(0x20, 8);
	record_end(&a, fde);
	image = build();
	load(&image);
	for (uint64_t pc = 0xff0; pc < 0x1060; pc++) {
		struct dp_rule rule = look_up(pc);

		if (pc < 0x1000 || pc >= 0x1040) {
			cr_assert(rule.cfa == DP_CFA_NONE && rule.why == DP_NO_RULE, "%lx", pc);
			continue;
		}
		cr_assert(rule.cfa == DP_CFA_REGISTER, "%lx", pc);
		cr_assert(rule.cfa_offset == (pc < 0x1001 ? 8 :
					      pc < 0x1005 ? 16 :
					      pc < 0x1025 ? 48 :
							    8),
			  "%lx: %d", pc, rule.cfa_offset);
	}
	unload();
	image_done(&image);
}

/* A gap of one byte between two functions belongs to neither. */
Test(image, lets_no_neighbour_answer_for_a_gap)
{
	size_t cie = put_cie(&a);
	struct image image;

	record_end(&a, fde_begin(&a, cie, 0x1000, 0x0f));
	record_end(&a, fde_begin(&a, cie, 0x1010, 0x10));
	image = build();
	load(&image);
	cr_assert(look_up(0x100e).cfa == DP_CFA_REGISTER);
	cr_assert(look_up(0x100f).cfa == DP_CFA_NONE);
	cr_assert(look_up(0x1010).cfa == DP_CFA_REGISTER);
	cr_assert(image.stats.n_rows == 4 && image.stats.covered == 0x1f);
	unload();
	image_done(&image);
}

/* The row in force at the start of a page is found there, however far back it began. */
Test(image, carries_rows_across_pages)
{
	const uint64_t page = UINT64_C(2) * DP_PAGE_SIZE;
	size_t cie = put_cie(&a), fde = fde_begin(&a, cie, page - 0x10, 10 * DP_PAGE_SIZE);
	struct image image;

	put_row(0x10, 16);             /* exactly at a page's start */
	put_row(3 * DP_PAGE_SIZE, 24); /* three pages on, again at the start */
	put_row(2 * DP_PAGE_SIZE + 5, 32);
	record_end(&a, fde);
	image = build();
	load(&image);
	cr_assert(look_up(page - 1).cfa_offset == 8);
	cr_assert(look_up(page).cfa_offset == 16);
	cr_assert(look_up(page + DP_PAGE_SIZE).cfa_offset == 16);
	cr_assert(look_up(page + 3 * DP_PAGE_SIZE - 1).cfa_offset == 16);
	cr_assert(look_up(page + 3 * DP_PAGE_SIZE).cfa_offset == 24);
	cr_assert(look_up(page + 5 * DP_PAGE_SIZE + 4).cfa_offset == 24);
	cr_assert(look_up(page + 5 * DP_PAGE_SIZE + 5).cfa_offset == 32);
	cr_assert(look_up(page - 0x10 + 10 * DP_PAGE_SIZE - 1).cfa_offset == 32);
	cr_assert(look_up(page - 0x10 + 10 * DP_PAGE_SIZE).cfa == DP_CFA_NONE);
	unload();
	image_done(&image);
}

/* A function's end and the next one's start by alignment are one delta: both are still found. */
Test(image, finds_what_padding_separates)
{
	size_t cie = put_cie(&a);
	struct image image;

	for (uint64_t i = 0; i < 3 * DP_PAGE_SIZE / 0x20; i++) {
		size_t fde = fde_begin(&a, cie, 0x10000 + i * 0x20, 0x11 + i % 14);

		put_row(1, 16);
		record_end(&a, fde);
	}
	image = build();
	load(&image);
	for (uint64_t i = 0; i < 3 * DP_PAGE_SIZE / 0x20; i++) {
		uint64_t start = 0x10000 + i * 0x20, end = start + 0x11 + i % 14;

		cr_assert(look_up(start).cfa_offset == 8);
		cr_assert(look_up(start + 1).cfa_offset == 16);
		cr_assert(look_up(end - 1).cfa_offset == 16);
		cr_assert(look_up(end).cfa == DP_CFA_NONE);
		cr_assert(look_up(start + 0x1f).cfa == DP_CFA_NONE);
	}
	cr_assert(image.n_cells * DP_CELL_SIZE < 3 * image.stats.n_rows, "%u", image.n_cells);
	unload();
	image_done(&image);
}

/* libgcc searches for the last FDE that starts at or before an address. */
Test(image, lets_the_later_of_overlapping_fdes_hold)
{
	size_t cie = put_cie(&a), fde;
	struct image image;

	record_end(&a, fde_begin(&a, cie, 0x1000, 0x100));
	fde = fde_begin(&a, cie, 0x1040, 0x20);
	put_u8(&a, DW_CFA_def_cfa_offset), put_uleb(&a, 64);
	record_end(&a, fde);
	image = build();
	load(&image);
	cr_assert(look_up(0x103f).cfa_offset == 8);
	cr_assert(look_up(0x1040).cfa_offset == 64);
	cr_assert(look_up(0x1060).cfa == DP_CFA_NONE);
	unload();
	image_done(&image);
}

/* Refused instructions become a row; the rows before them stay. */
Test(image, gives_refused_instructions_a_row)
{
	size_t cie = put_cie(&a), fde = fde_begin(&a, cie, 0x1000, 0x20);
	struct image image;

	put_u8(&a, DW_CFA_advance_loc | 8);
	put_u8(&a, 0x3c);
	record_end(&a, fde);
	image = build();
	load(&image);
	cr_assert(look_up(0x1007).cfa == DP_CFA_REGISTER);
	cr_assert(look_up(0x1008).cfa == DP_CFA_NONE);
	cr_assert(look_up(0x1008).why == DP_UNSUPPORTED_RULE);
	cr_assert(look_up(0x1020).why == DP_NO_RULE);
	cr_assert(image.stats.refused[RULE_CFI].rows == 1);
	cr_assert(image.stats.refused[RULE_CFI].bytes == 0x18);
	cr_assert(image.n_refusals == 1 && image.refusals[0].why == RULE_CFI);
	cr_assert(image.refusals[0].start == 0x1008 && image.refusals[0].end == 0x1020);
	cr_assert(image.refusals[0].cfi.reason == CFI_UNKNOWN_OPCODE);
	cr_assert(a.bytes[image.refusals[0].cfi.offset] == 0x3c);
	unload();
	image_done(&image);
}

/* ld.so's entry has no unwind information, yet it is known to be the root. */
Test(image, ends_stacks_at_the_entry)
{
	/* before, inside and behind the code that has unwind information */
	static const uint64_t entries[] = { 0x1f10, 0x2008, 0x2108 };
	size_t cie = put_cie(&a);
	struct cfi_section section;

	record_end(&a, fde_begin(&a, cie, 0x2000, 0x10));
	section = assembled(&a);
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		uint64_t entry = entries[i];
		struct image_input input = { 0x1000, 0x4000, entry };
		bool is_root = entry != 0x2008;
		struct image image;

		cr_assert(image_build(&section, &input, &image) == 0);
		load(&image);
		cr_assert((look_up(entry).ra.kind == DP_WHERE_UNDEFINED) == is_root);
		cr_assert((look_up(entry + 7).ra.kind == DP_WHERE_UNDEFINED) == is_root);
		cr_assert(look_up(entry - 1).ra.kind != DP_WHERE_UNDEFINED);
		cr_assert(look_up(entry + 64).cfa == DP_CFA_NONE);
		cr_assert(look_up(0x200f).ra.kind == DP_WHERE_CFA);
		unload();
		image_done(&image);
	}
}

/* Without unwind information: .init before all that has some, and a trampoline in a gap. */
static const uint8_t init_bytes[] = { 0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08, 0xc3 };
static const uint8_t text_bytes[] = { 0x90, 0x90, 0x90, 0x90, 0x48, 0xc7, 0xc0, 0x0f,
				      0,    0,    0,    0x0f, 0x05, 0x90, 0x90, 0x90 };
static const struct code_range ranges[] = {
	{ 0x1000, sizeof(init_bytes), init_bytes },
	{ 0x2000, sizeof(text_bytes), text_bytes },
};
static const struct image_input known_extent = { 0x1000, 0x3000, 0, ranges, 2 };

Test(image, fills_gaps_with_known_code)
{
	size_t cie = put_cie(&a);
	struct cfi_section section;
	struct image image;

	record_end(&a, fde_begin(&a, cie, 0x2000, 2));
	record_end(&a, fde_begin(&a, cie, 0x200e, 2));
	section = assembled(&a);
	cr_assert(image_build(&section, &known_extent, &image) == 0);
	load(&image);
	cr_assert(look_up(0xfff).cfa == DP_CFA_NONE);
	cr_assert(look_up(0x1003).cfa_offset == 8 && look_up(0x1004).cfa_offset == 16);
	cr_assert(look_up(0x1008).cfa_offset == 8 && look_up(0x1009).cfa == DP_CFA_NONE);
	cr_assert(look_up(0x2001).cfa_offset == 8 && look_up(0x2002).cfa == DP_CFA_NONE);
	cr_assert(look_up(0x2003).cfa == DP_CFA_SIGNAL && look_up(0x200c).cfa == DP_CFA_SIGNAL);
	cr_assert(look_up(0x200d).cfa == DP_CFA_NONE && look_up(0x200e).cfa_offset == 8);
	cr_assert(image.stats.covered == sizeof(init_bytes) + 10 + 4);
	unload();
	image_done(&image);
}

Test(image, leaves_code_with_unwind_information_alone)
{
	size_t cie = put_cie(&a), fde = fde_begin(&a, cie, 0x1000, 0x2000);
	struct cfi_section section;
	struct image image;

	put_row(1, 64);
	record_end(&a, fde);
	section = assembled(&a);
	cr_assert(image_build(&section, &known_extent, &image) == 0);
	load(&image);
	cr_assert(look_up(0x1004).cfa_offset == 64 && look_up(0x2004).cfa_offset == 64);
	unload();
	image_done(&image);
}

Test(image, is_made_of_known_code_alone)
{
	const struct cfi_section section = { 0 };
	struct image image;

	cr_assert(image_build(&section, &everywhere, &image) == -ENODATA);
	cr_assert(image_build(&section, &known_extent, &image) == 0);
	load(&image);
	cr_assert(look_up(0x1004).cfa_offset == 16 && look_up(0x1100).cfa == DP_CFA_NONE);
	cr_assert(look_up(0x2004).cfa == DP_CFA_SIGNAL && look_up(0x2fff).cfa == DP_CFA_NONE);
	unload();
	image_done(&image);
}

Test(image, leaves_out_what_is_no_code)
{
	static const struct image_input input = { 0x1000, 0x2000, 0 };
	size_t cie = put_cie(&a);
	struct cfi_section section;
	struct image image;

	record_end(&a, fde_begin(&a, cie, 0x1800, 0x1000));
	record_end(&a, fde_begin(&a, cie, 0x800, 0x10));
	section = assembled(&a);
	cr_assert(image_build(&section, &input, &image) == -ENODATA);
	record_end(&a, fde_begin(&a, cie, 0x1000, 0x1000));
	section = assembled(&a);
	cr_assert(image_build(&section, &input, &image) == 0);
	cr_assert(image.stats.n_fdes == 1);
	image_done(&image);
}

Test(image, refuses_code_that_spans_too_much)
{
	size_t cie = put_cie(&a);
	struct cfi_section section;
	struct image image;

	record_end(&a, fde_begin(&a, cie, 0x1000, 0x10));
	record_end(&a, fde_begin(&a, cie, UINT64_C(1) << 40, 0x10));
	section = assembled(&a);
	cr_assert(image_build(&section, &everywhere, &image) == -EFBIG);
}

/* An entry must not be far away from the code: every page up to it takes memory. */
Test(image, refuses_an_entry_that_is_too_far_away)
{
	const struct image_input input = { 0, UINT64_MAX, UINT64_C(1) << 40 };
	size_t cie = put_cie(&a);
	struct cfi_section section;
	struct image image;

	record_end(&a, fde_begin(&a, cie, 0x1000, 0x10));
	section = assembled(&a);
	cr_assert(image_build(&section, &input, &image) == -EFBIG);
}

static int count_row(const struct image_row *row, void *arg)
{
	uint64_t *counts = arg;

	counts[0]++;
	counts[1] += row->end - row->start;
	return 0;
}

/* CFA offset at 0x10000 + i, 0: no rule */
static int32_t expected[16 << 20];

/* A function at 0x10000 + at, its rows of random lengths and offsets. */
static void put_function(size_t cie, uint64_t at, uint32_t size, unsigned int *seed)
{
	size_t fde = fde_begin(&a, cie, 0x10000 + at, size);
	int32_t offset = 8;
	uint32_t pc = 0;

	while (pc < size) {
		uint32_t step = 1 + rand_r(seed) % (rand_r(seed) % 32 ? 6 : 600);

		for (uint32_t i = pc; i < pc + step && i < size; i++)
			expected[at + i] = offset;
		pc += step;
		offset = 8 + 8 * (rand_r(seed) % 64);
		put_row(step, (uint64_t)offset);
	}
	record_end(&a, fde);
}

/*
 * The main property: at every address the packed image gives the rule that the instructions give
 * when evaluated directly. The image is larger than a segment of the pool, so that its rows span
 * several.
 */
Test(image, says_what_the_instructions_say)
{
	unsigned int seed = 12345;
	uint64_t counts[2] = { 0 }, covered = 0, address = 0;
	struct image image;
	size_t cie = put_cie(&a);

	while (address + 0x10000 < ARRAY_SIZE(expected)) {
		uint32_t size = 1 + rand_r(&seed) % (rand_r(&seed) % 64 ? 400 : 0x8000);

		put_function(cie, address, size, &seed);
		covered += size;
		address += size + rand_r(&seed) % 32;
	}
	image = build();
	cr_assert(image.n_cells > DP_SEGMENT_CELLS, "%u cells", image.n_cells);
	load(&image);
	for (size_t i = 1; i + 1 < ARRAY_SIZE(expected); i++) {
		struct dp_rule rule;
		int32_t offset;

		/* Around every row's start, and here and there between */
		if (i % 8 != 0 && expected[i] == expected[i - 1] && expected[i] == expected[i + 1])
			continue;
		rule = look_up(0x10000 + i);
		offset = rule.cfa == DP_CFA_NONE ? 0 : rule.cfa_offset;
		cr_assert(offset == expected[i], "at %zx: %d, not %d", i, offset, expected[i]);
	}
	cr_assert(image_for_each_row(&image, count_row, counts) == 0);
	cr_assert(counts[1] == covered && image.stats.covered == covered);
	cr_assert(counts[0] > 100000);
	unload();
	image_done(&image);
}

/* The largest binaries have three million rows. */
Test(image, has_room_for_ten_million_rows)
{
	const uint32_t n_rows = 10000000;
	size_t cie = put_cie(&a), fde = fde_begin(&a, cie, 0x10000, 4 * n_rows);
	uint64_t counts[2] = { 0 };
	struct image image;

	for (uint32_t i = 1; i < n_rows; i++) {
		put_u8(&a, DW_CFA_advance_loc | 4);
		put_u8(&a, DW_CFA_def_cfa_offset), put_u8(&a, i % 2 ? 16 : 8);
	}
	record_end(&a, fde);
	image = build();
	load(&image);
	cr_assert(look_up(0x10000).cfa_offset == 8);
	cr_assert(look_up(0x10000 + 4 * (n_rows - 2)).cfa_offset == 8);
	cr_assert(look_up(0x10000 + 4 * (n_rows - 1)).cfa_offset == 16);
	cr_assert(look_up(0x10000 + 4 * n_rows).cfa == DP_CFA_NONE);
	cr_assert(image_for_each_row(&image, count_row, counts) == 0 && counts[0] == n_rows);
	unload();
	image_done(&image);
}

static int print_row(const struct image_row *row, void *to)
{
	image_row_print(row, 1, to);
	return 0;
}

Test(image, prints_rows_as_documented)
{
	static const uint8_t expr[] = { DW_OP_breg6, 0x58, DW_OP_deref };
	size_t cie = put_cie(&a), fde = fde_begin(&a, cie, 0x1000, 0x20);
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	struct image image;

	put_u8(&a, DW_CFA_advance_loc | 1);
	put_u8(&a, DW_CFA_def_cfa_offset), put_uleb(&a, 32);
	put_u8(&a, DW_CFA_offset | 6), put_uleb(&a, 2);
	put_u8(&a, DW_CFA_offset | 3), put_uleb(&a, 3);
	put_u8(&a, DW_CFA_advance_loc | 1);
	put_u8(&a, DW_CFA_def_cfa_expression), put_uleb(&a, 3), put_bytes(&a, expr, 3);
	put_u8(&a, DW_CFA_undefined), put_uleb(&a, 16);
	record_end(&a, fde);
	image = build();
	image_for_each_row(&image, print_row, to);
	fclose(to);
	cr_assert_str_eq(text,
			 "1000 1001 rsp+8 ra=c-8 fp=s rbx=s r12=s r13=s r14=s r15=s\n"
			 "1001 1002 rsp+20 ra=c-8 fp=c-10 rbx=c-18 r12=s r13=s r14=s r15=s\n"
			 "1002 1020 *(rbp-28)+0 ra=u fp=c-10 rbx=c-18 r12=s r13=s r14=s r15=s\n");
	free(text);
	image_done(&image);
}

Test(rule_set, numbers_equal_rules_alike)
{
	struct rule_set set;
	struct dp_rule rule = { .cfa = DP_CFA_REGISTER, .cfa_reg = DP_R10, .cfa_offset = 8 };
	struct dp_saves saves = { .where[1] = { .kind = DP_WHERE_CFA, .offset = -16 } };
	struct dp_rule full[8];
	struct dp_saves all_saves[8];
	int plain, with_saves, word;

	cr_assert(rule_set_init(&set) == 0);
	plain = rule_set_add(&set, &rule, NULL, NULL);
	with_saves = rule_set_add(&set, &rule, &saves, NULL);
	word = rule_set_add_word(&set, 1 << DP_FORM_BITS | DP_FORM_SP);
	cr_assert(plain > RULE_SET_REFUSED && with_saves > plain && word > with_saves);
	cr_assert(rule_set_add(&set, &rule, NULL, NULL) == plain);
	cr_assert(rule_set_add(&set, &rule, &saves, NULL) == with_saves);
	cr_assert(rule_set_add_word(&set, 1 << DP_FORM_BITS | DP_FORM_SP) == word);
	cr_assert(set.n_rules == 5 && set.n_full == 4 && set.n_saves == 1);
	rule_set_copy(&set, full, all_saves, NULL);
	cr_assert(full[DP_RULE_NONE].why == DP_NO_RULE);
	cr_assert(full[RULE_SET_REFUSED].why == DP_UNSUPPORTED_RULE);
	cr_assert(full[set.words[plain] >> DP_FORM_BITS].saves == 0);
	cr_assert(full[set.words[with_saves] >> DP_FORM_BITS].saves == DP_SAVES_APART);
	cr_assert(all_saves[0].where[1].offset == -16);
	rule_set_done(&set);
}

/* Programs are stored once, whatever part of whatever rule uses them. */
Test(rule_set, keeps_programs_once)
{
	struct dp_rule rule = { .cfa = DP_CFA_EXPRESSION, .ra.kind = DP_WHERE_CFA };
	struct rule_programs programs = { 0 };
	struct dp_rule full[8];
	uint64_t cells[8];
	struct rule_set set;
	int cfa, both;

	programs.of[RULE_PART_CFA] = (struct rule_program){ 1, { { DP_OP_REGISTER, 7, 0, 8 } } };
	programs.of[RULE_PART_SP] = (struct rule_program){ 1, { { DP_OP_REGISTER, 6, 0, 8 } } };
	programs.of[RULE_PART_FP] = programs.of[RULE_PART_CFA];
	cr_assert(rule_set_init(&set) == 0);
	cfa = rule_set_add(&set, &rule, NULL, &programs);
	cr_assert(rule_set_add(&set, &rule, NULL, &programs) == cfa);
	rule.sp.kind = DP_WHERE_VALUE;
	rule.fp.kind = DP_WHERE_EXPRESSION;
	both = rule_set_add(&set, &rule, NULL, &programs);
	cr_assert(both > cfa && set.program_cells == 4);
	rule_set_copy(&set, full, NULL, cells);
	cr_assert(full[set.words[cfa] >> DP_FORM_BITS].cfa_offset == 0);
	cr_assert(full[set.words[both] >> DP_FORM_BITS].fp.offset == 0);
	cr_assert(full[set.words[both] >> DP_FORM_BITS].sp.offset == 2);
	cr_assert(memcmp(cells, &programs.of[RULE_PART_CFA], 16) == 0);
	cr_assert(memcmp(cells + 2, &programs.of[RULE_PART_SP], 16) == 0);
	rule_set_done(&set);
}

Test(image, prints_programs_as_documented)
{
	static const uint8_t cfa[] = { 0x77, 0x08, 0x79, 0x00, 0x38, 0x1e, 0x22, 0x06, 0x23, 0x08 };
	static const uint8_t rsp[] = { DW_OP_const1s, 0xf0, DW_OP_plus, DW_OP_deref_size, 4 };
	size_t cie = put_cie(&a), fde = fde_begin(&a, cie, 0x1000, 0x20);
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	struct image image;

	put_u8(&a, DW_CFA_def_cfa_expression), put_uleb(&a, sizeof(cfa));
	put_bytes(&a, cfa, sizeof(cfa));
	put_u8(&a, DW_CFA_val_offset), put_uleb(&a, 6), put_uleb(&a, 3);
	put_u8(&a, DW_CFA_expression), put_uleb(&a, 7), put_uleb(&a, sizeof(rsp));
	put_bytes(&a, rsp, sizeof(rsp));
	record_end(&a, fde);
	image = build();
	image_for_each_row(&image, print_row, to);
	fclose(to);
	cr_assert_str_eq(text, "1000 1020 exp(rsp+8,r9+0,8,mul,plus,deref,+8) ra=c-8 "
			       "fp=exp(cfa,-18) sp=exp(cfa,-10,plus,deref4,deref) "
			       "rbx=s r12=s r13=s r14=s r15=s\n");
	free(text);
	load(&image);
	cr_assert(look_up(0x1000).cfa == DP_CFA_EXPRESSION);
	cr_assert(*(const uint64_t *)port_pool(&pool.walk, (uint32_t)look_up(0x1000).cfa_offset) ==
		  7);
	cr_assert(*(const uint64_t *)port_pool(&pool.walk, (uint32_t)look_up(0x1000).fp.offset) ==
		  1);
	cr_assert(*(const uint64_t *)port_pool(&pool.walk, (uint32_t)look_up(0x1000).sp.offset) ==
		  3);
	unload();
	image_done(&image);
}
