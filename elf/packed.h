/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_PACKED_H
#define DP_ELF_PACKED_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Programs that were packed. What their file has mapped as code is only what unpacks them: into
 * memory that belongs to no file, so that nothing says how to unwind what runs there.
 */

/* Who has packed a 64-bit ELF file of these bytes, "UPX"; NULL: nobody that is known. */
const char *packed_by(const void *bytes, size_t size);

/* Programs that were spoken of already, by device and inode. */
#define PACKED_N_TOLD 16

struct packed_told {
	struct {
		dev_t device;
		ino_t inode;
	} programs[PACKED_N_TOLD];
	size_t n;
};

/*
 * If the program that a process runs was packed by somebody, "": nobody, say so: once for each
 * program, of so many.
 */
void packed_tell(struct packed_told *told, const char *packer, dev_t device, ino_t inode, pid_t pid,
		 const char *path);

#endif
