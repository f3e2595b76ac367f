/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_MAPPED_FILE_H
#define DP_ELF_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Mapped files and other regular files. Looking up a path, opening a file and reading it may take
 * long, as the server of a file system may be slow to answer.
 */

/*
 * Opens a regular file for reading if it has this inode (0: any). Does not open anything else:
 * opening a FIFO would wait, opening a device may have effects. Returns the descriptor, -ESTALE if
 * it is another file, or another negative errno. May wait.
 */
int regular_file_open(const char *path, uint64_t inode);

/*
 * Opens the file that a process has mapped from start to end. If the kernel allows it, this is the
 * very file, even if deleted or replaced; otherwise it is looked up by name as the process sees it.
 * Returns as above; -EACCES if more privileges might have helped. May wait.
 */
int mapped_file_open(pid_t pid, uint64_t start, uint64_t end, uint64_t inode, const char *name);

/*
 * Finds that file, or the program that a process runs. Returns a descriptor that only refers to it
 * (O_PATH) and remains valid after the process has ended. Errors are as above; -EAGAIN:
 * mapped_file_open() would have to look it up. The first does not wait for a file system, but for the lock of the
 * process's mappings (proc_map_files_lookup(), fs/proc/base.c): a page fault in a file on the process's own FUSE
 * server holds it for as long as the server likes. The second never waits.
 */
int mapped_file_find(pid_t pid, uint64_t start, uint64_t end, uint64_t inode, const char *name);
int mapped_file_find_program(pid_t pid);

/*
 * Likewise, never waits: the program, or the file with this inode and that name in the process's root.
 * -EAGAIN: if it is mapped, mapped_file_find() may know. If the process has ended, the file of that name here.
 */
int mapped_file_find_named(pid_t pid, uint64_t inode, const char *name);

/* Whether the kernel has refused to show that very file, whatever its name. May wait as mapped_file_find(). */
bool mapped_file_is_refused(pid_t pid, uint64_t start, uint64_t end);

/* A descriptor that only refers to the root of a process (O_PATH), or a negative errno. Does not wait. */
int process_root_open(pid_t pid);

/*
 * Opens the regular file with a path below a directory as its root, which need not be that of a
 * running process. Errors as above. May wait.
 */
int rooted_file_open(int root, const char *path, uint64_t inode);

/*
 * Likewise, below a root unless that is negative, with no symbolic link on the way: -ELOOP if there is one,
 * and where the kernel cannot tell (before Linux 5.6).
 */
int linkless_file_open(int root, const char *path, uint64_t inode);

/*
 * Refers to that file (O_PATH) if the kernel's cache leads to it, whatever links there are; else an error.
 * Does not wait.
 */
int cached_file_find(int root, const char *path, uint64_t inode);

/*
 * The device where a look-up of the path without links would wait: its part that is in the kernel's cache,
 * as all directories are that something is mounted on, ends there. 0: it is not known. Does not wait.
 */
dev_t cached_file_device(int root, const char *path);

/*
 * Opens for reading the file that a descriptor refers to. Returns a new descriptor or a negative
 * errno. May wait.
 */
int file_reopen(int fd);

/* Does the descriptor only refer to a file (O_PATH)? Closing one never waits. */
bool file_is_reference(int fd);

#endif
