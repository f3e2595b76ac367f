/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_PASSAGE_H
#define DP_SANDBOX_PASSAGE_H

#include <sys/types.h>

/*
 * Passes a file to the helper that reads it. If its file system may not answer, this process only
 * refers to the file (O_PATH), since closing an open one would wait for the server (fuse_flush(),
 * fs/fuse/file.c), even when this process ends. So the helper gets a socket instead, and a finder
 * (finder.h) opens the file and sends it there.
 */
struct finders;

struct passage {
	int file;     /* the caller's; -1: there is none */
	int from, to; /* the ends of the socket; -1: the file itself is passed */
};

/* 0 or a negative errno. Ended by passage_done(), also then. */
int passage_init(struct passage *ret, int file);
void passage_done(struct passage *passage);

/* What to send to the helper. */
int passage_end(const struct passage *passage);

/*
 * Sends the file, once the helper has been sent the request. -ECONNABORTED: the helper has ended. After
 * other errors, those of finders_pass(), the caller ends the helper, as it may be waiting.
 */
int passage_complete(struct passage *passage, struct finders *finders, uid_t user);

/* For the helper: replaces a socket by the file that comes through it, which may be none. */
void passage_take(int *fd);

#endif
