/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CFI_ENTRY_H
#define DP_CFI_ENTRY_H

/*
 * The records of an .eh_frame or .debug_frame section: common information
 * entries (CIE) and frame description entries (FDE). LSB Core 5.0 §10.6 and
 * DWARF 5 §6.4.1 describe the bytes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/cursor.h"
#include "cfi/reason.h"
#include "cfi/row.h"

/* A section in memory. The caller owns the bytes and keeps them while anything here is used. */
struct cfi_section {
	const uint8_t *data;
	uint64_t size;
	uint64_t address; /* of its first byte, in the file's own address space */
	bool debug_frame; /* .debug_frame instead of .eh_frame */
};

struct cfi_cie {
	uint64_t offset; /* of the record in the section */
	uint64_t code_factor;
	int64_t data_factor;
	uint8_t fde_encoding;  /* DW_EH_PE_* of the FDEs' addresses */
	bool has_augmentation; /* 'z': FDEs carry augmentation data to skip */
	bool signal; /* 'S': frames are interrupted, not called: look up at pc, not pc - 1 */
	uint64_t ops, ops_end;  /* initial instructions: offsets in the section */
	struct cfi_row initial; /* what they evaluate to */
};

struct cfi_fde {
	uint64_t start, end; /* addresses covered, end exclusive, in the file's own address space */
	uint32_t cie;        /* index into cfi_index.cies */
	uint32_t offset;     /* of the record in the section */
	uint32_t ops, ops_end;
};

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
 * 4 GiB and more. cfi_index_done() releases what ret owns.
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

/*
 * One value with a DW_EH_PE_* encoding (LSB Core 5.0 §10.5) at the cursor.
 * Understands absolute and pc-relative addresses; indirect ones and those
 * relative to a text, data or function base are refused with CFI_BAD_ENCODING.
 */
enum cfi_reason cfi_read_pointer(const struct cfi_section *section, struct cursor *c,
				 uint8_t encoding, uint64_t *ret);

#endif
