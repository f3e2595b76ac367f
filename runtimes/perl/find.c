// SPDX-License-Identifier: Apache-2.0
/*
 * Finds Perl in a file, which may be its program, libperl, or one that embeds it. From 5.36 on, those with
 * threads, as Debian's are, export PL_current_context, a thread-local pointer to the thread's interpreter.
 * Its version decides the layout (layouts.h).
 */
#include <errno.h>

#include "base/array.h"
#include "runtimes/exports.h"
#include "runtimes/perl/perl.h"

static const struct dp_runtime_image layouts[] = {
#include "runtimes/perl/layouts.h"
};

/* Of a version, PL_revision and PL_version are its numbers; a build for debugging has larger structures. */
enum mark { REVISION, VERSION, DEBUGGED, N_MARKS };

static const char *const marks[N_MARKS] = {
	[REVISION] = "PL_revision",
	[VERSION] = "PL_version",
	[DEBUGGED] = "Perl_pad_setsv",
};

/* major << 8 | minor; 0: not known. */
static uint32_t version_of(const struct elf_file *file, const struct elf_symbol found[N_MARKS])
{
	const uint8_t *revision = NULL, *version = NULL;

	if (found[REVISION].address)
		revision = elf_bytes_at(file, found[REVISION].address, 1);
	if (found[VERSION].address)
		version = elf_bytes_at(file, found[VERSION].address, 1);
	return revision && version ? (uint32_t)*revision << 8 | *version : 0;
}

static int find(const struct elf_file *file, struct dp_runtime_image *ret)
{
	struct elf_symbol found[N_MARKS];
	struct dp_chain place;
	uint32_t version;

	if (exports_find_variable(file, "PL_current_context", &place) < 0)
		return -ENOENT;
	exports_find(file, marks, N_MARKS, found);
	version = found[DEBUGGED].address ? 0 : version_of(file, found);
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (layouts[i].perl.version != version)
			continue;
		*ret = layouts[i];
		ret->chain.place = place.place;
		ret->chain.variable = place.variable;
		return exports_find_loop(file, "Perl_runops_standard", ret->ranges);
	}
	return -ENOTSUP;
}

const struct runtime_source runtime_perl = {
	.method = DP_METHOD_PERL,
	.unloaded = "[perl, unloaded]",
	.find = find,
	.layout_size = sizeof(struct dp_runtime_image),
	.read = perl_read_code,
	.line = perl_code_line,
};
