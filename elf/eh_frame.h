/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_EH_FRAME_H
#define DP_ELF_EH_FRAME_H

#include <libelf.h>

#include "cfi/entry.h"

/*
 * Finds .eh_frame in a file of any kind by its section, or without one by .eh_frame_hdr. Takes
 * libelf's handle because libdwfl has opened some of these files, and has nothing else for them.
 * The bytes live as long as `elf`. 0, or -ENODATA if there is none.
 */
int eh_frame_find(Elf *elf, struct cfi_section *ret);

/* Reads where .eh_frame starts from .eh_frame_hdr (LSB Core 5.0 §10.6.2). 0 or -ENODATA. */
int eh_frame_hdr_read(const struct cfi_section *header, uint64_t *ret);

#endif
