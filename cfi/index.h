/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CFI_INDEX_H
#define DP_CFI_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/entry.h"

/*
 * CIEs of a section, at most: a linker leaves a few in .eh_frame, and in .debug_frame one for each
 * object file. In memory, a CIE takes twenty times the bytes that it takes in the section.
 */
#define CFI_CIES_MAX ((size_t)1 << 18)

/* All FDEs of a section, sorted by start; records that were refused, by offset. */
struct cfi_index {
	struct cfi_cie *cies;
	size_t n_cies, cies_size;
	struct cfi_fde *fdes;
	size_t n_fdes, fdes_size;
	struct cfi_refusal *refusals;
	size_t n_refusals, refusals_size;
};

/*
 * Read every record of the section into ret. A record that cannot be used is
 * listed in ret->refusals and the next one is read; a record whose length is
 * wrong ends the reading. Returns 0 or -ENOMEM, or -EFBIG for a section of
 * 4 GiB and more, or with more than CFI_CIES_MAX CIEs. cfi_index_done() releases
 * what ret owns.
 */
int cfi_index_init(struct cfi_index *ret, const struct cfi_section *section);
void cfi_index_done(struct cfi_index *index);

/*
 * Of a section whose end is not known: how many bytes there are up to the zero
 * length that ends .eh_frame, or to the first record that makes no sense.
 */
uint64_t cfi_section_measure(const struct cfi_section *section);

/* Is there a record that looks like an FDE? A cheap look: nothing in it is read. */
bool cfi_section_has_fdes(const struct cfi_section *section);

#endif
