/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_PULLS_H
#define DP_AGENT_PULLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/window.h"
#include "report/report.h"

struct process_labels;

/*
 * On-demand profiles of the next seconds. Each begins and ends at a boundary in the stream of samples
 * (profiler_take()), so it has all samples of its time and no others. Without requests, samples cost nothing here.
 *
 * Any thread may ask. The profiler's thread calls pulls_due() and pulls_plan(), the reports' thread the rest.
 */
struct pulls;

struct pull_request {
	uint64_t duration_ns;
	const char *format; /* of reports, a constant */
	bool blocked;       /* with the time that threads are off the CPU, if that is sampled */
	pid_t pid;          /* only this process; 0: any */
	char comm[64];      /* only processes of this name; "": any */
	char cgroup[256];   /* only in this cgroup or below, as in /proc/PID/cgroup; "": any */
};

struct pull;

/* wake: called by the asking thread when pulls_due() has changed. 0 or -ENOMEM. */
int pulls_new(void (*wake)(void *arg), void *arg, struct pulls **ret);
/*
 * Fails all requests, now and until pulls_open(). Returns whether none is left; false: one is being completed,
 * which takes as long as looking up its names.
 */
bool pulls_try_close(struct pulls *pulls);
/* Waits for that one. */
void pulls_close(struct pulls *pulls);
void pulls_open(struct pulls *pulls);
/* Accepts NULL. Returns NULL. */
struct pulls *pulls_free(struct pulls *pulls);

/*
 * Asks for a profile. Calls done(arg) once, by the reports' thread or in pulls_try_close(), when it is
 * complete or has failed. 0; -EBUSY: there are too many; -ESHUTDOWN: closed; -ENOMEM.
 */
int pulls_ask(struct pulls *pulls, const struct pull_request *request, void (*done)(void *arg),
	      void *arg, struct pull **ret);
/* After done(): the profile (pprof is compressed), which belongs to the pull, or a negative errno. */
int pull_result(const struct pull *pull, const char **ret, size_t *ret_size);
/* After done(). */
void pull_free(struct pull *pull);

/*
 * Fails requests whose client is gone, as is_gone() says for the argument of done(); it is called under a lock. One
 * that is being begun or completed, or is receiving a sample, stays until the next call.
 */
void pulls_drop(struct pulls *pulls, bool (*is_gone)(void *arg));

/*
 * The report that takes part in a profiler's run; freed by pulls_report_free(). labels: those of the reports'
 * thread, which say in which cgroups samples are.
 */
int pulls_report_new(struct pulls *pulls, const struct report_context *context,
		     const struct window *window, struct process_labels *labels,
		     struct report **ret);
/* After the run: its pulls that are not complete get what there is. */
void pulls_report_free(struct report *report, const struct totals *totals);

/* When the next profile begins or ends: 0: now; UINT64_MAX: none. */
uint64_t pulls_due(struct pulls *pulls);
/*
 * Begins or ends those that are due at this time, the boundary of the report's next pulls_taken(). A pull that
 * begins belongs to that report.
 */
void pulls_plan(struct report *report, uint64_t now_ns, uint64_t now_real_ns);
/* A report_taken_fn: all samples from before that time have been passed. */
int pulls_taken(void *arg, struct report *report, const struct totals *totals);

#endif
