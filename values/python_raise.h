/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_VALUES_PYTHON_RAISE_H
#define DP_VALUES_PYTHON_RAISE_H

#include <stdint.h>

#include "elf/elf_symbols.h"
#include "values/cxx_runtime.h"

/*
 * Where CPython 3 sets an exception, in its library or program: PyErr_SetObject() and what that calls
 * (Python/errors.c). A `raise` and nearly all C code go through these.
 */

/* What a file's symbols tell. Begins zeroed. */
struct python_raise {
	uint64_t outer, outer_size; /* PyErr_SetObject() */
	uint64_t inner, inner_size; /* _PyErr_SetObject(), which also others call */
	uint64_t split;             /* what gcc has made of most of that, and calls in its place */
	uint64_t version;           /* the address of the interpreter's version */
	uint32_t is_other;          /* its objects have another layout */
};

void python_raise_note(struct python_raise *raise, const struct elf_symbol *symbol);

/* Adds the places to the runtime's. */
void python_raise_find(const struct python_raise *raise, const struct elf_file *file,
		       struct cxx_runtime *ret);

#endif
