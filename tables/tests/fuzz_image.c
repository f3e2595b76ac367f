// SPDX-License-Identifier: Apache-2.0
/*
 * An image of any section, with any extent of the code: its statistics are those of the rows read
 * back. Input: flags (1), the section's address (8), start (8), end (8) and entry (8) of the
 * extent, the section.
 */
#include <errno.h>

#include "tables/decode.h"
#include "tables/tests/fuzz_extent.h"

/* Totals over all rows. */
struct sum {
	const struct image_input *input;
	uint64_t done, covered, refused, gaps;
};

static bool where_is_known(const struct dp_where *w)
{
	return w->kind <= DP_WHERE_VALUE && w->reg < DP_N_REGISTERS && w->zero == 0;
}

static bool save_is_known(const struct dp_where *w)
{
	return where_is_known(w) && w->kind <= DP_WHERE_UNKNOWN;
}

static void check_programs(const struct image_row *row)
{
	struct dp_rule rule = row->rule;

	for (int part = 0; part < RULE_N_PARTS; part++) {
		const int32_t *of = rule_program_of(&rule, (enum rule_part)part);
		const struct rule_program *program;

		if (!of)
			continue;
		program = (const void *)(row->programs + *of);
		EXPECT(program->n_ops <= DP_MAX_OPS);
		for (uint64_t i = 0; i < program->n_ops; i++)
			EXPECT(program->ops[i].code < DP_N_OPS && program->ops[i].zero == 0);
	}
}

static int check_row(const struct image_row *row, void *arg)
{
	struct sum *sum = arg;
	const struct dp_rule *rule = &row->rule;

	EXPECT(row->start < row->end && row->start >= sum->done);
	EXPECT(row->start >= sum->input->start && row->end <= sum->input->end);
	sum->done = row->end;
	EXPECT(rule->cfa < DP_N_CFA && rule->cfa_reg < DP_N_REGISTERS);
	EXPECT(where_is_known(&rule->ra) && where_is_known(&rule->fp));
	EXPECT(where_is_known(&rule->sp));
	check_programs(row);
	for (int i = 0; i < DP_N_SAVED; i++)
		EXPECT(save_is_known(&row->saves.where[i]));
	if (rule->cfa == DP_CFA_NONE) {
		EXPECT(rule->why == DP_UNSUPPORTED_RULE);
		sum->refused += row->end - row->start;
	} else {
		sum->covered += row->end - row->start;
	}
	return 0;
}

static void check_image(const struct image *image, const struct image_input *input)
{
	struct sum sum = { .input = input };
	uint64_t refused = 0;

	EXPECT(image_for_each_row(image, check_row, &sum) == 0);
	for (int i = 0; i < RULE_N_REFUSALS; i++)
		refused += image->stats.refused[i].bytes;
	EXPECT(sum.refused == refused);
	/* The rule for an entry without an FDE is not in the statistics. */
	EXPECT(sum.covered >= image->stats.covered);
	EXPECT(sum.covered - image->stats.covered <= (input->entry ? ENTRY_SIZE : 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = { data, data + size };
	uint8_t flags = feed_u8(&feed);
	uint64_t address = feed_u64(&feed);
	struct image_input input;
	struct cfi_section section;
	struct image image;
	int err;

	input = feed_extent(&feed, flags);
	section = feed_section(&feed, address, flags & FEED_DEBUG_FRAME);
	err = image_build(&section, &input, &image);
	EXPECT(err == 0 || err == -EFBIG || err == -ENODATA);
	if (err == 0) {
		check_image(&image, &input);
		image_done(&image);
	}
	return 0;
}
