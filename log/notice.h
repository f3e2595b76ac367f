/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOG_NOTICE_H
#define DP_LOG_NOTICE_H

#include <pthread.h>
#include <stdbool.h>

/*
 * A message at info level that is logged once if an operation takes long and shows no progress line. A separate
 * thread logs it, because the operation may be blocked. If the thread cannot be started, nothing is logged.
 */
struct notice {
	const char *text;
	int after_ms;
	int ended; /* eventfd */
	pthread_t thread;
	bool has_thread;
};

/*
 * Logs the text after after_ms, or a multiple of it: the first at whose end no progress line is shown.
 * The text and *ret have to stay where they are until notice_end().
 */
void notice_begin(struct notice *ret, int after_ms, const char *text);
/* Nothing is logged after this. */
void notice_end(struct notice *notice);

#endif
