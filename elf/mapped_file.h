/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_MAPPED_FILE_H
#define DP_ELF_MAPPED_FILE_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Files that are mapped, and other regular files. The server of a file system may take as long as
 * it likes to answer: to look a path up, to open a file, and to read it may have to wait.
 */

/*
 * Open a regular file for reading, if it has this inode (0: any). What else
 * lies there is not opened: a FIFO would make us wait, a device do something.
 * Returns the descriptor, -ESTALE if it is another file, or another errno. May wait.
 */
int regular_file_open(const char *path, uint64_t inode);

/*
 * Open the file that a process has mapped from start to end: the very file
 * where the kernel lets us, which may have been deleted or replaced; else by
 * its name, as the process sees it. Returns as above; -EACCES if a permission
 * could have helped. May wait.
 */
int mapped_file_open(pid_t pid, uint64_t start, uint64_t end, uint64_t inode, const char *name);

/*
 * Find that file, without waiting: a descriptor that only holds it (O_PATH), also when the process
 * is gone. Errors are as above; and -EAGAIN: mapped_file_open() would have to look it up. For the
 * second function, the program that a process runs.
 */
int mapped_file_find(pid_t pid, uint64_t start, uint64_t end, uint64_t inode, const char *name);
int mapped_file_find_program(pid_t pid);

/* Open a file for reading that a descriptor holds. A new descriptor or a negative errno. May wait. */
int file_reopen(int fd);

#endif
