/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_PASSAGE_H
#define DP_SANDBOX_PASSAGE_H

#include <sys/types.h>

/*
 * How a file gets to the helper that reads it. If its file system may not answer, this process only
 * refers to it (O_PATH): to close one that is open would wait for the server (fuse_flush(),
 * fs/fuse/file.c), at the end of this process, too. So the helper gets a socket in its place, and a finder
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
 * The helper has what it was sent; it gets the file now. -ECONNABORTED: the helper has ended. Other errors
 * are those of finders_pass(): then the helper is to be ended, as it may wait.
 */
int passage_complete(struct passage *passage, struct finders *finders, uid_t user);

/* For the helper: replaces a socket by the file that comes through it, which may be none. */
void passage_take(int *fd);

#endif
