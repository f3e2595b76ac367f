/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_VALUES_JAVA_FILL_H
#define DP_VALUES_JAVA_FILL_H

#include <stdint.h>

#include "elf/elf_symbols.h"
#include "values/cxx_runtime.h"

/*
 * JVM_FillInStackTrace() of HotSpot, which every constructor of a Throwable calls to record the stack. It is not
 * called for throwables without a stack trace, nor for the few that the JVM preallocates.
 */

/* What a file's symbols tell. Begins zeroed. */
struct java_fill {
	uint64_t address;
	uint64_t is_hotspot; /* other JVMs have the function, too */
};

void java_fill_note(struct java_fill *fill, const struct elf_symbol *symbol);

/* Adds the place to the runtime's. */
void java_fill_find(const struct java_fill *fill, const struct elf_file *file,
		    struct cxx_runtime *ret);

#endif
