// SPDX-License-Identifier: Apache-2.0
/*
 * Images that were read from disk are refused if they lead outside themselves.
 */
#include <criterion/criterion.h>
#include <dwarf.h>

#define ASSEMBLER_SIZE (8 << 20)
#include "bpf/lookup_row.h"
#include "cfi/tests/assembler.h"
#include "tables/decode.h"
#include "tables/image_check.h"

/* An image larger than this is not read row by row, image_check.h. */
#define LARGE (128 << 10)

static const struct image_input everywhere = { 0, UINT64_MAX, 0 };
static struct assembler a;

static struct image build(void)
{
	struct cfi_section section = assembled(&a);
	struct image image;

	cr_assert(image_build(&section, &everywhere, &image) == 0);
	return image;
}

/* Functions with rows of all lengths, and more rules than one rule can have successors. */
static struct image build_functions(uint32_t n)
{
	size_t cie = put_cie(&a);

	for (uint32_t i = 0; i < n; i++) {
		size_t fde = fde_begin(&a, cie, 0x1000 + i * UINT64_C(0x800), 0x7f0 - i % 13);

		for (uint32_t row = 0; row < 20; row++) {
			put_u8(&a, DW_CFA_advance_loc2), put_u16(&a, row % 5 == 4 ? 300 : 1 + row);
			put_u8(&a, DW_CFA_def_cfa_offset), put_uleb(&a, 16 + 8 * ((i * row) % 40));
		}
		record_end(&a, fde);
	}
	return build();
}

static struct dp_image *head_of(struct image *image)
{
	return (struct dp_image *)image->cells;
}

