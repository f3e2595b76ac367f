/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_FRAMES_OBJECT_H
#define DP_ELF_FRAMES_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "cfi/entry.h"

/*
 * Unwind information of generated code that is in no ELF file. It becomes a program without any bytes of
 * code, so that all others read it like any.
 */

struct frames_code {
	uint64_t start, end; /* addresses in the process, end exclusive */
};

/*
 * A copy of an .eh_frame section in a process's memory, as it is given to __register_frame(): this, and the
 * section behind it.
 */
#define FRAMES_COPY_MAGIC 0x656d617266707764 /* "dwpframe" */

struct frames_copy {
	uint64_t magic;   /* FRAMES_COPY_MAGIC; no ELF file begins so */
	uint64_t address; /* of the section in the process */
};

/*
 * Makes a program of that section, for these ranges of code, sorted by address. Near ones become one; between
 * them, there is no unwind information. The caller frees *ret. 0; -ENODATA: there is no code; -EFBIG: it is not
 * together; or -ENOMEM.
 */
int frames_object_make(const struct cfi_section *section, const struct frames_code *code, size_t n,
		       uint8_t **ret, size_t *ret_size);

/* The same for a copy: its code is where its records say. Also -EBADMSG: it is none. */
int frames_object_link(const uint8_t *bytes, size_t size, uint8_t **ret, size_t *ret_size);

#endif
