/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_PROBE_PARTS_H
#define DP_PROBES_PROBE_PARTS_H

#include "probes/arguments.h"

/*
 * A probe as users write it, PATH:NAME(VALUES); of a USDT probe, the name is PROVIDER:NAME. The path may
 * be lib:NAME (elf/loader.h).
 */
struct probe_parts {
	enum probe_kind kind;
	char *path, *name;
	bool is_line;    /* the name is FILE:LINE */
	bool has_offset; /* it is FUNCTION+N, which is behind the function's begin */
	struct arguments arguments;
};

/*
 * probe_parts_done() frees *ret, also after an error: -ENOMEM, or -EINVAL, and ret_why says what is
 * wrong with the values, or is "".
 */
int probe_parts_split(const char *argument, enum probe_kind kind, struct probe_parts *ret,
		      char ret_why[ARGUMENTS_WHY_SIZE]);
/* The same where path and name are apart: of a file that another process has found. */
int probe_parts_make(const char *path, const char *name, enum probe_kind kind,
		     struct probe_parts *ret, char ret_why[ARGUMENTS_WHY_SIZE]);
/* The kinds of probes whose calls label samples, and whose long calls keep them (label_probe.h). */
#define PROBE_LABEL "label"
#define PROBE_SPAN "span"
/* Which kind n bytes name: one of these, "uprobe", "uretprobe" or "usdt". */
bool probe_kind_find(const char *word, size_t n, enum probe_kind *ret);
#define PROBE_KINDS_ERROR                                                                                   \
	"what can be added is uprobe:PATH:NAME, uretprobe:PATH:NAME, usdt:PATH:PROVIDER:NAME, " PROBE_LABEL \
	":PATH:NAME(VALUES) and " PROBE_SPAN ":PATH:NAME min=TIME"

void probe_parts_done(struct probe_parts *parts);

#endif
