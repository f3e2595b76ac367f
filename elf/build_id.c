// SPDX-License-Identifier: Apache-2.0
#include "elf/build_id.h"

#include <gelf.h>
#include <string.h>

static bool find_in_notes(Elf_Data *notes, uint64_t address, struct build_id *ret)
{
	size_t offset = 0, name, desc;
	GElf_Nhdr note;

	while (notes && (offset = gelf_getnote(notes, offset, &note, &name, &desc)) > 0) {
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
		    memcmp((const char *)notes->d_buf + name, "GNU", sizeof("GNU")) != 0)
			continue;
		ret->bytes = (const uint8_t *)notes->d_buf + desc;
		ret->size = note.n_descsz;
		if (ret->size > (ELF_BUILD_ID_SIZE - 1) / 2)
			ret->size = (ELF_BUILD_ID_SIZE - 1) / 2;
		ret->address = address != 0 ? address + desc : 0;
		return ret->size > 0;
	}
	return false;
}

static bool find_in_sections(Elf *elf, struct build_id *ret)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &header) && header.sh_type == SHT_NOTE &&
		    find_in_notes(elf_getdata(scn, NULL), header.sh_addr, ret))
			return true;
	return false;
}

static bool find_in_segments(Elf *elf, struct build_id *ret)
{
	size_t n;

	if (elf_getphdrnum(elf, &n) < 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;

		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_NOTE &&
		    find_in_notes(elf_getdata_rawchunk(elf, (int64_t)p.p_offset, p.p_filesz,
						       ELF_T_NHDR),
				  p.p_vaddr, ret))
			return true;
	}
	return false;
}

bool build_id_find(Elf *elf, struct build_id *ret)
{
	return elf_nextscn(elf, NULL) ? find_in_sections(elf, ret) : find_in_segments(elf, ret);
}

void build_id_print(const struct build_id *id, char ret[ELF_BUILD_ID_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < id->size; i++) {
		ret[2 * i] = digits[id->bytes[i] >> 4];
		ret[2 * i + 1] = digits[id->bytes[i] & 15];
	}
	ret[2 * id->size] = '\0';
}
