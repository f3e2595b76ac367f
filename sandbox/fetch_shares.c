// SPDX-License-Identifier: Apache-2.0
#include "sandbox/fetch_shares.h"

#include <poll.h>
#include <unistd.h>

#include "base/array.h"

void fetch_shares_done(struct fetch_shares *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->lost); i++)
		if (s->lost[i].when > 0 && s->lost[i].pidfd >= 0)
			close(s->lost[i].pidfd);
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

/* Where to note one more, or NULL: this user is over their share, or all are. */
static struct fetch_lost *find_room(struct fetch_shares *s, uid_t user, uint64_t now)
{
	struct fetch_lost *room = NULL;
	size_t n_of_user = 0;

	for (size_t i = 0; i < ARRAY_SIZE(s->lost); i++) {
		if (!still_counts(&s->lost[i], now))
			room = &s->lost[i];
		else
			n_of_user += s->lost[i].user == user;
	}
	return n_of_user < FETCHERS_PER_USER ? room : NULL;
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
	const struct fetch_waited *w = find_waited(s, user);

	return find_room(s, user, now) &&
	       (w->since == 0 || w->user != user || w->ns < FETCHERS_WAITED_NS ||
		now >= w->since + FETCHERS_WAITED_IN_NS);
}

void fetch_shares_lose(struct fetch_shares *s, uid_t user, uint64_t now, int pidfd)
{
	struct fetch_lost *room = find_room(s, user, now);

	if (room)
		*room = (struct fetch_lost){ user, now, pidfd };
	else
		close(pidfd);
}

void fetch_shares_charge(struct fetch_shares *s, uid_t user, uint64_t now, uint64_t ns)
{
	struct fetch_waited *w = find_waited(s, user);

	if (w->user != user || w->since == 0 || now >= w->since + FETCHERS_WAITED_IN_NS)
		*w = (struct fetch_waited){ user, now, 0 };
	w->ns += ns;
}