/* A changed image is refused, and accepted again when it is restored. */
#define expect_refused(image, lvalue, value)                                                       \
	do {                                                                                       \
		__typeof__(lvalue) _was = (lvalue);                                                \
                                                                                                   \
		(lvalue) = (__typeof__(lvalue))(value);                                            \
		cr_assert(!image_is_sound((image)->cells, (image)->n_cells),                       \
			  #lvalue " = " #value);                                                   \
		(lvalue) = _was;                                                                   \
		cr_assert(image_is_sound((image)->cells, (image)->n_cells));                       \
	} while (0)

Test(image_check, refuses_parts_that_are_out_of_place)
{
	struct image image = build_functions(8);
	struct dp_image *h = head_of(&image);

	expect_refused(&image, h->n_cells, h->n_cells + 1);
	expect_refused(&image, h->n_cells, 0);
	expect_refused(&image, h->n_pages, h->n_pages + 100000);
	expect_refused(&image, h->n_pages, UINT32_MAX);
	expect_refused(&image, h->n_rules, 0);
	expect_refused(&image, h->n_rules, UINT32_MAX);
	expect_refused(&image, h->rules, 0);
	expect_refused(&image, h->full, UINT32_MAX);
	expect_refused(&image, h->saves, h->saves + 1);
	expect_refused(&image, h->programs, h->pages + 1);
	expect_refused(&image, h->states, h->n_cells);
	expect_refused(&image, h->pages, UINT32_MAX - 1);
	expect_refused(&image, h->base, h->base + 1);
	expect_refused(&image, h->base, UINT64_MAX - DP_PAGE_SIZE + 1);
	cr_assert(!image_is_sound(image.cells, 0));
	cr_assert(!image_is_sound(image.cells, image.n_cells - 1));
	image_done(&image);
}

Test(image_check, refuses_rules_that_lead_elsewhere)
{
	struct image image = build_functions(8);
	struct dp_image *h = head_of(&image);
	struct dp_rule *full = (void *)(image.cells + h->full);

	cr_assert(h->saves > h->full);
	expect_refused(&image, image.cells[h->rules], UINT64_MAX << DP_FORM_BITS);
	expect_refused(&image, image.cells[h->rules + 2], 3);
	for (int bit = DP_WORD_RA_SHIFT; bit < 64; bit++)
		expect_refused(&image, image.cells[h->rules + 2], UINT64_C(1) << bit | DP_FORM_SP);
	expect_refused(&image, full->cfa, DP_N_CFA);
	expect_refused(&image, full->cfa, DP_CFA_EXPRESSION);
	expect_refused(&image, full->cfa_reg, DP_N_REGISTERS);
	expect_refused(&image, full->why, DP_N_OUTCOMES);
	expect_refused(&image, full->lands, DP_N_LANDS);
	expect_refused(&image, full->saves, DP_SAVES_APART);
	expect_refused(&image, full->ra.kind, DP_WHERE_VALUE + 1);
	expect_refused(&image, full->ra.kind, DP_WHERE_EXPRESSION);
	expect_refused(&image, full->fp.reg, DP_N_REGISTERS);
	image_done(&image);
}

/* Registers may be saved where the rule itself has no room for them. */
Test(image_check, takes_rules_that_have_saves_apart)
{
	size_t cie = put_cie(&a), fde = fde_begin(&a, cie, 0x1000, 0x20);
	const struct dp_image *h;
	struct dp_rule *full, *end;
	struct image image;

	put_u8(&a, DW_CFA_undefined), put_uleb(&a, 12);
	record_end(&a, fde);
	image = build();
	h = head_of(&image);
	full = (void *)(image.cells + h->full);
	end = (void *)(image.cells + h->saves);
	while (full < end && full->saves != DP_SAVES_APART)
		full++;
	cr_assert(full < end, "the first ones are this rule's");
	cr_assert(image_is_sound(image.cells, image.n_cells));
	expect_refused(&image, full->saves, DP_SAVES_APART + 1);
	image_done(&image);
}

/* Labels have a program, which rules may share. */
Test(image_check, takes_labels_that_have_a_program)
{
	static const uint8_t cfa[] = { DW_OP_breg7, 8, DW_OP_deref, DW_OP_deref };
	size_t cie = put_cie(&a), fde = fde_begin(&a, cie, 0x1000, 0x20);
	struct image image;
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	put_u8(&a, DW_CFA_def_cfa_expression), put_uleb(&a, sizeof(cfa));
	put_bytes(&a, cfa, sizeof(cfa));
	record_end(&a, fde);
	image = build();
	image_labels_print(&image, to);
	fflush(to);
	cr_assert_str_eq(text, "", "it has none");
	head_of(&image)->labels_form = DP_LABELS_GO_LIST;
	cr_assert(image_is_sound(image.cells, image.n_cells));
	image_labels_print(&image, to);
	fclose(to);
	cr_assert_str_eq(text, "rsp+8,deref,deref");
	cr_assert_str_eq(image_labels_word(&image), "go_list");
	free(text);
	image_done(&image);
}

Test(image_check, refuses_labels_that_lead_elsewhere)
{
	struct image image = build_functions(8);
	struct dp_image *h = head_of(&image);

	/* It has no programs. */
	cr_assert_eq(h->labels_form, DP_LABELS_NONE);
	expect_refused(&image, h->labels_form, DP_LABELS_GO_LIST);
	expect_refused(&image, h->labels_form, DP_N_LABELS_FORMS);
	image_done(&image);
}

Test(image_check, takes_labels_with_a_variable)
{
	struct image image = build_functions(8);
	struct dp_image *h = head_of(&image);
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	expect_refused(&image, h->variable.kind, DP_TLS_SLOT);
	expect_refused(&image, h->variable.value, 1);
	expect_refused(&image, h->other_labels, 1U << DP_LABELS_CONTEXT);
	expect_refused(&image, h->variable.zero, 1);
	expect_refused(&image, h->labels_form, DP_LABELS_CONTEXT);
	h->labels_form = DP_LABELS_CONTEXT;
	h->variable = (struct dp_tls){ .value = 0x4000, .kind = DP_TLS_DESCRIPTOR };
	cr_assert(image_is_sound(image.cells, image.n_cells));
	expect_refused(&image, h->variable.kind, DP_N_TLS_KINDS);
	expect_refused(&image, h->variable.zero, 1);
	image_labels_print(&image, to);
	fclose(to);
	cr_assert_str_eq(text, "descriptor 4000");
	cr_assert_str_eq(image_labels_word(&image), "thread_context");
	h->labels_form = DP_LABELS_CUSTOM_V1;
	cr_assert(image_is_sound(image.cells, image.n_cells));
	cr_assert_str_eq(image_labels_word(&image), "custom_labels_v1");
	expect_refused(&image, h->labels_form, DP_N_LABELS_FORMS);
	expect_refused(&image, h->other_labels, 1U << DP_LABELS_NONE);
	expect_refused(&image, h->other_labels, 1U << DP_LABELS_CUSTOM_V1);
	expect_refused(&image, h->other_labels, 1U << DP_N_LABELS_FORMS);
	h->other_labels = 1U << DP_LABELS_CONTEXT | 1U << DP_LABELS_GO_MAP;
	cr_assert(image_is_sound(image.cells, image.n_cells));
	free(text);
	image_done(&image);
}

Test(image_check, takes_a_file_with_two_sources_of_labels)
{
	struct image_input input = everywhere;
	struct cfi_section section;
	struct image image;

	record_end(&a, fde_begin(&a, put_cie(&a), 0x1000, 0x40));
	section = assembled(&a);
	input.labels_form = DP_LABELS_CONTEXT;
	input.other_labels = 1U << DP_LABELS_CUSTOM_V1;
	input.variable = (struct dp_tls){ .value = 0x4000, .kind = DP_TLS_DESCRIPTOR };
	cr_assert_eq(image_build(&section, &input, &image), 0);
	cr_assert_eq(head_of(&image)->labels_form, DP_LABELS_CONTEXT);
	cr_assert_eq(head_of(&image)->other_labels, 1U << DP_LABELS_CUSTOM_V1);
	cr_assert(image_is_sound(image.cells, image.n_cells));
	image_done(&image);
}

/* A runtime of an unknown version has no layout. */
Test(image_check, takes_runtimes_of_unknown_versions)
{
	struct image image = build_functions(1);
	struct dp_image *h = head_of(&image);

	cr_assert_eq(h->runtime_kind, DP_RUNTIME_NONE);
	h->runtime_kind = DP_RUNTIME_PHP | DP_RUNTIME_UNKNOWN;
	cr_assert(image_is_sound(image.cells, image.n_cells));
	expect_refused(&image, h->runtime_kind, DP_RUNTIME_PHP);
	expect_refused(&image, h->runtime_kind, DP_N_RUNTIMES | DP_RUNTIME_UNKNOWN);
	expect_refused(&image, h->runtime_kind, DP_RUNTIME_UNKNOWN << 1);
	image_done(&image);
}

Test(image_check, refuses_pages_that_lead_elsewhere)
{
	struct image image = build_functions(8);
	struct dp_image *h = head_of(&image);
	struct dp_page *page = (struct dp_page *)(image.cells + h->pages) + 1;
	uint16_t *states = (uint16_t *)(image.cells + h->states);
	struct dp_anchor *anchor = (void *)((uint8_t *)image.cells + page->data);

	cr_assert(page->data > 0 && page->block_bits < DP_PAGE_BITS);
	expect_refused(&image, page->data, UINT32_MAX);
	expect_refused(&image, page->data, h->n_cells * DP_CELL_SIZE - 1);
	expect_refused(&image, page->block_bits, DP_MIN_BLOCK_BITS - 1);
	expect_refused(&image, page->block_bits, DP_PAGE_BITS + 1);
	expect_refused(&image, page->stride, UINT8_MAX);
	expect_refused(&image, anchor->at, UINT8_MAX);
	expect_refused(&image, anchor->start, DP_START_APART - 1);
	expect_refused(&image, states[DP_STATE_NONE], 2);
	expect_refused(&image, states[DP_STATE_NONE + 1], UINT16_MAX);
	image_done(&image);
}

/* A walk that looks up in a pool of exactly this image, behind which nothing can be read. */
struct walk {
	struct port_world world;
};

static void look_everywhere(const struct image *image)
{
	const struct dp_image *h = (const void *)image->cells;
	const size_t n_segments = image->n_cells / DP_SEGMENT_CELLS + 2;
	uint8_t *segments[8] = { 0 };
	struct port_user port = { .segments = segments, .n_segments = (uint32_t)n_segments };
	struct walk walk = { { &port } };
	uint32_t cell = image->n_cells < DP_SEGMENT_CELLS ? 2 * DP_SEGMENT_CELLS - image->n_cells :
							    DP_SEGMENT_CELLS;
	size_t offset = (size_t)cell % DP_SEGMENT_CELLS * DP_CELL_SIZE, done = 0;

	cr_assert(n_segments <= 8);
	for (size_t i = 1; i < n_segments; i++, offset = 0) {
		size_t left = (size_t)image->n_cells * DP_CELL_SIZE - done;
		size_t some = left < DP_SEGMENT_SIZE - offset ? left : DP_SEGMENT_SIZE - offset;

		segments[i] = malloc(DP_SEGMENT_SIZE);
		memcpy(segments[i] + offset, (uint8_t *)image->cells + done, some);
		done += some;
	}
	for (uint64_t at = 0; at < (uint64_t)h->n_pages << DP_PAGE_BITS; at += 61)
		lookup_rule_number(&walk.world, cell, h->base + at);
	for (size_t i = 1; i < n_segments; i++)
		free(segments[i]);
}

/* Its rows are not read. Whatever they are, a lookup stays inside: port_at() would trap. */
Test(image_check, lets_no_look_up_out_of_a_large_image)
{
	struct image image = build_functions(4000);
	const size_t size = (size_t)image.n_cells * DP_CELL_SIZE;
	const size_t data = (head_of(&image)->pages + head_of(&image)->n_pages) * DP_CELL_SIZE;
	uint8_t *bytes = (uint8_t *)image.cells;
	unsigned int n_taken = 0;

	cr_assert(size > LARGE, "%zu", size);
	cr_assert(image_is_sound(image.cells, image.n_cells));
	srandom(1);
	for (int i = 0; i < 40; i++) {
		/* Rows are most of the data, so that few anchors are hit. */
		for (int k = 0; k < 1 << (i % 8); k++)
			bytes[data + (size_t)random() % (size - data)] = (uint8_t)random();
		if (!image_is_sound(image.cells, image.n_cells))
			continue;
		look_everywhere(&image);
		n_taken++;
	}
	cr_assert(n_taken > 4, "%u", n_taken);
	memset(bytes + data, 0xff, size - data);
	cr_assert(!image_is_sound(image.cells, image.n_cells));
	image_done(&image);
}
