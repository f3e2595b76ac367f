/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BENCH_COPIES_H
#define DP_BENCH_COPIES_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

/*
 * Unwind information of any size, made from a real file's: that of the functions at its lowest
 * addresses, or several copies of all, at consecutive addresses. Records keep their order and
 * contents, except an FDE's address and its distance to its CIE.
 */

struct copies_source {
	const struct elf_file *file;
	struct copies_cie *cies; /* CIEs and FDEs are in the section's order */
	struct copies_fde *fdes;
	size_t n_cies, cies_size, n_fdes, fdes_size;
	uint64_t *starts; /* addresses of the FDEs, sorted */
};

struct copies {
	struct cfi_section section; /* owns its bytes */
	struct image_input input;   /* owns its ranges; the sections are each copy's largest */
};

/*
 * Reads the records of the file's .eh_frame. FDEs must encode addresses as linkers do: pc-relative,
 * in 4 bytes. The file must outlive *ret. Returns 0, -ENOMEM, or -ENOTSUP for another encoding.
 */
int copies_source_init(struct copies_source *ret, const struct elf_file *file);
void copies_source_done(struct copies_source *source);

/*
 * Makes a section of n_fdes FDEs, at least one. Returns 0, -ENOMEM, or -EFBIG if a distance does
 * not fit. copies_done() frees *ret.
 */
int copies_init(struct copies *ret, const struct copies_source *source, size_t n_fdes);
void copies_done(struct copies *copies);

#endif
