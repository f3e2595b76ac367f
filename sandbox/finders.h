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
 * Opens files through finders (finder.h), which threads share. A finder that does not answer is killed,
 * and abandoned if it does not end. A user may cost two finders at a time, and all users 16
 * (fetch_shares.h). Beyond that, for a minute, only files on file systems known to answer are opened.
 * Files that this program's own user, or a process of that user, has named are charged to the user who
 * serves their file system, or else to that file system alone.
 *
 * If no finder can be started at all, or `finders` is NULL below, this process opens the files, and
 * waits for them.
 */
struct finders;
struct given;
struct starter;

/* The user to charge is not known. */
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
 * from any thread; waits for at most about FINDERS_TIME_NS. 0; -ETIMEDOUT: the file system does not
 * answer; -EBUSY: other files of the user did not, so this one is not tried; -EAGAIN: there is no finder
 * now; or the negative errno of opening it.
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
 * Charges for a helper that read such a file for a user, on this device (0: not known), was killed, and
 * may not end: it counts like a finder. Takes over its pidfd; -1: it will end.
 */
void finders_blame(struct finders *finders, uid_t user, dev_t device, int pidfd);

/* Sends the opened file through a socket. The caller keeps both. Errors are as above. */
int finders_pass(struct finders *finders, uid_t user, int reference, int socket);

/*
 * Likewise gives it to the helper that tried to open it (opener_add()). Returns the descriptor there or an
 * error.
 */
int finders_add(struct finders *finders, uid_t user, int reference, int listener, uint64_t id);

/*
 * Does given_receive() for the user who has sent the text. Errors are those of both; *ret_first is -1 then,
 * and what has arrived may be lost. -ESHUTDOWN: there are no helpers, and this process receives only from
 * its own user and root.
 */
int finders_receive(struct finders *finders, uid_t user, int socket, size_t size, struct given *ret,
		    int *ret_first);

/*
 * Closes a socket without waiting for descriptors that a user has sent through it and nobody has received.
 * A helper closes these when it ends, and is charged to the user; 0: to nobody.
 */
void finders_close(struct finders *finders, uid_t user, int socket);

#endif
