// SPDX-License-Identifier: Apache-2.0
#include "profiler/record_wait.h"

#include "samples/ticks.h"

/*
 * Between two looks: the process of a file that is not known may end within milliseconds. The less
 * often one is found, the longer.
 */
#define LEAST_PAUSE_NS UINT64_C(4000000)
#define MOST_PAUSE_NS UINT64_C(32000000)

/* For how much longer than they are gathered, records that follow are waited for: a third. */
#define FOLLOW_SHARE 3
/* So many times in sequence. */
#define FOLLOW_MOST 8

void record_wait_init(struct record_wait *ret, uint64_t gather_ns)
{
	*ret = (struct record_wait){ .gather_ns = gather_ns };
}

/* With what follows. */
static uint64_t follow_ns(const struct record_wait *w)
{
	return w->gather_ns + w->gather_ns / FOLLOW_SHARE;
}

/* While records come, they are looked at before each time at which samples are taken. */
static void plan(struct record_wait *w, bool come, const struct ticks *ticks, uint64_t now)
{
	uint64_t pause = w->pause_ns;

	if (w->due <= now)
		w->due = ticks_turn(ticks, now);
	if (w->due == 0 && follow_ns(w) < pause)
		pause = follow_ns(w);
	w->look = come && pause > 0 ? now + pause : 0;
	if (w->look > 0 && w->due > 0 && w->due < w->look)
		w->look = w->due;
}

void record_wait_begin(struct record_wait *w, uint64_t n_read, const struct ticks *ticks,
		       uint64_t now)
{
	bool come = n_read != w->n_handled;

	w->n_seen = w->n_handled = n_read;
	w->n_follows = 0;
	w->due = 0;
	plan(w, come, ticks, now);
}

/* Whether more of a program that starts is waited for. */
static bool follows(struct record_wait *w, bool come, bool expects_more, uint64_t now)
{
	if (w->n_follows > 0 && (!come || !expects_more || w->n_follows > FOLLOW_MOST))
		return false;
	w->look = now + (w->n_follows > 0 ? follow_ns(w) : w->gather_ns);
	w->n_follows++;
	return true;
}

bool record_wait_goes_on(struct record_wait *w, const struct sideband_look *look,
			 const struct ticks *ticks, uint64_t now)
{
	bool come = look->n_read != w->n_seen, is_due = w->due > 0 && w->due <= now;

	w->n_seen = look->n_read;
	if (w->gather_ns == 0 || look->haste == SIDEBAND_NOW) {
		w->pause_ns = 0;
		return false;
	}
	if (look->haste > SIDEBAND_LATER && is_due)
		return false;
	w->pause_ns = w->pause_ns == 0            ? LEAST_PAUSE_NS :
		      w->pause_ns < MOST_PAUSE_NS ? 2 * w->pause_ns :
						    MOST_PAUSE_NS;
	plan(w, come || look->haste > SIDEBAND_LATER, ticks, now);
	if (look->haste == SIDEBAND_SOON || (look->haste == SIDEBAND_BY_SAMPLE && w->due == 0))
		return follows(w, come, look->expects_more, now);
	w->n_follows = 0;
	if (look->haste <= SIDEBAND_LATER)
		w->due = 0;
	return true;
}

bool record_wait_is_quiet(const struct record_wait *w)
{
	return w->look > 0;
}

uint64_t record_wait_ns(const struct record_wait *w, uint64_t most_ns, uint64_t now)
{
	uint64_t left = w->look > now ? w->look - now : 0;

	return w->look > 0 && left < most_ns ? left : most_ns;
}

uint64_t record_wait_due(const struct record_wait *w)
{
	return w->due;
}
