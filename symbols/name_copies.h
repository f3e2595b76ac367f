/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_NAME_COPIES_H
#define DP_SYMBOLS_NAME_COPIES_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * How many copies of files (name_files.h) there are of all binaries together: their bytes, and
 * descriptors. The files of one user have half of them at most. Callable from any thread.
 */

#define NAME_COPIES_MAX 128
#define NAME_COPIES_BYTES_MAX (UINT64_C(256) << 20)

struct name_copies {
	pthread_mutex_t lock;
	size_t n;
	uint64_t bytes;
	struct user_copies {
		uid_t user;
		size_t n; /* 0: the place is free */
		uint64_t bytes;
	} users[NAME_COPIES_MAX];
};

void name_copies_init(struct name_copies *copies);
void name_copies_done(struct name_copies *copies);

/* Reserves a copy of so many bytes of a user's file. 0, or -EDQUOT. */
int name_copies_take(struct name_copies *copies, uid_t user, uint64_t bytes);

/* Gives it back when the copy is closed. */
void name_copies_give_back(struct name_copies *copies, uid_t user, uint64_t bytes);

#endif
