// SPDX-License-Identifier: Apache-2.0
/* Who has to go for one more. */
#include "probes/probe_peers.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "limits/limits.h"

enum { ROOT = 0, A = 1000, B, C };

static struct probe_peer peers[PROBE_PEERS_MAX];
static int others[PROBE_PEERS_MAX];
static size_t n_peers;

static void begin(void)
{
	n_peers = 0;
	for (size_t i = 0; i < PROBE_PEERS_MAX; i++)
		peers[i] = (struct probe_peer){ .fd = -1 };
}

static void end(void)
{
	for (size_t i = 0; i < n_peers; i++) {
		probe_peer_done(&peers[i], NULL);
		close(others[i]);
	}
}

TestSuite(probe_peers, .init = begin, .fini = end);

/* So many of a user come, and each sends this. */
static void come(size_t n, uid_t user, const char *text)
{
	for (size_t i = 0; i < n; i++) {
		const size_t size = strlen(text);
		int fds[2];

		cr_assert(n_peers < PROBE_PEERS_MAX &&
			  socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
		cr_assert_eq(write(fds[0], text, size), (ssize_t)size);
		probe_peer_init(&peers[n_peers], fds[1], &(struct ucred){ .uid = user }, n_peers);
		others[n_peers++] = fds[0];
	}
}

static const char idle[] = "", half[] = "{", whole[] = "{}\n";

Test(probe_peers, take_free_places)
{
	come(PROBE_PEERS_OF_USER - 1, A, whole);
	cr_assert_eq(probe_peers_find_place(peers, A), &peers[2]);
	come(1, A, whole);
	cr_assert_null(probe_peers_find_place(peers, A), "of the user's own");
	cr_assert_eq(probe_peers_find_place(peers, B), &peers[3]);
}

Test(probe_peers, go_unless_they_have_asked)
{
	come(1, A, whole);
	come(1, A, half);
	come(1, A, idle);
	cr_assert_eq(probe_peers_find_place(peers, A), &peers[1]);
	cr_assert_eq(write(others[1], "\n", 1), 1);
	cr_assert_eq(probe_peers_find_place(peers, A), &peers[2]);
	cr_assert_eq(write(others[2], whole, strlen(whole)), (ssize_t)strlen(whole));
	cr_assert_null(probe_peers_find_place(peers, A));
}

Test(probe_peers, go_for_root_if_its_own_wait)
{
	come(3, ROOT, whole);
	come(2, B, idle);
	come(3, A, idle);
	cr_assert_eq(probe_peers_find_place(peers, ROOT), &peers[5], "whose are most");
	cr_assert_eq(write(others[5], whole, strlen(whole)), (ssize_t)strlen(whole));
	cr_assert_eq(probe_peers_find_place(peers, ROOT), &peers[6]);
}

Test(probe_peers, go_for_root_if_it_has_most)
{
	come(4, ROOT, whole);
	come(1, B, whole);
	come(3, ROOT, whole);
	cr_assert_eq(probe_peers_find_place(peers, ROOT), &peers[4]);
	cr_assert_eq(recv(peers[6].fd, peers[6].text, strlen(whole), 0), (ssize_t)strlen(whole));
	cr_assert_eq(probe_peers_find_place(peers, ROOT), &peers[6], "an idle one of its own");
}

Test(probe_peers, do_not_go_for_root_if_all_are_its_own)
{
	come(PROBE_PEERS_MAX, ROOT, whole);
	cr_assert_null(probe_peers_find_place(peers, ROOT));
	cr_assert_eq(probe_peers_find_place(peers, A), &peers[PROBE_PEERS_MAX - 1]);
}

Test(probe_peers, go_for_who_has_fewer)
{
	come(2, B, whole);
	come(3, ROOT, idle);
	come(3, A, whole);
	cr_assert_eq(probe_peers_find_place(peers, B), &peers[7]);
	cr_assert_eq(probe_peers_find_place(peers, C), &peers[7]);
}

Test(probe_peers, go_from_root_if_all_others_have_one)
{
	come(1, A, idle);
	come(7, ROOT, whole);
	cr_assert_eq(probe_peers_find_place(peers, B), &peers[7]);
}

Test(probe_peers, go_from_root_if_others_have_no_more)
{
	come(2, A, idle);
	come(2, B, whole);
	come(4, ROOT, whole);
	cr_assert_eq(probe_peers_find_place(peers, B), &peers[7]);
}
