/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_FINDERS_H
#define DP_SANDBOX_FINDERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "elf/debug_search.h"
#include "sandbox/fetch_shares.h"

/*
 * Opens files by finders (finder.h), which threads share. One that does not answer is ended, or left to
 * itself if it cannot be. A user may cost two at a time, and all users 16 (fetch_shares.h); who has, waits
 * a minute, but for files of file systems that are known to answer. What the user of this program has named, or
 * root's processes have, costs whoever serves its file system, else that file system alone.
 *
 * Where no finder can be started at all, this process opens the files, and waits for them. NULL everywhere
 * below: likewise.
 */
struct finders;
struct given;
struct starter;

/* Whoever is to blame is not known. */
#define FINDERS_NOBODY ((uid_t)-1)

struct found_file {
	/* The caller closes it. Of a foreign file, unless this process had to open it, only a reference. */
	int fd;
	bool is_foreign; /* its file system may not answer (stored_file_is_foreign()) */
	struct stat st;  /* when it was opened */
};

/* The caller keeps `starter`. 0 or -ENOMEM. */
int finders_new(struct starter *starter, struct finders **ret);
/* Returns NULL. */
struct finders *finders_free(struct finders *finders);

/*
 * Opens the file that a descriptor refers to, which the caller keeps, for a process of a user. Callable
 * from any thread; waits, at most some FINDERS_TIME_NS. 0; -ETIMEDOUT: the file system does not answer;
 * -EBUSY: others of the user's do not, so it is not asked; -EAGAIN: it cannot be told now; or the
 * negative errno of opening it.
 */
int finders_open(struct finders *finders, uid_t user, int reference, struct found_file *ret);

/*
 * Likewise the regular file with a path and this inode (0: any), below `root`, which links cannot leave,
 * unless that is negative.
 */
int finders_look_up(struct finders *finders, uid_t user, int root, const char *path, uint64_t inode,
		    struct found_file *ret);

/* Does source_file_copy() for a user. Returns as that does, or with the errors above. */
int finders_copy_source(struct finders *finders, uid_t user, const char *path, int to);

/* Does debug_place_open() for a user. Returns as that does, or with the errors above. */
int finders_open_debug(struct finders *finders, uid_t user, const struct debug_place *place,
		       int root);

/*
 * Likewise the perf map of a process with that number in its own PID namespace, of `owner` (jit_map_open());
 * and a jitdump: what `place` refers to, or what has that path and inode below it. Waits FINDERS_SHORT_NS.
 */
int finders_open_map(struct finders *finders, uid_t user, int root, pid_t pid, uid_t owner);
int finders_open_dump(struct finders *finders, uid_t user, int place, const char *path,
		      uint64_t inode);

/*
 * A helper that has read such a file for a user, on this device (0: not known), was killed, and may not end: it
 * costs what a finder would. Takes over its pidfd; -1: it will end.
 */
void finders_blame(struct finders *finders, uid_t user, dev_t device, int pidfd);

/* Sends the opened file through a socket. The caller keeps both. Errors are as above. */
int finders_pass(struct finders *finders, uid_t user, int reference, int socket);

/* Likewise gives it to who has tried to open it (opener_add()). Returns the descriptor there or an error. */
int finders_add(struct finders *finders, uid_t user, int reference, int listener, uint64_t id);

/*
 * Does given_receive() for a user who has sent it. Errors are those of both; *ret_first is -1 then. What has
 * arrived may be lost. -ESHUTDOWN: there are no helpers, and this process does it for itself and root alone.
 */
int finders_receive(struct finders *finders, uid_t user, int socket, size_t size, struct given *ret,
		    int *ret_first);

/*
 * Closes a socket without waiting for what a user has sent through it and nobody has received: that is closed by
 * a helper's end, which costs the user; 0: nobody.
 */
void finders_close(struct finders *finders, uid_t user, int socket);

#endif
