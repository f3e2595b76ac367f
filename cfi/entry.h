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

/* A section in memory. The caller owns the bytes and keeps them until the last use. */
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
	uint8_t fde_encoding;  /* DW_EH_PE_* of addresses in its FDEs */
	bool has_augmentation; /* 'z': FDEs have augmentation data to skip */
	/*
	 * 'S' (gcc): a signal frame. The frame that it returns to was interrupted, so that one's pc is
	 * exact: it is looked up at pc, not at pc - 1.
	 */
	bool signal;
	uint64_t ops, ops_end;  /* initial instructions: offsets in the section */
	struct cfi_row initial; /* the row that they give */
};

struct cfi_fde {
	uint64_t start, end; /* addresses covered, end exclusive, in the file's own address space */
	uint32_t cie;        /* index into cfi_index.cies */
	uint32_t offset;     /* of the record in the section */
	union {
		uint32_t ops; /* where its instructions begin in the section */
		uint32_t
			go_function; /* of a function of Go instead (tables/source.h): its number */
	};
	uint32_t ops_end;
};

/* A CIE or FDE whose extent is known. */
struct cfi_record {
	uint64_t offset; /* of the length field, in the section */
	uint64_t id_at;  /* of the CIE pointer or id, in the section */
	uint64_t id;
	bool wide;          /* 64-bit DWARF format */
	struct cursor body; /* after the id, to the record's end */
};

/*
 * Reads the record at the cursor, which moves behind it; the id is still to be read. If the result
 * is not CFI_NONE, no later record can be found.
 */
enum cfi_reason cfi_record_read(struct cursor *c, struct cfi_record *ret);

/*
 * Reads the id, which follows the length: 4 bytes in .eh_frame even in the 64-bit format (LSB Core
 * 5.0 §10.6.1.1), 8 bytes in a 64-bit .debug_frame. The record must not be empty.
 */
enum cfi_reason cfi_record_read_id(const struct cfi_section *section, struct cfi_record *rec);
bool cfi_record_is_cie(const struct cfi_section *section, const struct cfi_record *rec);

/* Returns the offset of an FDE's CIE: its id, or in .eh_frame the distance back from the id. */
uint64_t cfi_record_cie_offset(const struct cfi_section *section, const struct cfi_record *rec);

/*
 * Reads the fields of a CIE up to its initial instructions, which cfi_machine_initial() evaluates.
 * Whatever the result, the body's mark shows where reading stopped.
 */
enum cfi_reason cfi_cie_read(const struct cfi_section *section, struct cfi_record *rec,
			     struct cfi_cie *ret);

/*
 * Reads the fields of an FDE except ret->cie. A range may be empty: a linker has dropped the
 * function.
 */
enum cfi_reason cfi_fde_read(const struct cfi_section *section, const struct cfi_cie *cie,
			     struct cfi_record *rec, struct cfi_fde *ret);

/*
 * Reads a value with a DW_EH_PE_* encoding (LSB Core 5.0 §10.5) at the cursor: absolute and
 * pc-relative addresses. Indirect ones and those relative to a text, data or function base are
 * refused with CFI_BAD_ENCODING.
 */
enum cfi_reason cfi_read_pointer(const struct cfi_section *section, struct cursor *c,
				 uint8_t encoding, uint64_t *ret);

#endif
