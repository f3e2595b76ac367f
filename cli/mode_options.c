// SPDX-License-Identifier: Apache-2.0
#include "cli/mode_options.h"

#include <string.h>

#include "base/array.h"
#include "cli/quantity.h"

static const char *const unwind_modes[] = {
	[DP_UNWIND_AUTO] = "auto",
	[DP_UNWIND_DWARF] = "dwarf",
	[DP_UNWIND_FP] = "fp",
	[DP_UNWIND_COPY] = "copy",
};

static const char *const native_modes[] = { "fold", "all", "only" }; /* enum native_frames */

/* The index of a word, or ends the program; `list`: all of them. */
static unsigned int parse_mode(struct argp_state *state, const char *const *words, size_t n,
			       const char *option, const char *list, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(text, words[i]) == 0)
			return (unsigned int)i;
	argp_error(state, "--%s takes %s, not '%s'", option, list, text);
	return 0;
}

enum dp_unwind mode_options_parse_unwind(struct argp_state *state, const char *text)
{
	return (enum dp_unwind)parse_mode(state, unwind_modes, ARRAY_SIZE(unwind_modes), "unwind",
					  "auto, dwarf, fp or copy", text);
}

enum native_frames mode_options_parse_native(struct argp_state *state, const char *text)
{
	return (enum native_frames)parse_mode(state, native_modes, ARRAY_SIZE(native_modes),
					      "native-frames", "fold, all or only", text);
}

uint64_t mode_options_parse_table_memory(struct argp_state *state, const char *text)
{
	uint64_t size;

	if (quantity_parse_size(text, &size) < 0)
		argp_error(state, "--table-memory takes a size such as 64M or 1G, not '%s'", text);
	if (size < POOL_MIN_MEMORY || size > POOL_MAX_MEMORY)
		argp_error(state, "--table-memory takes from %luM to %luG, not '%s'",
			   (unsigned long)(POOL_MIN_MEMORY >> 20),
			   (unsigned long)(POOL_MAX_MEMORY >> 30), text);
	return size;
}

static void list(FILE *to, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fprintf(to, "%s%s", i ? ", " : "", words[i]);
}

void mode_options_list_unwind(FILE *to)
{
	list(to, unwind_modes, ARRAY_SIZE(unwind_modes));
}

void mode_options_list_native(FILE *to)
{
	list(to, native_modes, ARRAY_SIZE(native_modes));
}
