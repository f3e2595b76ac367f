/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_PACKED_H
#define DP_ELF_PACKED_H

#include <stddef.h>
#include <sys/types.h>

#include "limits/limits.h"

/*
 * Packed programs. The file's mapped code only unpacks the program into memory without a file, and
 * nothing says how to unwind the code there.
 */

/*
 * The name of the packer of a 64-bit ELF file with these bytes: "UPX"; NULL: not packed, or by an
 * unknown packer.
 */
const char *packed_by(const void *bytes, size_t size);

/* Programs that have been reported, by device and inode. */
struct packed_reported {
	struct {
		dev_t device;
		ino_t inode;
	} programs[PACKED_MAX_REPORTED];
	size_t n;
};

/*
 * Reports that a process runs a packed program, unless packer is "". Reports each program once, and
 * at most PACKED_MAX_REPORTED of them.
 */
void packed_report(struct packed_reported *reported, const char *packer, dev_t device, ino_t inode,
		   pid_t pid, const char *path);

#endif
