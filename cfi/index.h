/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CFI_INDEX_H
#define DP_CFI_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/entry.h"

/* All FDEs of a section, sorted by start, and all refused records, by offset. */
struct cfi_index {
	struct cfi_cie *cies;
	size_t n_cies, cies_size;
	struct cfi_fde *fdes;
	size_t n_fdes, fdes_size;
	struct cfi_refusal *refusals;
	size_t n_refusals, refusals_size;
};

/*
 * Reads every record of the section. An unusable record is listed in ret->refusals and skipped; a
 * record with a wrong length ends the reading. Returns 0, -ENOMEM, or -EFBIG for a section of 4 GiB
 * or more, or with more than CFI_CIES_MAX CIEs; *ret is only set on success. The rows of its CIEs point into
 * the section's bytes. cfi_index_done() frees what ret owns.
 */
int cfi_index_init(struct cfi_index *ret, const struct cfi_section *section);
void cfi_index_done(struct cfi_index *index);

/*
 * For a section of unknown size: the number of bytes up to the zero length that ends .eh_frame, or
 * to the first malformed record.
 */
uint64_t cfi_section_measure(const struct cfi_section *section);

/* True if the section has an FDE, by lengths and ids alone; what is in the records is not checked. */
bool cfi_section_has_fdes(const struct cfi_section *section);

#endif
