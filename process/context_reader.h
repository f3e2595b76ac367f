/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_CONTEXT_READER_H
#define DP_PROCESS_CONTEXT_READER_H

#include <stdint.h>
#include <sys/types.h>

#include "sandbox/process_context.h"

struct fetchers;
struct list_fetchers;
struct parsers;

/*
 * Reads the context that a process publishes in a named mapping (OpenTelemetry's OTEP 4719). Fetchers read the
 * list of mappings and the memory, a parser decodes it (NULL: this process does). Blocks until all is done.
 * *known_ns: on entry, when the context that was read last was published, or 0; on return, when this one was.
 * Returns 0; -EALREADY: unchanged; -ENODATA: the process publishes none; -EAGAIN: it is being written, or the
 * parsers' CPU time is used up for now; -ESRCH; -ETIMEDOUT; or an error of list_fetchers_ask(),
 * mapping_list_next(), fetchers_read() or parsers_ask(). The caller frees *ret.
 */
int context_reader_read(struct list_fetchers *lists, struct fetchers *fetchers,
			struct parsers *parsers, pid_t pid, uint64_t *known_ns,
			struct process_context **ret);

#endif
