/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_JAVA_FILL_H
#define DP_SYMBOLS_JAVA_FILL_H

#include <stdint.h>

#include "elf/elf_symbols.h"
#include "symbols/cxx_runtime.h"

/*
 * Where HotSpot gives a Throwable its stack: JVM_FillInStackTrace(), which the constructors call, whoever runs them. Neither
 * those made without a stack call it, nor the JVM for the few that it has made before.
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
