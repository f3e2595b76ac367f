/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_TESTS_WRAPPED_H
#define DP_SAMPLES_TESTS_WRAPPED_H

#include "kernel/session.h"
#include "process/sideband.h"

/* What the linker calls in place of the program's functions (--wrap, samples/meson.build). */
int __wrap_session_read_rings(struct session *session, ring_fn fn, void *arg);
int __wrap_session_consume(struct session *session);
void __wrap_session_losses(const struct session *session, struct session_losses *ret);
int __wrap_session_each_blocked(const struct session *session, uint64_t until_ns,
				int (*fn)(void *arg, const struct dp_blocked *blocked,
					  uint64_t time_ns),
				void *arg);
int __wrap_sideband_drain(struct sideband *sideband, struct process_table *processes);
bool __wrap_sideband_take_loss(struct sideband *sideband);
bool __wrap_sideband_is_behind(const struct sideband *sideband);

#endif
