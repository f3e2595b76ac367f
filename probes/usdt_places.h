/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_USDT_PLACES_H
#define DP_PROBES_USDT_PLACES_H

#include <sys/types.h>

#include "kernel/uprobe_places.h"
#include "values/usdt.h"

struct parsers;

/* Where a file has USDT probes of a name. */
struct usdt_places {
	struct uprobe_places at;
	const struct usdt_place **notes; /* of each place */
	struct usdt_place *all;          /* that the file has */
};

/*
 * Finds the probes that PROVIDER:NAME, or a glob for it, stands for, in a file that
 * `reader` opens. The parsers read it; NULL: this process does. On failure, logs the reason
 * and returns a negative errno.
 */
int usdt_places_find(struct parsers *parsers, const struct uprobe_reader *reader, const char *file,
		     const char *pattern, struct usdt_places *ret);
void usdt_places_done(struct usdt_places *places);

/* All of a user's file that is open; the caller frees *ret. 0, or an error of parsers_ask(), logged. */
int usdt_places_list(struct parsers *parsers, uid_t user, int fd, const char *file,
		     struct usdt_place **ret, size_t *ret_n);

#endif
