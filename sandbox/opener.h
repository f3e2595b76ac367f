/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_OPENER_H
#define DP_SANDBOX_OPENER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Opens files for a helper whose attempts to open files wait for this process (confine.h). libdw
 * opens debug files by itself, by names that come from the files it reads, and such a file may have
 * compromised the helper. So the helper gets only debug files that its files' owner may have
 * (elf/debug_search.h).
 */
struct finders;

/* What the helper has sent; -1: nothing. */
enum opener_end {
	OPENER_LISTENER,
	/*
	 * Its /proc/self/mem and maps, which it has opened before it was confined: this process may not be
	 * allowed to.
	 */
	OPENER_MEMORY,
	OPENER_MAPPINGS,
	OPENER_N_ENDS,
};

struct opener {
	int ends[OPENER_N_ENDS];
	dev_t device; /* of the files that it has */
	uid_t user;   /* who owns them */
	/* Open debug files (finders.h), for a process of `asker`; NULL: this process opens them */
	struct finders *finders;
	uid_t asker;
	/*
	 * The binary that it works on, and its supposed path. libdw looks for debug files of the same
	 * name, and compares both by stat(), which the helper may not be permitted.
	 */
	dev_t own_device;
	ino_t own_inode;
	char own_path[PATH_MAX];
	/* Of NAMER_SERVER: returns a descriptor or -1. */
	int (*fetch)(void *arg, const unsigned char *build_id, size_t size);
	void *arg;
	uint64_t opened;          /* bytes of all files that were opened */
	uint64_t waited_ns;       /* for file systems, by finders; not for servers of debug files */
	bool has_foreign;         /* the helper has got a file that may not answer (passage.h) */
	dev_t foreign_device;     /* of the last of these */
	unsigned int n_forbidden; /* files that exist and may not be opened */
};

/* Opens the memory and the mappings of this process. */
void opener_open_self(int ends[OPENER_N_ENDS]);
/* Closes those that there are; all are -1 then. */
void opener_close(int ends[OPENER_N_ENDS]);

/* Answers one attempt, if there is one. Waits for a finder, which looks the file up. */
void opener_answer(struct opener *opener);

/* The helper gets a file that may not answer. */
void opener_note_foreign(struct opener *opener, int fd);

/* Puts a file into the helper. Returns its descriptor there or a negative errno. */
int opener_add(int listener, uint64_t id, int fd);

#endif
