// SPDX-License-Identifier: Apache-2.0
#include "sandbox/fetch_shares.h"

#include <poll.h>
#include <unistd.h>

#include "base/array.h"
#include "limits/limits.h"

static void close_all(const struct fetch_lost *lost, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (lost[i].when > 0 && lost[i].pidfd >= 0)
			close(lost[i].pidfd);
}

void fetch_shares_done(struct fetch_shares *s)
{
	close_all(s->lost, ARRAY_SIZE(s->lost));
	close_all(s->beyond, ARRAY_SIZE(s->beyond));
	*s = (struct fetch_shares){ 0 };
}

static bool has_ended(int pidfd)
{
	struct pollfd fd = { .fd = pidfd, .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

static bool still_counts(struct fetch_lost *lost, uint64_t now)
{
	if (lost->when == 0)
		return false;
	if (lost->pidfd >= 0 && has_ended(lost->pidfd)) {
		close(lost->pidfd);
		lost->pidfd = -1;
	}
	if (lost->pidfd < 0 && now >= lost->when + FETCHERS_REFUSED_NS)
		lost->when = 0;
	return lost->when > 0;
}

static bool is_stuck(struct fetch_lost *beyond)
{
	if (beyond->when == 0)
		return false;
	if (has_ended(beyond->pidfd)) {
		close(beyond->pidfd);
		beyond->when = 0;
	}
	return beyond->when > 0;
}

bool fetch_payer_is(const struct fetch_payer *a, const struct fetch_payer *b)
{
	return a->user == b->user && a->device == b->device;
}

static size_t count_beyond(struct fetch_shares *s, const struct fetch_payer *payer)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(s->beyond); i++)
		n += is_stuck(&s->beyond[i]) && fetch_payer_is(&s->beyond[i].payer, payer);
	return n;
}

size_t fetch_shares_room(struct fetch_shares *s, const struct fetch_payer *payer, uint64_t now,
			 size_t *ret_all)
{
	size_t n_of_payer = 0, n_of_all = 0, room;

	for (size_t i = 0; i < ARRAY_SIZE(s->lost); i++) {
		if (!still_counts(&s->lost[i], now))
			continue;
		n_of_all++;
		n_of_payer += fetch_payer_is(&s->lost[i].payer, payer);
	}
	n_of_payer += count_beyond(s, payer);
	*ret_all = ARRAY_SIZE(s->lost) - n_of_all;
	room = n_of_payer < FETCHERS_PER_USER ? FETCHERS_PER_USER - n_of_payer : 0;
	return room < *ret_all ? room : *ret_all;
}

/* The user's, or in its place the one that began first. */
static struct fetch_waited *find_waited(struct fetch_shares *s, uid_t user)
{
	struct fetch_waited *oldest = &s->waited[0];

	for (size_t i = 0; i < ARRAY_SIZE(s->waited); i++) {
		struct fetch_waited *w = &s->waited[i];

		if (w->since > 0 && w->user == user)
			return w;
		if (w->since < oldest->since)
			oldest = w;
	}
	return oldest;
}

bool fetch_shares_allow(struct fetch_shares *s, uid_t user, uint64_t now)
{
	const struct fetch_payer payer = { .user = user };
	const struct fetch_waited *w = find_waited(s, user);
	uint64_t limit = s->waited_ns ? s->waited_ns : FETCHERS_WAITED_NS;
	size_t in_all;

	return fetch_shares_room(s, &payer, now, &in_all) > 0 &&
	       (w->since == 0 || w->user != user || w->ns < limit ||
		now >= w->since + FETCHERS_WAITED_IN_NS);
}

/* True if there is room for it. */
static bool keep_beyond(struct fetch_shares *s, const struct fetch_payer *payer, uint64_t now,
			int pidfd)
{
	if (count_beyond(s, payer) >= FETCHERS_BEYOND_OF_USER)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(s->beyond); i++)
		if (!is_stuck(&s->beyond[i])) {
			s->beyond[i] = (struct fetch_lost){ *payer, now, pidfd };
			return true;
		}
	return false;
}

/* What is beyond a user's share does not take that of others. */
void fetch_shares_lose(struct fetch_shares *s, const struct fetch_payer *payer, uint64_t now,
		       int pidfd)
{
	size_t all, room = fetch_shares_room(s, payer, now, &all);

	for (size_t i = 0; room > 0 && i < ARRAY_SIZE(s->lost); i++)
		if (!still_counts(&s->lost[i], now)) {
			s->lost[i] = (struct fetch_lost){ *payer, now, pidfd };
			return;
		}
	if (pidfd >= 0 && !keep_beyond(s, payer, now, pidfd))
		close(pidfd);
}

void fetch_shares_charge(struct fetch_shares *s, uid_t user, uint64_t now, uint64_t ns)
{
	struct fetch_waited *w = find_waited(s, user);

	if (w->user != user || w->since == 0 || now >= w->since + FETCHERS_WAITED_IN_NS)
		*w = (struct fetch_waited){ user, now, 0 };
	w->ns += ns;
}
