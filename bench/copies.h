/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BENCH_COPIES_H
#define DP_BENCH_COPIES_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

/*
 * Unwind information of any size, made of a real file's: that of the functions at
 * its lowest addresses, or several copies of all, one behind the other in the
 * address space. Records keep their order and what is in them, but for an FDE's
 * address and its distance to its CIE.
 */

struct copies_source {
	const struct elf_file *file;
	struct copies_cie *cies; /* both in the section's order */
	struct copies_fde *fdes;
	size_t n_cies, cies_size, n_fdes, fdes_size;
	uint64_t *starts; /* of the FDEs, sorted */
};

struct copies {
	struct cfi_section section; /* its bytes are owned */
	struct image_extent extent; /* its ranges are owned: of each copy the largest section */
};

/*
 * Read the records of the file's .eh_frame. FDEs must give their addresses as
 * linkers write them: by their distance, in 4 bytes. The caller keeps the file
 * while *ret is used. Returns 0, -ENOMEM, or -ENOTSUP for another section.
 */
int copies_source_init(struct copies_source *ret, const struct elf_file *file);
void copies_source_done(struct copies_source *source);

/*
 * Make a section of n_fdes FDEs, at least one. Returns 0, -ENOMEM, or -EFBIG if
 * a distance would not fit. copies_done() releases *ret.
 */
int copies_init(struct copies *ret, const struct copies_source *source, size_t n_fdes);
void copies_done(struct copies *copies);

#endif
