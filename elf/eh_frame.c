// SPDX-License-Identifier: Apache-2.0
#include "elf/eh_frame.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "cfi/index.h"
#include "elf/elf_open.h"

static int set_section(const Elf_Data *data, uint64_t address, struct cfi_section *ret)
{
	if (!data || !data->d_buf || data->d_size == 0)
		return -ENODATA;
	*ret = (struct cfi_section){ .data = data->d_buf,
				     .size = data->d_size,
				     .address = address };
	return 0;
}

/* In a separate debug file, the program's sections have no bytes. */
static int find_section(Elf *elf, struct cfi_section *ret)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return -ENODATA;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(scn, &header))
			return -ENODATA;
		name = elf_strptr(elf, names, header.sh_name);
		if (name && strcmp(name, ".eh_frame") == 0 && header.sh_type != SHT_NOBITS &&
		    !(header.sh_flags & SHF_COMPRESSED))
			return set_section(elf_rawdata(scn, NULL), header.sh_addr, ret);
	}
	return -ENODATA;
}

int eh_frame_hdr_read(const struct cfi_section *header, uint64_t *ret)
{
	struct cursor c;
	uint8_t version, encoding;

	cursor_init(&c, header->data, 0, header->size);
	if (cursor_u8(&c, &version) != CFI_NONE || version != 1 ||
	    cursor_u8(&c, &encoding) != CFI_NONE || cursor_skip(&c, 2) != CFI_NONE ||
	    cfi_read_pointer(header, &c, encoding, ret) != CFI_NONE)
		return -ENODATA;
	return 0;
}

static int read_header(Elf *elf, const GElf_Phdr *p, uint64_t *ret)
{
	struct cfi_section header;

	if (set_section(elf_getdata_rawchunk(elf, (int64_t)p->p_offset, p->p_filesz, ELF_T_BYTE),
			p->p_vaddr, &header) < 0)
		return -ENODATA;
	return eh_frame_hdr_read(&header, ret);
}

/* Without section headers its end is unknown, but it is at most that of the segment. */
static int find_by_header(Elf *elf, struct cfi_section *ret)
{
	size_t n = 0;
	uint64_t address = 0;
	GElf_Phdr p;
	int err = -ENODATA;

	if (elf_getphdrnum(elf, &n) < 0)
		return -ENODATA;
	for (size_t i = 0; i < n && err < 0; i++)
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_GNU_EH_FRAME)
			err = read_header(elf, &p, &address);
	if (err < 0)
		return err;
	for (size_t i = 0; i < n; i++) {
		uint64_t at;

		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD || address < p.p_vaddr ||
		    address - p.p_vaddr >= p.p_filesz)
			continue;
		at = address - p.p_vaddr;
		err = set_section(elf_getdata_rawchunk(elf, (int64_t)(p.p_offset + at),
						       p.p_filesz - at, ELF_T_BYTE),
				  address, ret);
		if (err == 0)
			ret->size = cfi_section_measure(ret);
		return err;
	}
	return -ENODATA;
}

int eh_frame_read(int fd, const void *memory, size_t size, eh_frame_fn fn, void *arg)
{
	_cleanup_elf_ Elf *elf = fd >= 0 ? elf_open(fd) : elf_open_memory(memory, size);
	struct cfi_section section;

	if (!elf || (find_section(elf, &section) < 0 && find_by_header(elf, &section) < 0))
		return -ENODATA;
	return fn(arg, &section);
}
