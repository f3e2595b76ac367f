// SPDX-License-Identifier: Apache-2.0
#include "symbols/function_starts.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cfi/index.h"
#include "elf/elf_open.h"

/* Starts are relative to the first one. */
struct function {
	uint32_t start, size;
};

struct function_starts {
	uint64_t first;
	struct function *functions; /* by start */
	size_t n_functions;
};

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

/* The start of .eh_frame from .eh_frame_hdr (LSB Core 5.0 §10.6.2). 0 or -ENODATA. */
static int read_header(Elf *elf, const GElf_Phdr *p, uint64_t *ret)
{
	struct cfi_section section;
	struct cursor c;
	uint8_t version, encoding;

	if (set_section(elf_getdata_rawchunk(elf, (int64_t)p->p_offset, p->p_filesz, ELF_T_BYTE),
			p->p_vaddr, &section) < 0)
		return -ENODATA;
	cursor_init(&c, section.data, 0, section.size);
	if (cursor_u8(&c, &version) != CFI_NONE || version != 1 ||
	    cursor_u8(&c, &encoding) != CFI_NONE || cursor_skip(&c, 2) != CFI_NONE ||
	    cfi_read_pointer(&section, &c, encoding, ret) != CFI_NONE)
		return -ENODATA;
	return 0;
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

/* The FDEs are sorted. */
static int take_functions(struct function_starts *s, const struct cfi_index *index)
{
	size_t n = index->n_fdes < FUNCTION_STARTS_MAX ? index->n_fdes : FUNCTION_STARTS_MAX;

	if (n == 0)
		return -ENODATA;
	s->functions = calloc(n, sizeof(*s->functions));
	if (!s->functions)
		return -ENOMEM;
	s->first = index->fdes[0].start;
	for (size_t i = 0; i < n; i++) {
		const struct cfi_fde *fde = &index->fdes[i];
		uint64_t start = fde->start - s->first, size = fde->end - fde->start;

		if (start > UINT32_MAX)
			break;
		s->functions[s->n_functions++] =
			(struct function){ (uint32_t)start,
					   size < UINT32_MAX ? (uint32_t)size : UINT32_MAX };
	}
	return 0;
}

int function_starts_new_elf(Elf *elf, struct function_starts **ret)
{
	_cleanup_(cfi_index_done) struct cfi_index index = { 0 };
	struct function_starts *s;
	struct cfi_section section;
	int err = find_section(elf, &section);

	if (err < 0)
		err = find_by_header(elf, &section);
	if (err == 0 && section.size > FUNCTION_STARTS_SECTION_MAX)
		err = -EFBIG;
	if (err == 0)
		err = cfi_index_init(&index, &section);
	if (err < 0)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	err = take_functions(s, &index);
	if (err < 0) {
		function_starts_free(s);
		return err;
	}
	*ret = s;
	return 0;
}

int function_starts_new(int fd, const void *memory, size_t size, struct function_starts **ret)
{
	_cleanup_elf_ Elf *elf = fd >= 0 ? elf_open(fd) : elf_open_memory(memory, size);

	return elf ? function_starts_new_elf(elf, ret) : -ENODATA;
}

struct function_starts *function_starts_free(struct function_starts *s)
{
	if (!s)
		return NULL;
	free(s->functions);
	free(s);
	return NULL;
}

/* The number of functions that start at or below the address. */
static size_t upper_bound(const struct function_starts *s, uint64_t address)
{
	size_t lo = 0, hi = s->n_functions;

	if (address < s->first)
		return 0;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->functions[mid].start <= address - s->first)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int function_starts_find(const struct function_starts *s, uint64_t address, uint64_t *ret_start,
			 uint64_t *ret_end)
{
	size_t n = upper_bound(s, address);
	const struct function *f;

	if (n == 0)
		return -ENOENT;
	f = &s->functions[n - 1];
	if (address - s->first - f->start >= f->size)
		return -ENOENT;
	*ret_start = s->first + f->start;
	*ret_end = *ret_start + f->size;
	return 0;
}

uint64_t function_starts_next(const struct function_starts *s, uint64_t address)
{
	size_t n = upper_bound(s, address);

	return n < s->n_functions ? s->first + s->functions[n].start : UINT64_MAX;
}
