/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_FOREIGN_FILE_H
#define DP_BINARIES_FOREIGN_FILE_H

/*
 * Close a file whose server may have to be waited for (disk_cache_is_foreign()): FUSE asks it when
 * a descriptor is closed (fuse_flush(), fs/fuse/file.c). A thread does, which ends when it has
 * answered. fd: may be negative.
 */
void foreign_file_close(int fd);

#endif
