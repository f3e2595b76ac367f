/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_MAPPED_FILE_H
#define DP_ELF_MAPPED_FILE_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Open a regular file for reading, if it has this inode (0: any). What else
 * lies there is not opened: a FIFO would make us wait, a device do something.
 * Returns the descriptor, -ESTALE if it is another file, or another errno.
 */
int regular_file_open(const char *path, uint64_t inode);

/*
 * Open the file that a process has mapped from start to end: the very file
 * where the kernel lets us, which may have been deleted or replaced; else by
 * its name, as the process sees it. Returns as above; -EACCES if a permission
 * could have helped.
 */
int mapped_file_open(pid_t pid, uint64_t start, uint64_t end, uint64_t inode, const char *name);

#endif
