// SPDX-License-Identifier: Apache-2.0
#include "symbols/segment.h"

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
static bool segment_make(const GElf_Phdr *p, struct segment *ret)
{
	uint64_t limit;

	if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || p->p_memsz == 0)
		return false;
	if (__builtin_add_overflow(p->p_vaddr, p->p_memsz, &limit) || limit > UINT64_MAX - PAGE ||
	    p->p_offset % PAGE != p->p_vaddr % PAGE)
		return false;
	*ret = (struct segment){
		.start = p->p_vaddr & -PAGE,
		.limit = (limit + PAGE - 1) & -PAGE,
		.offset = p->p_offset & -PAGE,
	};
	return true;
}

int segments_read(int fd, const void *memory, size_t size, struct segment **ret, size_t *ret_n)
{
	_cleanup_free_ struct segment *segments = NULL;
	_cleanup_elf_ Elf *elf = NULL;
	size_t n_headers, n = 0, allocated = 0;
	struct segment segment;
	GElf_Phdr p;

	elf = fd >= 0 ? elf_open_unmapped(fd) : elf_open_memory(memory, size);
	if (!elf || elf_getphdrnum(elf, &n_headers) < 0)
		return -ENOEXEC;
	for (size_t i = 0; i < n_headers; i++) {
		if (!gelf_getphdr(elf, (int)i, &p) || !segment_make(&p, &segment))
			continue;
		if (array_reserve(segments, n, allocated) < 0)
			return -ENOMEM;
		segments[n++] = segment;
	}
	if (n == 0)
		return -ENOEXEC;
	*ret = steal_ptr(segments);
	*ret_n = n;
	return 0;
}
