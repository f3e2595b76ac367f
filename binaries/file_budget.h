/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_FILE_BUDGET_H
#define DP_BINARIES_FILE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * How many files of binaries may be open, so that some descriptors are left for everything else:
 * events, maps, rings, reports. Anyone can map any number of files. The lowest free number becomes a
 * descriptor, so its number tells how many are in use.
 */

/*
 * Whether fd may stay open, by its number: below half of RLIMIT_NOFILE, or three quarters if root owns
 * the file.
 */
bool file_budget_allows(int fd);

/*
 * Counts open files per user whose processes map them. A user may have as many open as would still be free after
 * that, so nobody uses up others' files, and a single user gets half of them. Starts as zero; file_budget_done()
 * frees it.
 */
struct file_budget {
	struct file_user *users;
	size_t n;              /* of all users */
	uint64_t object_bytes; /* the same, in copies of what is in memory of their processes */
};

void file_budget_done(struct file_budget *budget);

/* Whether a user's process may have this file open; -1: it is not open yet. */
bool file_budget_has_room(const struct file_budget *budget, uid_t user, int fd);

/*
 * The same for a copy of `size` bytes of the process's memory; root owns the copy, but its content is untrusted. 0;
 * -EMFILE: too many files are open; -ENOSPC: a user may have only as many bytes of copies as stay free for others.
 */
int file_budget_check_object(const struct file_budget *budget, uid_t user, int fd, uint64_t size);

/* One more, or one less. Short of memory, it is not counted. */
void file_budget_take(struct file_budget *budget, uid_t user);
void file_budget_give(struct file_budget *budget, uid_t user);
void file_budget_take_object(struct file_budget *budget, uid_t user, uint64_t size);
void file_budget_give_object(struct file_budget *budget, uid_t user, uint64_t size);

#endif
