/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_PROFILER_PARTS_H
#define DP_PROFILER_PROFILER_PARTS_H

#include <sys/utsname.h>

#include "kernel/session.h"
#include "loop/loop.h"
#include "process/cpu_watch.h"
#include "process/watch.h"
#include "profiler/needs.h"
#include "profiler/profiler.h"
#include "profiler/record_wait.h"
#include "profiler/stores.h"
#include "samples/drain.h"
#include "samples/event_label.h"
#include "samples/label_values.h"

/* What a profiler is made of, for profiler.c, which makes and ends it, and profiler_run.c. */

/* The members are set up in this order, and torn down in reverse. */
struct profiler {
	const struct profiler_options *options;
	struct needs needs; /* of the options' events */
	pid_t launched;
	char target[256];
	struct event_text event;
	/* If several events are sampled: their names, and samples' labels. */
	char names[EVENT_MAX][EVENT_NAME_SIZE];
	struct report_event several[EVENT_MAX];
	struct event_labels event_labels;
	struct value_labels value_labels;         /* if the event's samples have values */
	char value_units[EVENT_MAX][32];          /* of the events' numbers, or of those of one */
	struct report_number more[EVENT_MAX - 1]; /* of one event, but the first */
	struct probe_server *probes;              /* NULL: none can be added */
	struct utsname machine;
	char kernel[256];
	/* To sample: only if an event needs a program */
	struct cpu_watch cpus;
	struct loop loop;
	struct session session;
	struct sideband *sideband;
	/* To walk stacks and name them */
	struct stores stores;
	struct unwinder *unwinder;
	struct kallsyms *kallsyms;
	/* While sampling */
	struct report_queue *report_queue;
	struct module_users users;
	struct verify_queue *verify; /* NULL: not requested */
	struct drain drain;
	struct watch watch; /* on the targets */
	struct record_wait record_wait;
	uint64_t drained; /* when the rings were read last */
	uint64_t started;
	uint64_t stopped;
	size_t n_unseen;
};

/* False: no samples are taken, as none were asked for, or the programs are not loaded yet. */
static inline bool profiler_has_session(const struct profiler *p)
{
	return p->session.bpf;
}

#endif
