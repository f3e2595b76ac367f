/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_FOREIGN_FILE_H
#define DP_BINARIES_FOREIGN_FILE_H

/*
 * Closes a file of a file system that may take long to answer (stored_file_is_foreign()); FUSE asks
 * its server when a descriptor is closed (fuse_flush(), fs/fuse/file.c). A thread of its own does
 * so and then ends. fd may be negative.
 */
void foreign_file_close(int fd);

#endif
