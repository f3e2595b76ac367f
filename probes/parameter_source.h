/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_PARAMETER_SOURCE_H
#define DP_PROBES_PARAMETER_SOURCE_H

#include <sys/types.h>

#include "limits/limits.h"
#include "sandbox/parse.h"

struct parsers;

/* For parse_request.cpu_ns. */
static inline uint64_t probe_cpu_ns(uid_t user)
{
	return user == 0 ? 0 : PROBE_USER_TIME_NS;
}

/* Where to look up the parameters of a file's functions. parameter_source_done() closes the debug file. */
struct parameter_source {
	struct parsers *parsers; /* NULL: this process reads the files */
	uid_t user;              /* who has given the file; 0: this program */
	const char *path;        /* for messages */
	int fd;                  /* the caller's */
	int debug_fd;            /* of its debug file; starts as -1: not known, or there is none */
	bool is_searched;        /* for the debug file */
};

/*
 * Has the parsers find parameters (parameters_find()), or list them (parameters_list()) if n is 0, of the
 * function at an offset in the file: in the file itself, else in its debug file. 0, -ENODATA: neither has
 * debug information of that function, or another error of parsers_ask(). parse_result_done() frees *ret.
 */
int parameter_source_ask(struct parameter_source *source, const struct parameter_wanted *wanted,
			 size_t n, uint64_t offset, struct parse_result *ret);
void parameter_source_done(struct parameter_source *source);

#endif
