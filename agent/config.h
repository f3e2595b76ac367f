/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_CONFIG_H
#define DP_AGENT_CONFIG_H

#include <stdio.h>

/*
 * A configuration file: lines of `key = value`, in the form of inih, with comments after ; or #. The
 * same key may be given several times. Sections begin with `[kind NAME]`.
 */

/*
 * The longest line, in bytes without its end: 16384 with Debian's inih, which lets programs set it. Elsewhere,
 * inih's build fixes it, to 197 by default.
 */
extern const size_t config_line_max;

/*
 * A setting; or, without a key, the beginning of a section, which has a kind; or, if `wrong` is not
 * NULL, a line that is neither.
 */
struct config_entry {
	const char *key, *value; /* of a section's beginning, the value is its name */
	const char *section;     /* the kind; "": before all sections */
	unsigned int line, key_column, value_column; /* from 1; of bytes */
	const char *wrong;
};

/*
 * Calls fn for each entry, in order, until it returns a value other than 0, which is returned. The
 * strings are only valid during the call. 0 or a negative errno.
 */
int config_read(FILE *from, int (*fn)(void *arg, const struct config_entry *entry), void *arg);

#endif
