// SPDX-License-Identifier: Apache-2.0
#include "elf/code_pages.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "bpf/arch.h"
#include "elf/elf_file.h"
#include "elf/elf_open.h"

#define PAGE ((uint64_t)DP_USER_PAGE_SIZE)

/* The pages of an executable segment; false if it is invalid. */
static bool code_pages_make(uint64_t address, uint64_t size, uint64_t offset,
			    struct code_pages *ret)
{
	uint64_t limit;

	if (size == 0 || __builtin_add_overflow(address, size, &limit) ||
	    limit > UINT64_MAX - PAGE || offset % PAGE != address % PAGE)
		return false;
	*ret = (struct code_pages){
		.start = address & -PAGE,
		.limit = (limit + PAGE - 1) & -PAGE,
		.offset = offset & -PAGE,
	};
	return true;
}

int code_pages_of(const struct elf_segment *segments, size_t n, struct code_pages **ret,
		  size_t *ret_n)
{
	_cleanup_free_ struct code_pages *all = calloc(n ? n : 1, sizeof(*all));
	size_t n_code = 0;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct elf_segment *s = &segments[i];

		n_code += s->executable &&
			  code_pages_make(s->address, s->memory_size, s->offset, &all[n_code]);
	}
	if (n_code == 0)
		return -ENOEXEC;
	*ret = steal_ptr(all);
	*ret_n = n_code;
	return 0;
}

int code_pages_read(int fd, const void *memory, size_t size, struct code_pages **ret, size_t *ret_n)
{
	_cleanup_free_ struct code_pages *all = NULL;
	_cleanup_elf_ Elf *elf = NULL;
	size_t n_headers, n = 0, allocated = 0;
	struct code_pages pages;
	GElf_Phdr p;

	elf = fd >= 0 ? elf_open_unmapped(fd) : elf_open_memory(memory, size);
	if (!elf || elf_getphdrnum(elf, &n_headers) < 0)
		return -ENOEXEC;
	for (size_t i = 0; i < n_headers; i++) {
		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD || !(p.p_flags & PF_X) ||
		    !code_pages_make(p.p_vaddr, p.p_memsz, p.p_offset, &pages))
			continue;
		if (array_reserve(all, n, allocated) < 0)
			return -ENOMEM;
		all[n++] = pages;
	}
	if (n == 0)
		return -ENOEXEC;
	*ret = steal_ptr(all);
	*ret_n = n;
	return 0;
}
