// SPDX-License-Identifier: Apache-2.0
#include "elf/code_pages.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "bpf/arch.h"
#include "elf/elf_open.h"

#define PAGE ((uint64_t)DP_USER_PAGE_SIZE)

/* The pages of a segment; false if it is not executable or is invalid. */
static bool code_pages_make(const GElf_Phdr *p, struct code_pages *ret)
{
	uint64_t limit;

	if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || p->p_memsz == 0)
		return false;
	if (__builtin_add_overflow(p->p_vaddr, p->p_memsz, &limit) || limit > UINT64_MAX - PAGE ||
	    p->p_offset % PAGE != p->p_vaddr % PAGE)
		return false;
	*ret = (struct code_pages){
		.start = p->p_vaddr & -PAGE,
		.limit = (limit + PAGE - 1) & -PAGE,
		.offset = p->p_offset & -PAGE,
	};
	return true;
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
		if (!gelf_getphdr(elf, (int)i, &p) || !code_pages_make(&p, &pages))
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
