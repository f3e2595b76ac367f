/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_DEBUG_SEARCH_H
#define DP_ELF_DEBUG_SEARCH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Finds the separate debug file of a file by its build id or its .gnu_debuglink, in the places where
 * GDB looks ("Debugging Information in Separate Files"). Only opens files: whether one is the right
 * one, its reader decides.
 *
 * Programs choose the names, and their files' readers may be under their control, so none gets what
 * the program's owner could not read, or what others made:
 *
 *   - regular files that begin as ELF files do,
 *   - of the owner of the program's file; or of root or of who runs this, if all may read them,
 *   - the latter not by links, except in DEBUG_ROOT as kept by root,
 *   - and no file system in user space other than the program's: it invents owners.
 */

/* Where distributions install debug files. */
#define DEBUG_ROOT "/usr/lib/debug"

struct debug_wanted {
	const char *build_id; /* "" if the file has none */
	const char *link;     /* the name in .gnu_debuglink; NULL or "": there is none */
	uint32_t checksum;    /* from .gnu_debuglink */
};

/* Whether it is a name in a directory, as `link` has to be, whatever its bytes are. */
bool debug_link_is_name(const char *name);

/* A place where a debug file may be, and for whose file. */
struct debug_place {
	/* Who has the program's file, on which device; and who runs this */
	uid_t owner, runner;
	dev_t device;
	bool has_root; /* the path is below a root, which links cannot leave */
	bool is_kept;  /* links at this place are root's, and so is what they lead to */
	char path[PATH_MAX];
};

/* The place with an absolute path, for a program's file of this owner on this device. */
void debug_place_init(struct debug_place *ret, const char *path, uid_t owner, dev_t device);

/*
 * Opens the file at a place, below `root` if it has one. Returns a descriptor, which the caller closes;
 * -EACCES if this is forbidden; or another negative errno. May wait.
 */
int debug_place_open(const struct debug_place *place, int root);

/* Whoever needs a debug file. */
struct debug_reader {
	/* Is the regular file behind fd the wanted one? The caller keeps fd. */
	bool (*belongs)(void *arg, int fd, const struct debug_wanted *wanted);
	/* Does what debug_place_open() does, by the rules above; NULL: that is called. */
	int (*open)(void *arg, const struct debug_place *place, int root);
	void *arg;
};

/*
 * Finds the debug file of the file behind fd, which the caller keeps. Returns a descriptor, which
 * the caller closes, or a negative errno. Waits only if the reader's functions do.
 */
int debug_search(int fd, const struct debug_wanted *wanted, const struct debug_reader *reader);

/*
 * The same as a process sees it: below its own root (a container's, for example), which links
 * cannot leave. `path` is the file's path there. fd: -1 for the kernel's code. If the process has the same root and mounts as
 * this one, libdwfl will look there itself: -ENOENT.
 */
int debug_search_process(pid_t pid, int fd, const char *path, const struct debug_wanted *wanted,
			 const struct debug_reader *reader);

#endif
