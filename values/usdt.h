/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_VALUES_USDT_H
#define DP_VALUES_USDT_H

#include "values/usdt_argument.h"

/*
 * The static probes of a file (USDT), according to the notes of <sys/sdt.h> in .note.stapsdt. An inlined probe has
 * several locations, each with a note.
 */

#define USDT_NAME_SIZE 128

struct usdt_place {
	uint64_t offset;    /* of the instruction, in the file */
	uint64_t semaphore; /* offset in the file of the counter of its watchers; 0: none */
	char provider[USDT_NAME_SIZE], name[USDT_NAME_SIZE]; /* longer ones are cut */
	uint32_t n_arguments, zero;
	struct usdt_argument arguments[USDT_MAX_ARGUMENTS];
};

/*
 * All of the file behind fd, which the caller keeps, in the order of its notes. The caller frees
 * *ret. 0, -ENOEXEC if it is no ELF file, -EFBIG if there are more than USDT_MAX_PLACES, or -ENOMEM.
 */
int usdt_find(int fd, struct usdt_place **ret, size_t *ret_n);

#endif
