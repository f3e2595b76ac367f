// SPDX-License-Identifier: Apache-2.0
/* A whole ELF file. */
#include "cfi/tests/fuzz.h"
#include "elf/go_tables.h"
#include "go/go_location.h"

static void check(const struct go_file *file)
{
	struct pclntab_function f;
	struct go_location locations[16];

	EXPECT(file->table.size > 0);
	for (uint64_t i = 0; i < 64 && i < file->table.n_functions; i++) {
		if (pclntab_function(&file->table, i, &f) < 0)
			continue;
		EXPECT(go_locations_find(file, &f, f.start, true, locations, 16) > 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct go_file file;
	uint8_t *copy = malloc(size ? size : 1); /* libelf may write to it */
	Elf *elf;

	EXPECT(copy);
	memcpy(copy, data, size);
	elf_version(EV_CURRENT);
	elf = elf_memory((char *)copy, size);
	if (elf_kind(elf) == ELF_K_ELF && go_tables_read(elf, &file) == 0) {
		check(&file);
		go_file_done(&file);
	}
	elf_end(elf);
	free(copy);
	return 0;
}
