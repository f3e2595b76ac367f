// SPDX-License-Identifier: Apache-2.0
/*
 * An image that was damaged and whose checksum was made to fit: if it is accepted, it leads neither
 * the walker nor the decoder out of it.
 *
 * Input: the number of damages (1, the low 4 bits), for each the place (4) and the bits to change
 * (1), the number of cells cut off (1), and what it is made from, as for image.
 */
#include "tables/decode.h"
#include "tables/image_check.h"
#include "tables/tests/fuzz_extent.h"
#include "tables/tests/fuzz_loaded.h"

/* Addresses to look up: so many at the start, and as many anywhere. */
#define DENSE 4096
#define SOME 512

static int read_nothing(struct port_user *unused, void *dst, uint32_t size, uint64_t address)
{
	memset(dst, (int)address, size);
	return 0;
}

static void run_program(int32_t cell, uint32_t n_values)
{
	/* Each program is one of its own walk. */
	walker.at.cost = 0;
	walker.stack.n_words = 0;
	walker.program.n_values = n_values;
	EXPECT(walk_program(&walker, (uint32_t)cell) != DP_UNSUPPORTED_RULE);
	EXPECT(walker.program.outcome != DP_WALKING ||
	       (walker.program.n_values > 0 && walker.program.n_values <= DP_MAX_VALUES));
}

/* Looks up an address, and follows its rule. */
static void look_up(uint64_t address)
{
	struct dp_rule rule;

	EXPECT(lookup_snapshot(&walker, SPACE_CELL, 0, address, &rule) != 0);
	for (int part = 0; part < RULE_N_PARTS; part++) {
		const int32_t *of = rule_program_of(&rule, (enum rule_part)part);

		if (of)
			run_program(*of, part == RULE_PART_CFA ? 0 : 1);
	}
	if (rule.saves & DP_SAVES_APART) {
		const struct dp_saves *saves = port_pool(&walker, rule.saves & ~DP_SAVES_APART);

		for (int i = 0; saves && i < DP_N_SAVED; i++)
			EXPECT(saves->where[i].kind <= DP_WHERE_UNKNOWN &&
			       saves->where[i].reg < DP_N_REGISTERS);
	}
}

static int check_row(const struct image_row *row, void *arg)
{
	const uint64_t *done = arg;

	EXPECT(row->start < row->end && row->start >= *done);
	look_up(row->start);
	look_up(row->end - 1);
	*(uint64_t *)arg = row->end;
	return 0;
}

/* An image whose rows are all read can be decoded. */
static bool is_small(const struct image *image)
{
	return (size_t)image->n_cells * DP_CELL_SIZE < UINT16_MAX * sizeof(uint16_t);
}

static void use(const struct image *image)
{
	const struct dp_image *head = (const void *)image->cells;
	uint64_t size = (uint64_t)head->n_pages << DP_PAGE_BITS, at = 0, done = 0;

	load(image, read_nothing);
	walker.at.n_frames = 1;
	for (uint64_t i = 0; i < size && i < DENSE; i++)
		look_up(head->base + i);
	for (int i = 0; size > 0 && i < SOME; i++) {
		at = at * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		look_up(head->base + (at >> 16) % size);
	}
	if (is_small(image))
		EXPECT(image_for_each_row(image, check_row, &done) == 0);
	unload();
}

/* Damages the image as the start of the input says. */
static void damage(struct feed *feed, struct image *image)
{
	const uint64_t size = (uint64_t)image->n_cells * DP_CELL_SIZE;
	uint8_t n = feed_u8(feed) & 15, cut;

	while (n-- > 0) {
		uint64_t at = feed_number(feed, 4) % size;

		((uint8_t *)image->cells)[at] ^= feed_u8(feed);
	}
	cut = feed_u8(feed);
	image->n_cells -= cut < image->n_cells ? cut : 0;
}

/* Skips what damage() reads. */
static void skip_damage(struct feed *feed)
{
	for (int n = feed_u8(feed) & 15; n > 0; n--)
		feed_number(feed, 5);
	feed_u8(feed);
}

static void check(struct feed *feed, struct image *image)
{
	EXPECT(image_is_sound(image->cells, image->n_cells));
	damage(feed, image);
	if (image_is_sound(image->cells, image->n_cells))
		use(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = { data, data + size }, changes = feed;
	struct image_input input;
	struct cfi_section section;
	struct image image;
	uint64_t address;
	uint8_t flags;

	skip_damage(&feed);
	flags = feed_u8(&feed);
	address = feed_u64(&feed);
	input = feed_extent(&feed, flags);
	section = feed_section(&feed, address, flags & FEED_DEBUG_FRAME);
	if (image_build(&section, &input, &image) == 0) {
		check(&changes, &image);
		image_done(&image);
	}
	return 0;
}
