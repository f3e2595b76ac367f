// SPDX-License-Identifier: Apache-2.0
#include "elf/vm_structs.h"

#include <string.h>

#include "elf/elf_symbols.h"

static const char *const names[VM_N_STRUCTS] = {
#define X(name, symbol) symbol,
	VM_STRUCTS_LIST(X)
#undef X
};

/* By the Java Native Interface. */
#define START "JNI_CreateJavaVM"

static int note(void *arg, const struct elf_symbol *symbol)
{
	static const char prefix[] = "gHotSpotVM";
	struct vm_structs *v = arg;

	v->is_jvm |= symbol->is_function && strcmp(symbol->name, START) == 0;
	if (strncmp(symbol->name, prefix, sizeof(prefix) - 1) != 0)
		return 0;
	for (size_t i = 0; i < VM_N_STRUCTS; i++)
		if (strcmp(symbol->name, names[i]) == 0)
			v->at[i] = symbol->address;
	return 0;
}

void vm_structs_find(const struct elf_file *file, struct vm_structs *ret)
{
	*ret = (struct vm_structs){ 0 };
	elf_symbols_each(file, false, note, ret);
	for (size_t i = 0; i < VM_N_STRUCTS; i++)
		if (ret->at[i] == 0) {
			*ret = (struct vm_structs){ .is_jvm = ret->is_jvm };
			return;
		}
}
