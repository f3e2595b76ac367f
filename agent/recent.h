/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_RECENT_H
#define DP_AGENT_RECENT_H

#include "report/report.h"

/*
 * The flame graph of the last minute, available at any time: the merged graphs of the last intervals, across runs,
 * in bounded memory. Names are looked up for it only while clients ask for it; until then it has those that are
 * known already. Any thread may use it.
 */
struct recent;

#define RECENT_INTERVAL_NS UINT64_C(10000000000)
#define RECENT_TIME_NS UINT64_C(60000000000)
/* Bytes of all intervals. A full machine's take half a megabyte. */
#define RECENT_SIZE (UINT64_C(2) << 20)

struct recent_counts {
	uint64_t size;     /* bytes in use */
	uint64_t left_out; /* functions that there was no room for, of all intervals so far */
};

/* 0 or -ENOMEM. */
int recent_new(struct recent **ret);
/* Accepts NULL. Returns NULL. */
struct recent *recent_free(struct recent *recent);

/*
 * Makes a report that adds an interval when it is finished: of CPU time, or else of the first event.
 * named: names are looked up anyway. 0 or -ENOMEM.
 */
int recent_report_new(struct recent *recent, bool named, const struct report_context *context,
		      struct report **ret);

/*
 * Writes the picture; process: only those of that name; "": all. 0; -ENODATA: no interval is over yet;
 * -ENOMEM.
 */
int recent_write(struct recent *recent, const char *process, FILE *to);

struct recent_counts recent_counts(struct recent *recent);

#endif
