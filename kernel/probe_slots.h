/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_PROBE_SLOTS_H
#define DP_KERNEL_PROBE_SLOTS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

struct session;
struct uprobe_places;

/*
 * The maps of probes that are added while a session samples: budgets and counts (struct dp_probe) by slot, and the
 * lists of values to read. For sessions with needs.has_slots. Owns duplicates of the session's descriptors, because a
 * thread that sets a probe may outlive the session: the kernel waits for each process that maps the file, however
 * long. Only one thread at a time may use it.
 */
struct probe_slots;

/* Probes at places of a file, until they are closed. */
struct probe_links {
	int *fds;
	size_t n;
};

/* 0 or a negative errno. */
int probe_slots_new(const struct session *session, struct probe_slots **ret);
/* Accepts NULL. Returns NULL. */
struct probe_slots *probe_slots_free(struct probe_slots *slots);

/* Sets the budget and the counts of a slot that has no links. 0 or a negative errno. */
int probe_slots_set(struct probe_slots *slots, uint32_t slot, const struct dp_probe *probe);
int probe_slots_read(const struct probe_slots *slots, uint32_t slot, struct dp_probe *ret);

/*
 * Makes the programs ignore hits in all slots of a session. Takes effect at once, whereas closing links waits.
 * Callable from any thread.
 */
void probe_slots_silence(const struct session *session);

/* Sets list `number`, below DP_MAX_ARGUMENT_LISTS, of values to read. 0 or a negative errno. */
int probe_slots_set_list(struct probe_slots *slots, uint32_t number,
			 const struct dp_arguments *list);

/*
 * Makes calls of these functions label samples, for a probe to be set next, whose number among such probes is `probe`
 * (call_table.h). Gives the first n places new ids, and the slot. If they are timed, samples list these calls and no
 * others. 0 or a negative errno; -ENOSPC: all probes together would have more than DP_MAX_SPAN_PLACES.
 */
int probe_slots_set_code(struct probe_slots *slots, uint32_t slot, unsigned int probe, size_t n,
			 struct dp_span_places *code);
/* Ends that for the slot, also for calls that the kernel has stored. To be called before the probe is closed. */
void probe_slots_drop_code(struct probe_slots *slots, uint32_t slot);

/* What a hit is. */
enum probe_use {
	PROBE_IS_SAMPLE,
	PROBE_LABELS_SAMPLES, /* those that are taken during the call: spans.bpf.h */
	PROBE_ENDS_CALL,      /* that began at such a hit, if they are timed */
	N_PROBE_USES,
};

/*
 * Sets probes, with cookies DP_PROBE_COOKIE() of a list or of DP_SPAN_COOKIE(), in the given processes only: others
 * get no breakpoint, and nothing is written to their memory. n_pids 0: in all. Logs errors. 0, or a negative errno
 * and none is set. Closing waits for processes, too.
 */
int probe_slots_attach(struct probe_slots *slots, enum probe_use use,
		       const struct uprobe_places *places, const unsigned int *pids, size_t n_pids,
		       struct probe_links *ret);
void probe_links_close(struct probe_links *links);

#endif
