/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOG_NOTICE_H
#define DP_LOG_NOTICE_H

#include <pthread.h>
#include <stdbool.h>

/*
 * A message at info level that is logged once, if something takes long and no progress line tells of
 * it. Its own thread logs it: whatever takes long may not get to look at the clock. If that thread
 * cannot be started, nothing is logged.
 */
struct notice {
	const char *text;
	int after_ms;
	int ended; /* eventfd */
	pthread_t thread;
	bool has_thread;
};

/*
 * Logs the text when so much time has passed, or as much again, without a progress line at its end.
 * The text and *ret have to stay where they are until notice_end().
 */
void notice_begin(struct notice *ret, int after_ms, const char *text);
/* Nothing is logged after this. */
void notice_end(struct notice *notice);

#endif
