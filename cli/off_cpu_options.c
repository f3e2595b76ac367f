// SPDX-License-Identifier: Apache-2.0
#include "cli/off_cpu_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "cli/quantity.h"
#include "report/outcome.h"

int off_cpu_options_parse_time(const char *text, uint64_t *ret_ns)
{
	size_t digits = strspn(text, "0123456789.");
	char *end;
	double us;

	if (digits == 0 || (text[digits] != '\0' && strcmp(text + digits, "us") != 0))
		return quantity_parse_duration(text, ret_ns);
	us = strtod(text, &end);
	if (end != text + digits || us > 1e15)
		return -EINVAL;
	*ret_ns = (uint64_t)(us * 1000);
	return 0;
}

static int parse_state(char letter, unsigned int *ret)
{
	for (unsigned int i = 0; i < DP_N_STATES; i++) {
		if (state_letter((enum dp_state)i) == letter) {
			*ret |= 1U << i;
			return 0;
		}
	}
	return -EINVAL;
}

int off_cpu_options_parse_states(const char *text, unsigned int *ret)
{
	*ret = 0;
	for (;; text += 2) {
		if (parse_state(text[0], ret) < 0 || (text[1] != ',' && text[1] != '\0'))
			return -EINVAL;
		if (text[1] == '\0')
			return 0;
	}
}

const char *off_cpu_options_complete(struct profiler_options *r)
{
	bool has_limits = r->min_block_ns != BLOCK_TIME_NONE || r->max_block_ns != BLOCK_TIME_NONE;
	unsigned int states = r->event.source->states;

	if (!states && (has_limits || r->states))
		return "--min-block, --max-block and --state are for --off-cpu and --wall";
	if (r->min_block_ns == BLOCK_TIME_NONE)
		r->min_block_ns = PROFILER_MIN_BLOCK_NS;
	if (r->min_block_ns > r->max_block_ns)
		return "--min-block is longer than --max-block";
	if (r->states == 0)
		r->states = states;
	return NULL;
}
