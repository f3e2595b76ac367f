// SPDX-License-Identifier: Apache-2.0
#include "elf/elf_labels.h"

#include <string.h>

#include "base/array.h"
#include "elf/elf_symbols.h"
#include "elf/elf_tls.h"

#define ANY_VERSION UINT32_MAX

static const struct {
	const char *variable;
	uint32_t version; /* that the file must have */
	enum dp_labels_form form;
} FORMS[] = {
	{ DP_CONTEXT_VARIABLE, ANY_VERSION, DP_LABELS_CONTEXT },
	{ DP_CUSTOM_VARIABLE_V1, 1, DP_LABELS_CUSTOM_V1 },
	{ DP_CUSTOM_VARIABLE_V0, 0, DP_LABELS_CUSTOM_V0 },
};

static int on_symbol(void *arg, const struct elf_symbol *symbol)
{
	if (symbol->is_function || symbol->size != sizeof(uint32_t) ||
	    strcmp(symbol->name, DP_CUSTOM_VERSION) != 0)
		return 0;
	*(uint64_t *)arg = symbol->address;
	return 1;
}

static bool has_version(const struct elf_file *file, uint32_t wanted)
{
	uint32_t version = 0;
	const void *bytes;
	uint64_t address;

	if (!elf_symbols_each(file, false, on_symbol, &address) &&
	    !elf_symbols_each(file, true, on_symbol, &address))
		return false;
	/* What the file has no bytes of is zero when it runs. */
	bytes = elf_bytes_at(file, address, sizeof(version));
	if (bytes)
		memcpy(&version, bytes, sizeof(version));
	return version == wanted;
}

static bool has_form(const struct elf_file *file, size_t i, struct dp_tls *ret)
{
	elf_tls_find(file, FORMS[i].variable, ret);
	return ret->kind != DP_TLS_NONE &&
	       (FORMS[i].version == ANY_VERSION || has_version(file, FORMS[i].version));
}

enum dp_labels_form elf_labels_find(const struct elf_file *file, struct dp_tls *ret,
				    unsigned int *ret_others)
{
	enum dp_labels_form form = DP_LABELS_NONE;

	*ret = (struct dp_tls){ .kind = DP_TLS_NONE };
	*ret_others = 0;
	for (size_t i = 0; i < ARRAY_SIZE(FORMS); i++) {
		struct dp_tls found;

		if (!has_form(file, i, &found))
			continue;
		if (form != DP_LABELS_NONE) {
			*ret_others |= 1U << FORMS[i].form;
			continue;
		}
		form = FORMS[i].form;
		*ret = found;
	}
	return form;
}
