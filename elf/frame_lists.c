// SPDX-License-Identifier: Apache-2.0
#include "elf/frame_lists.h"

#include <string.h>

#include "elf/elf_symbols.h"

/* It has 288 bytes in libgcc 12, 160 in 15. */
#define FUNCTION_SIZE 4096

static int note_function(void *arg, const struct elf_symbol *symbol)
{
	struct elf_symbol *found = arg;

	if (!symbol->is_function || strcmp(symbol->name, "__deregister_frame_info_bases") != 0)
		return 0;
	*found = *symbol;
	return 1;
}

void frame_lists_find(const struct elf_file *file, struct frame_lists *ret)
{
	struct elf_symbol function;
	const uint8_t *code;

	*ret = (struct frame_lists){ 0 };
	if (!elf_symbols_each(file, false, note_function, &function) ||
	    function.size > FUNCTION_SIZE)
		return;
	code = elf_bytes_at(file, function.address, function.size);
	for (size_t i = 0; code && i < file->n_segments; i++) {
		const struct elf_segment *s = &file->segments[i];

		if (s->writable &&
		    frame_lists_in_code(code, function.size, function.address, s->address,
					s->address + s->memory_size, ret->at) > 0)
			return;
	}
}
