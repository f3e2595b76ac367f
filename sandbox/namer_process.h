/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_NAMER_PROCESS_H
#define DP_SANDBOX_NAMER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/namer.h"
#include "sandbox/opener.h"
#include "sandbox/passage.h"
#include "sandbox/spawned.h"
#include "symbols/names.h"

/* The client's side of a namer (namer.h): the files that it has, and one request at a time. */

struct owner {
	dev_t device;
	uid_t user;
};

struct namer_process {
	uint64_t serial; /* 0: there is none */
	struct spawned process;
	const struct names *names; /* whether they are still wanted */
	struct cpu_budget *budget; /* what answers are paid from; NULL: no limit */
	struct opener opener;
	struct owner owner;
	bool is_mixed;       /* has a file of another owner, and no more than that binary */
	int result;          /* the file with the last locations; -1: none */
	uint32_t n_binaries; /* that it has got so far */
	uint64_t memory;     /* of its debug information, as it says */
	uint64_t size;       /* of all files that it has got */
	uint64_t used;       /* when: a counter */
	uint64_t used_ns;    /* and by CLOCK_MONOTONIC */
};

/* What a binary has cost its namers so far: time (spawned.h), and bytes of the files opened for it. */
struct namer_cost {
	uint64_t time_ns, size;
	uint64_t since_ns; /* of CLOCK_MONOTONIC; 0: nothing yet */
};

/*
 * The time that the binary may still cost. The limit grows by a hundredth for each MiB, and by a hundredth of the time
 * since the first request, because its files are read again when its namer was replaced. At most NAMERS_MAX_NS.
 */
uint64_t namer_cost_left(const struct namer_cost *cost, uint64_t limit_ns);

struct namer_question {
	const struct namer_request *request;
	struct passage *files; /* that go with it; ended by the caller */
	size_t n_files;
	uint64_t limit_ns; /* of time that the answer may take */
};

/*
 * Asks, answers opens meanwhile, and adds what it costs. 0; -ETIME: it takes too long;
 * -ECONNABORTED: it has ended, or was stopped; -ECANCELED: names are not wanted any more; -ETIMEDOUT: a
 * file could not be opened again (passage.h); or another negative errno. On failure nobody knows what the namer does, so it is ended.
 */
int namer_process_ask(struct namer_process *namer, const struct namer_question *question,
		      struct namer_cost *cost, struct namer_reply *ret);

/* Asks for locations (NAMER_FIND), which are in `result` then, where they do not change. -EPROTO: they could. */
int namer_process_find(struct namer_process *namer, const struct namer_request *request,
		       uint64_t limit_ns, struct namer_cost *cost, struct namer_reply *ret);

/* Why it has not answered, for parsers_note_failure(); NULL: for none of these reasons. */
const char *namer_process_failure(int err);

/* Besides the files that it has got, it may use CONFINE_MEMORY. */
void namer_process_allow_memory(const struct namer_process *namer);

/* Ends it if it has not been asked for so long. */
void namer_process_rest(struct namer_process *namer, uint64_t idle_ns);

/* Does nothing if there is none. */
void namer_process_end(struct namer_process *namer);

#endif
