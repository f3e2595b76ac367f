// SPDX-License-Identifier: Apache-2.0
#include "profiler/summary.h"

#include <inttypes.h>

#include "log/log.h"
#include "report/outcome.h"

/* About times, and samples that stand for several events. */
static void print_scale(const struct totals *t, unsigned int max_rate, size_t n_events,
			size_t n_unseen)
{
	bool is_scaled = t->events != t->samples && n_events == 1;

	if (is_scaled && max_rate == 0)
		log_info("the samples stand for %" PRIu64 " events", t->events);
	else if (is_scaled)
		log_info("the samples stand for %" PRIu64
			 " events (--max-rate %u); counts and times are scaled",
			 t->events, max_rate);
	if (t->lost_ns > 0)
		log_info("time of blocked threads whose samples were lost: %.3f ms",
			 (double)t->lost_ns / 1e6);
	if (t->still_blocked > 0)
		log_info("threads still blocked at the end: %" PRIu64 "; their time so far counts",
			 t->still_blocked);
	if (n_unseen > 0)
		log_info("threads blocked all the time: %zu; they are not in the profile",
			 n_unseen);
}

void summary_print(const struct totals *t, unsigned int max_rate, size_t n_events, size_t n_unseen)
{
	log_info("%" PRIu64 " samples in %.1f s, %" PRIu64 " lost, %" PRIu64 " of %" PRIu64
		 " with a user stack complete (%.1f %%)",
		 t->samples, (double)t->duration_ns / 1e9, t->lost, t->outcomes[DP_COMPLETE],
		 totals_with_user_stack(t), totals_complete(t));
	for (int i = DP_COMPLETE + 1; i < DP_N_OUTCOMES; i++)
		if (t->outcomes[i] > 0 && log_enabled(LOG_INFO))
			log_detail("%" PRIu64 " %s: %s", t->outcomes[i], outcome_word(i),
				   outcome_sentence(i));
	if (t->pages_requested > 0)
		log_info("%" PRIu64 " pages were not in memory; they were read for later samples",
			 t->pages_requested);
	if (t->outside + t->in_unknown > 0)
		log_info("samples outside long enough calls, left out: %" PRIu64
			 "; undecided: %" PRIu64,
			 t->outside, t->in_unknown);
	if (t->frames_apart > 0)
		log_info("samples without their language's frames, which do not match the native "
			 "ones: %" PRIu64,
			 t->frames_apart);
	if (t->cut_labels > 0)
		log_info(
			"samples that lack some of their labels (too many, too long, not in memory, or "
			"of a second source): %" PRIu64,
			t->cut_labels);
	if (t->unread > 0)
		log_info("samples with values that could not be read (not in memory): %" PRIu64,
			 t->unread);
	print_scale(t, max_rate, n_events, n_unseen);
	if (t->finished_late > 0)
		log_debug("%" PRIu64 " samples were walked in user space", t->finished_late);
}

void summary_tell_interrupted(void)
{
	log_info("interrupted before sampling began");
}
