// SPDX-License-Identifier: Apache-2.0
#include "profiler/record_wait.h"

#include "samples/ticks.h"

/*
 * Time between two polls. The process that maps an unknown file may end within milliseconds, so it
 * is short after one was found, and doubles with each poll that finds records of known files only.
 */
#define POLL_LEAST_NS UINT64_C(4000000)
#define POLL_MOST_NS UINT64_C(32000000)

void record_wait_init(struct record_wait *ret, uint64_t gather_ns)
{
	*ret = (struct record_wait){ .gather_ns = gather_ns };
}

/* Polls before samples are due, and after `ns` at the latest. */
static void poll_within(struct record_wait *w, uint64_t ns, uint64_t now)
{
	w->poll_at = now + ns;
	if (w->due > 0 && w->due < w->poll_at)
		w->poll_at = w->due;
}

/* Plans the next poll if records keep coming, and otherwise lets them wake the thread. */
static void plan(struct record_wait *w, bool come, const struct ticks *ticks, uint64_t now)
{
	uint64_t ns = w->poll_ns;

	if (!come || ns == 0) {
		w->poll_at = w->due = 0;
		return;
	}
	if (w->due <= now)
		w->due = ticks_turn(ticks, now);
	/* A sample may be taken at any time. */
	if (w->due == 0 && w->gather_ns < ns)
		ns = w->gather_ns;
	poll_within(w, ns, now);
}

void record_wait_restart(struct record_wait *w, uint64_t n_read, const struct ticks *ticks,
			 uint64_t now)
{
	bool come = n_read != w->n_handled;

	w->n_seen = w->n_handled = n_read;
	w->due = 0;
	w->is_awaited = w->gathers = false;
	plan(w, come, ticks, now);
}

/* Whether records must be handled that have waited until this poll. */
static bool is_over(const struct record_wait *w, enum sideband_haste haste, uint64_t now)
{
	return haste > SIDEBAND_LATER && w->poll_at > 0 &&
	       (haste == SIDEBAND_SOON || w->due <= now);
}

bool record_wait_allows(struct record_wait *w, const struct sideband_look *look,
			const struct ticks *ticks, uint64_t now)
{
	const bool come = look->n_read != w->n_seen, polled = w->poll_at > 0;

	w->n_seen = look->n_read;
	w->is_awaited = look->haste > SIDEBAND_LATER;
	w->gathers = false;
	if (w->gather_ns == 0 || look->haste == SIDEBAND_NOW) {
		w->poll_ns = 0;
		return false;
	}
	if (is_over(w, look->haste, now))
		return false;
	if (come)
		w->poll_ns = w->poll_ns == 0               ? POLL_LEAST_NS :
			     2 * w->poll_ns < POLL_MOST_NS ? 2 * w->poll_ns :
							     POLL_MOST_NS;
	plan(w, come || w->is_awaited, ticks, now);
	w->gathers = come && !polled;
	if (w->gathers)
		poll_within(w, w->gather_ns, now);
	return true;
}

bool record_wait_polls(const struct record_wait *w)
{
	return w->poll_at > 0;
}

uint64_t record_wait_ns(const struct record_wait *w, uint64_t most_ns, uint64_t now)
{
	uint64_t left = w->poll_at > now ? w->poll_at - now : 0;

	return w->poll_at > 0 && left < most_ns ? left : most_ns;
}

uint64_t record_wait_due(const struct record_wait *w)
{
	return w->is_awaited ? w->due : 0;
}
