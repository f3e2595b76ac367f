/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_TESTS_DEBUGINFOD_H
#define DP_SYMBOLS_TESTS_DEBUGINFOD_H

/*
 * Replaces libdebuginfod. Its server has the debug files of all build ids that begin with
 * DEBUGINFOD_KNOWN. They are in $DEBUGINFOD_CACHE_PATH if who asks wants a path.
 */
#define DEBUGINFOD_KNOWN 0xaa

/* The number of requests, and of those that the caller gave up. */
extern _Atomic int debuginfod_n_asked, debuginfod_n_given_up;
/* The negative errno of all requests, or 0; and whether they get no answer meanwhile. */
extern _Atomic int debuginfod_err, debuginfod_is_silent;
/* The size of its files on the disk; 1000 bytes are sent. */
extern _Atomic long debuginfod_size;

/* debuginfod_begin(3), debuginfod_find_debuginfo(3) */
void *debuginfod_begin(void);
void debuginfod_end(void *client);
void debuginfod_set_progressfn(void *client, int (*progress)(void *client, long a, long b));
void debuginfod_set_user_data(void *client, void *data);
void *debuginfod_get_user_data(void *client);
int debuginfod_find_debuginfo(void *client, const unsigned char *build_id, int size, char **path);

#endif
