// SPDX-License-Identifier: Apache-2.0
/*
 * Any Go table and any code: ranges with rules of their own do not overlap, and the image is sound.
 * Input: the code's size (2), the code, the table.
 */
#include <errno.h>

#include "cfi/tests/fuzz.h"
#include "tables/go_rules.h"
#include "tables/image.h"
#include "tables/image_check.h"

#define TEXT UINT64_C(0x400000)

static void check_rules(const struct image_input *input)
{
	struct go_rules rules;
	struct rule_set set;

	EXPECT(rule_set_init(&set) == 0);
	if (go_rules_init(&rules, &input->go, 26, input->ranges, input->n_ranges, &set) == 0)
		for (size_t i = 0; i < rules.n; i++)
			EXPECT(rules.rules[i].start < rules.rules[i].end &&
			       rules.rules[i].number < set.n_rules &&
			       (i == 0 || rules.rules[i].start >= rules.rules[i - 1].end));
	go_rules_done(&rules);
	rule_set_done(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f = { data, data + size };
	size_t code = feed_number(&f, 2), left = (size_t)(f.end - f.pos);
	const struct cfi_section none = { 0 };
	struct image_input input = { .start = TEXT, .n_ranges = 1 };
	struct code_range range = { .address = TEXT, .bytes = f.pos };
	struct image image;

	range.size = code < left ? code : left;
	input.end = TEXT + range.size;
	input.ranges = &range;
	if (pclntab_init(&input.go, f.pos + range.size, left - range.size, TEXT) < 0)
		return 0;
	check_rules(&input);
	if (image_build(&none, &input, &image) == 0) {
		EXPECT(image_is_sound(image.cells, image.n_cells));
		image_done(&image);
	}
	return 0;
}
