// SPDX-License-Identifier: Apache-2.0
#include "probes/probe_peers.h"

#include "limits/limits.h"

static size_t count(const struct probe_peer *peers, uid_t user)
{
	size_t n = 0;

	for (size_t i = 0; i < PROBE_PEERS_MAX; i++)
		n += peers[i].fd >= 0 && peers[i].who.uid == user;
	return n;
}

static bool all_wait(const struct probe_peer *peers, uid_t user)
{
	for (size_t i = 0; i < PROBE_PEERS_MAX; i++)
		if (peers[i].fd >= 0 && peers[i].who.uid == user && !probe_peer_waits(&peers[i]))
			return false;
	return true;
}

/* What a user has that counts when one of all gives a place to `for_user`. */
static size_t weigh(const struct probe_peer *peers, uid_t user, uid_t for_user)
{
	const size_t n = count(peers, user);

	if (for_user == 0)
		return user == 0 && all_wait(peers, 0) ? 0 : n;
	if (user == 0)
		return 1;
	return n > 1 && n > count(peers, for_user) ? n : 0;
}

/*
 * Who gives a place to a user: to root, who has most, but not root itself if all that it has wait; to others, who
 * has more than they, and more than one, else root; else they themselves.
 */
static uid_t find_greediest(const struct probe_peer *peers, uid_t for_user)
{
	uid_t user = for_user;
	size_t most = 0;

	for (size_t i = 0; i < PROBE_PEERS_MAX; i++) {
		const uid_t of = peers[i].who.uid;
		const size_t n = peers[i].fd < 0 ? 0 : weigh(peers, of, for_user);

		if (n <= most)
			continue;
		user = of;
		most = n;
	}
	return user;
}

/* Of one user's, who goes first: of those who do not wait the oldest, else the youngest without an answer. */
static bool goes_before(const struct probe_peer *a, const struct probe_peer *b)
{
	bool a_waits = probe_peer_waits(a), b_waits = probe_peer_waits(b);

	if (a_waits != b_waits)
		return b_waits;
	if (!a_waits)
		return a->number < b->number;
	if (!a->answer != !b->answer)
		return !a->answer;
	return a->number > b->number;
}

static struct probe_peer *find_first_to_go(struct probe_peer *peers, uid_t user)
{
	struct probe_peer *first = NULL;

	for (size_t i = 0; i < PROBE_PEERS_MAX; i++) {
		struct probe_peer *p = &peers[i];

		if (p->fd >= 0 && p->who.uid == user && (!first || goes_before(p, first)))
			first = p;
	}
	return first;
}

struct probe_peer *probe_peers_find_place(struct probe_peer *peers, uid_t user)
{
	const bool has_most = user != 0 && count(peers, user) >= PROBE_PEERS_OF_USER;
	struct probe_peer *first;
	uid_t of;

	for (size_t i = 0; i < PROBE_PEERS_MAX && !has_most; i++)
		if (peers[i].fd < 0)
			return &peers[i];
	of = has_most ? user : find_greediest(peers, user);
	first = find_first_to_go(peers, of);
	return first && of == user && probe_peer_waits(first) ? NULL : first;
}

void probe_peers_refuse(int fd)
{
	static const char why[] = "{\"error\":\"too many requests at once: try again\"}\n";

	(void)send(fd, why, sizeof(why) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}
