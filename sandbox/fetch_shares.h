/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_FETCH_SHARES_H
#define DP_SANDBOX_FETCH_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "limits/limits.h"

/*
 * Accounts for users whose memory or files are slow to read, or never answer: the helpers that had to be
 * given up, and the time spent waiting. A user over the limit is refused for a while; others are not.
 * Times are those of CLOCK_MONOTONIC, in ns.
 */

/* Who is charged: the owner of the file or memory. */
struct fetch_payer {
	uid_t user;
	dev_t device; /* 0: the user; else only this file system, which the user merely named */
};

/* Starts as zero; fetch_shares_done() ends it. */
struct fetch_shares {
	uint64_t waited_ns; /* of FETCHERS_WAITED_IN_NS; 0: FETCHERS_WAITED_NS */
	struct fetch_lost {
		struct fetch_payer payer;
		uint64_t when; /* 0: there is none */
		int pidfd;     /* until it has ended, then -1 */
	} lost[FETCHERS_IN_ALL];
	struct fetch_lost
		beyond[FETCHERS_BEYOND]; /* until they end; they count for their payers alone */
	struct fetch_waited {
		uid_t user;
		uint64_t since; /* 0: there is none */
		uint64_t ns;
	} waited[FETCHERS_IN_ALL];
};

void fetch_shares_done(struct fetch_shares *shares);

/* May this user's memory be read? */
bool fetch_shares_allow(struct fetch_shares *shares, uid_t user, uint64_t now);

bool fetch_payer_is(const struct fetch_payer *a, const struct fetch_payer *b);

/* How many more helpers this payer may cost now; *ret_all: how many all payers together may. */
size_t fetch_shares_room(struct fetch_shares *shares, const struct fetch_payer *payer, uint64_t now,
			 size_t *ret_all);

/* A helper working for this payer was killed, but may not end. Takes over its pidfd. */
void fetch_shares_lose(struct fetch_shares *shares, const struct fetch_payer *payer, uint64_t now,
		       int pidfd);

/* Charges a user for the time spent waiting for their memory. */
void fetch_shares_charge(struct fetch_shares *shares, uid_t user, uint64_t now, uint64_t ns);

#endif
