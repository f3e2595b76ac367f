// SPDX-License-Identifier: Apache-2.0
#include "values/java_fill.h"

#include <string.h>

#define X(name) DP_##name,
static const uint8_t registers[] = { DP_ARGUMENT_REGISTERS(X) };
#undef X

void java_fill_note(struct java_fill *fill, const struct elf_symbol *s)
{
	if (s->is_function && strcmp(s->name, "JVM_FillInStackTrace") == 0)
		fill->address = s->address;
	fill->is_hotspot |= strcmp(s->name, "gHotSpotVMStructs") == 0;
}

void java_fill_find(const struct java_fill *fill, const struct elf_file *file,
		    struct cxx_runtime *ret)
{
	/* Its first argument is the JNIEnv. */
	struct cxx_place place = { .address = fill->address, .object = registers[1] + 1U };

	if (fill->address && fill->is_hotspot && elf_offset_of(file, fill->address, &place.offset))
		ret->throws[CXX_FILL] = place;
}
