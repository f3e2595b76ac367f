// SPDX-License-Identifier: Apache-2.0
#include "profiler/record_wait.h"

#include "samples/ticks.h"

/*
 * Time between two polls. The process that maps an unknown file may end within milliseconds, so it
 * is short after one was found, and doubles with each poll that finds none.
 */
#define POLL_LEAST_NS UINT64_C(4000000)
#define POLL_MOST_NS UINT64_C(32000000)

/* If a program is starting, records are gathered longer by this part of gather_ns, */
#define FOLLOW_PART 3
/* at most so many times in a row. */
#define FOLLOW_MOST 8

void record_wait_init(struct record_wait *ret, uint64_t gather_ns)
{
	*ret = (struct record_wait){ .gather_ns = gather_ns };
}

/* How long to gather if a program is starting. */
static uint64_t follow_ns(const struct record_wait *w)
{
	return w->gather_ns + w->gather_ns / FOLLOW_PART;
}

/* Plans the next poll if records keep coming, and otherwise lets them wake the thread. */
static void plan(struct record_wait *w, bool come, const struct ticks *ticks, uint64_t now)
{
	uint64_t ns = w->poll_ns;

	if (w->due <= now)
		w->due = ticks_turn(ticks, now);
	if (w->due == 0 && follow_ns(w) < ns)
		ns = follow_ns(w);
	w->poll_at = come && ns > 0 ? now + ns : 0;
	if (w->poll_at > 0 && w->due > 0 && w->due < w->poll_at)
		w->poll_at = w->due;
}

void record_wait_restart(struct record_wait *w, uint64_t n_read, const struct ticks *ticks,
			 uint64_t now)
{
	bool come = n_read != w->n_handled;

	w->n_seen = w->n_handled = n_read;
	w->n_follows = 0;
	w->due = 0;
	plan(w, come, ticks, now);
}

/* Gathers the records of a program that is starting. False: there are no more to wait for. */
static bool follows(struct record_wait *w, bool come, bool expects_more, uint64_t now)
{
	if (w->n_follows > 0 && (!come || !expects_more || w->n_follows > FOLLOW_MOST))
		return false;
	w->poll_at = now + (w->n_follows > 0 ? follow_ns(w) : w->gather_ns);
	w->n_follows++;
	return true;
}

bool record_wait_allows(struct record_wait *w, const struct sideband_look *look,
			const struct ticks *ticks, uint64_t now)
{
	bool come = look->n_read != w->n_seen, is_due = w->due > 0 && w->due <= now;

	w->n_seen = look->n_read;
	if (w->gather_ns == 0 || look->haste == SIDEBAND_NOW) {
		w->poll_ns = 0;
		return false;
	}
	if (look->haste > SIDEBAND_LATER && is_due)
		return false;
	w->poll_ns = w->poll_ns == 0           ? POLL_LEAST_NS :
		     w->poll_ns < POLL_MOST_NS ? 2 * w->poll_ns :
						 POLL_MOST_NS;
	plan(w, come || look->haste > SIDEBAND_LATER, ticks, now);
	if (look->haste == SIDEBAND_SOON || (look->haste == SIDEBAND_BY_SAMPLE && w->due == 0))
		return follows(w, come, look->expects_more, now);
	w->n_follows = 0;
	if (look->haste <= SIDEBAND_LATER)
		w->due = 0;
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
	return w->due;
}
