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
 * Reads what a process says of itself, from the mapping that OpenTelemetry's OTEP 4719 gives a name: the
 * list of its mappings and its memory by fetchers, what is there by a parser of its own (NULL: this process
 * does it). Waits for all. *known_ns is when it was published that was read last, or 0, and then when this
 * was. 0; -EALREADY: it is the same; -ENODATA: it says nothing; -EAGAIN: it is just writing it, or parsers
 * have used up their CPU time for now; -ESRCH; -ETIMEDOUT; or errors of list_fetchers_ask(), mapping_list_next(),
 * fetchers_read() and parsers_ask(). The caller frees *ret.
 */
int context_reader_read(struct list_fetchers *lists, struct fetchers *fetchers,
			struct parsers *parsers, pid_t pid, uint64_t *known_ns,
			struct process_context **ret);

#endif
