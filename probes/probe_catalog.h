/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_PROBE_CATALOG_H
#define DP_PROBES_PROBE_CATALOG_H

#include <limits.h>
#include <stdio.h>
#include <sys/types.h>

#include "functions/function_search.h"
#include "values/enumerator.h"
#include "values/usdt.h"

struct parsers;

/* What can be probed in a file: its functions and USDT probes. */

struct probe_catalog {
	char path[PATH_MAX];
	struct usdt_place *usdt; /* by provider, name, and types of arguments */
	size_t n_usdt;
	struct listed_function *functions; /* by name and place, each by one of its names */
	size_t n_functions, functions_size;
	struct function_list list; /* what they refer to */
	struct enumerators
		*parameters; /* of each function (parameters_list()); NULL: not looked for */
};

/* Of more functions, parameters are not looked for. */
#define CATALOG_MAX_DESCRIBED 64

/*
 * Lists those of a file, found as that of a uprobe (uprobe_places.h), that a pattern stands for: of
 * functions as function_search() has it, of USDT probes a glob for PROVIDER:NAME. The
 * parsers read the file; NULL: this process does. Logs errors. 0 or a negative errno;
 * probe_catalog_done() frees *ret.
 */
int probe_catalog_read(struct parsers *parsers, const char *file, const char *pattern,
		       struct probe_catalog *ret);
void probe_catalog_done(struct probe_catalog *catalog);

/* Are both the same but for their places? */
bool catalog_usdt_is_same(const struct usdt_place *a, const struct usdt_place *b);

/* Writes the parameters of a function, `(route:std::string, code:s32)`; nothing if none are known. */
void catalog_print_parameters(const struct probe_catalog *catalog, size_t function, FILE *to);

/* Are the names and types of two functions' parameters the same? */
bool catalog_parameters_are_same(const struct probe_catalog *catalog, size_t a, size_t b);

/* Searches functions (struct uprobe_reader): `parsers` read the file; NULL: this process does. */
int probe_catalog_list(void *parsers, int fd, const struct function_query *query,
		       struct function_list *ret);
/* The same in a file that a user has given. */
int probe_catalog_list_for(struct parsers *parsers, uid_t user, int fd,
			   const struct function_query *query, struct function_list *ret);

/* Room for the arguments of a USDT probe as text. */
#define CATALOG_ARGUMENTS_SIZE (USDT_MAX_ARGUMENTS * 16)

/* Writes `arg1:s32, arg2:u64`; `arg3:?` for one that cannot be read. */
void catalog_usdt_arguments(const struct usdt_place *place, char ret[CATALOG_ARGUMENTS_SIZE]);

#endif
