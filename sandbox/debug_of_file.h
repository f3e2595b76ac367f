/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_DEBUG_OF_FILE_H
#define DP_SANDBOX_DEBUG_OF_FILE_H

#include "sandbox/parsers.h"

/*
 * Finds the separate debug file of a file whose parser has told about it (PARSE_FACTS, PARSE_TABLE), in the
 * places and by the rules of debug_search.h: finders open what is there, and parsers compare. `user`, fd and cpu_ns
 * are as in struct parse_request. Returns a descriptor, which the caller closes; -ENOENT: there is none; or what
 * kept from one that may be there: -ETIMEDOUT, -EBUSY or -EAGAIN (finders.h), or an error of parsers_ask().
 */
int debug_of_file(struct parsers *parsers, uid_t user, int fd, uint64_t cpu_ns,
		  const struct parse_result *told);

#endif
