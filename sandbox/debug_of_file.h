/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_DEBUG_OF_FILE_H
#define DP_SANDBOX_DEBUG_OF_FILE_H

#include "sandbox/parsers.h"

/*
 * Finds the separate debug file that a file's parser has named (PARSE_FACTS, PARSE_TABLE), by the
 * rules of debug_search.h. Finders open the candidates, and parsers compare them. `user`, fd and
 * cpu_ns are as in struct parse_request. Returns a descriptor, which the caller closes; -ENOENT if
 * there is none; or, if one may exist but could not be used, -ETIMEDOUT, -EBUSY or -EAGAIN
 * (finders.h), or an error of parsers_ask().
 */
int debug_of_file(struct parsers *parsers, uid_t user, int fd, uint64_t cpu_ns,
		  const struct parse_result *told);

#endif
