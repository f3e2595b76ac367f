/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_EH_FRAME_H
#define DP_ELF_EH_FRAME_H

#include <stddef.h>

#include "cfi/entry.h"

/* Called with .eh_frame, whose bytes live as long as the call. */
typedef int (*eh_frame_fn)(void *arg, const struct cfi_section *section);

/*
 * Finds it in an ELF file of any kind, by its section or without one by .eh_frame_hdr: in the file
 * behind fd, which the caller keeps, or if fd is negative, in size bytes of memory. Returns the
 * result of fn, or -ENODATA if there is none.
 */
int eh_frame_read(int fd, const void *memory, size_t size, eh_frame_fn fn, void *arg);

/* Reads where .eh_frame starts from .eh_frame_hdr (LSB Core 5.0 §10.6.2). 0 or -ENODATA. */
int eh_frame_hdr_read(const struct cfi_section *header, uint64_t *ret);

#endif
