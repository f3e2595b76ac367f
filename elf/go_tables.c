// SPDX-License-Identifier: Apache-2.0
#include "elf/go_tables.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"

static void source_done(struct go_source *source)
{
	free(source->segments);
	free(source->sections);
}

static int read_segments(Elf *elf, struct go_source *source)
{
	size_t n;

	if (elf_getphdrnum(elf, &n) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(elf, (int)i, &p) ||
		    (p.p_type != PT_LOAD && p.p_type != PT_DYNAMIC))
			continue;
		if (array_reserve(source->segments, source->n_segments, source->segments_size) < 0)
			return -ENOMEM;
		source->segments[source->n_segments++] = (struct go_segment){
			.address = p.p_vaddr,
			.size = p.p_filesz,
			.offset = p.p_offset,
			.is_writable = p.p_flags & PF_W,
			.is_dynamic = p.p_type == PT_DYNAMIC,
		};
	}
	return 0;
}

static int read_sections(Elf *elf, struct go_source *source)
{
	Elf_Scn *scn = NULL;
	size_t names;

	source->has_sections = elf_nextscn(elf, NULL) != NULL;
	if (elf_getshdrstrndx(elf, &names) < 0)
		return 0;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr h;
		const char *name;

		if (!gelf_getshdr(scn, &h) || h.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, h.sh_name);
		if (!name)
			continue;
		if (array_reserve(source->sections, source->n_sections, source->sections_size) < 0)
			return -ENOMEM;
		source->sections[source->n_sections++] =
			(struct go_section){ name, h.sh_addr, h.sh_size, h.sh_offset };
	}
	return 0;
}

int go_tables_read(Elf *elf, struct go_file *ret)
{
	_cleanup_(source_done) struct go_source source = { 0 };
	int err;

	*ret = (struct go_file){ 0 };
	source.bytes = (const uint8_t *)elf_rawfile(elf, &source.size);
	if (!source.bytes)
		return -ENOENT;
	err = read_sections(elf, &source);
	if (err == 0)
		err = read_segments(elf, &source);
	return err < 0 ? err : go_file_init(ret, &source);
}
