/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_PROBE_LIST_H
#define DP_CLI_PROBE_LIST_H

#include <stddef.h>

/* A probe that is to be added. */
struct probe_entry {
	char *probe;           /* KIND:PATH:NAME(VALUES); NULL: none is given */
	char *name;            /* of the label; NULL: none */
	unsigned int max_rate; /* 0: the default */
};

struct probe_list {
	struct probe_entry *items;
	size_t n, size;
};

/* Copies its arguments; name may be NULL. 0 or -ENOMEM. */
int probe_list_add(struct probe_list *list, const char *probe, const char *name,
		   unsigned int max_rate);

/*
 * Adds the probes of a file, in TOML's form: tables `[probe.NAME]` with `probe = "KIND:PATH:NAME(VALUES)"` and,
 * if wanted, `max-rate = N`, each in a line; or in that of the agent's configuration: sections `[probe NAME]`,
 * without quotes. Logs errors. 0 or a negative errno.
 */
int probe_list_read(struct probe_list *list, const char *path);

/* A whole number from 1 to 1000000; 0: it is none. */
unsigned int probe_list_parse_rate(const char *text);

void probe_list_done(struct probe_list *list);

#endif
