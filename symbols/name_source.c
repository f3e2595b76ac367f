// SPDX-License-Identifier: Apache-2.0
#include "symbols/name_source.h"

#include "base/array.h"

/*
 * Go's tables are complete for Go code. Debug information has lines and inlined calls. Symbols
 * decide what functions are called.
 */
static const struct name_source *const sources[] = {
	&name_source_go,       &name_source_debug, &name_source_symtab,
	&name_source_go_other, &name_source_plt,   &name_source_starts,
};

const struct name_source *name_source(size_t i)
{
	return i < ARRAY_SIZE(sources) ? sources[i] : NULL;
}
