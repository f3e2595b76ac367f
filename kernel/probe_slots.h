/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_PROBE_SLOTS_H
#define DP_KERNEL_PROBE_SLOTS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

struct session;
struct uprobe_places;

/*
 * What the kernel knows of probes that are added while a session samples: their budgets and counts
 * (struct dp_probe), by slot, and the lists of what they read. Of a session with needs.has_slots, but it
 * has descriptors of its own: the kernel waits for each process that has mapped a file, however long, so a
 * thread that sets a probe may still do so when the session is gone. To be used by one thread at a time.
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

/* Sets what a slot may cost, and its counts to those. While it has no links. 0 or a negative errno. */
int probe_slots_set(struct probe_slots *slots, uint32_t slot, const struct dp_probe *probe);
int probe_slots_read(const struct probe_slots *slots, uint32_t slot, struct dp_probe *ret);

/*
 * Hits in all slots of a session are not looked at any more: at once, while closing links waits. Callable
 * from any thread.
 */
void probe_slots_silence(const struct session *session);

/* Sets list `number` of what is read, of which there are DP_MAX_ARGUMENT_LISTS. 0 or a negative errno. */
int probe_slots_set_list(struct probe_slots *slots, uint32_t number,
			 const struct dp_arguments *list);

/*
 * From now on, calls of these functions label samples, of a probe that is set then, and has this number among
 * those that do (call_table.h): gives the first n places new ids, and the slot. If they are timed, samples list
 * them, and no others do. 0 or a negative errno; -ENOSPC: all probes would have more than DP_MAX_SPAN_PLACES.
 */
int probe_slots_set_code(struct probe_slots *slots, uint32_t slot, unsigned int probe, size_t n,
			 struct dp_span_places *code);
/* Those of the slot do not any more, whatever calls the kernel keeps: before the probe is closed. */
void probe_slots_drop_code(struct probe_slots *slots, uint32_t slot);

/* What a hit is. */
enum probe_use {
	PROBE_IS_SAMPLE,
	PROBE_LABELS_SAMPLES, /* those that are taken during the call: spans.bpf.h */
	PROBE_ENDS_CALL,      /* that began at such a hit, if they are timed */
	N_PROBE_USES,
};

/*
 * Sets probes, whose cookies are DP_PROBE_COOKIE(), of a list or of DP_SPAN_COOKIE(), in some processes alone:
 * others have no breakpoint, and nothing is written to their memory. No processes: in all. 0, or a negative
 * errno, and none is set; logs errors. Closing waits, too.
 */
int probe_slots_attach(struct probe_slots *slots, enum probe_use use,
		       const struct uprobe_places *places, const unsigned int *pids, size_t n_pids,
		       struct probe_links *ret);
void probe_links_close(struct probe_links *links);

#endif
