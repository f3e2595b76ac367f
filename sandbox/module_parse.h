/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_MODULE_PARSE_H
#define DP_SANDBOX_MODULE_PARSE_H

#include "sandbox/parsers.h"
#include "symbols/module.h"

/*
 * What a name reader (name_reader.h) asks parsers about files. Errors are those of parsers_ask(), with
 * -EAGAIN for -ENOMEM.
 */

/* "": it has none. */
int module_parse_build_id(struct parsers *parsers, int fd, char ret[MODULE_BUILD_ID_SIZE]);

/* As module_find_pages(). */
int module_parse_pages(struct parsers *parsers, const struct module *module,
		       struct code_pages **ret, size_t *ret_n);

/* As module_disassemble(). */
int module_parse_code(struct parsers *parsers, const struct module *module, uint64_t start,
		      uint64_t end, struct code_line **ret, size_t *ret_n);

#endif
