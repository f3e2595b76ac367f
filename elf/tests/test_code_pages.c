// SPDX-License-Identifier: Apache-2.0
#include "elf/code_pages.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"
#include "elf/tests/elf_bytes.h"

static struct code_pages *pages;
static size_t n_pages;

/* As struct elf_facts has them. */
static int take_segments(const Elf64_Phdr *headers, size_t n, struct code_pages **ret,
			 size_t *ret_n)
{
	struct elf_segment segments[8];
	size_t n_segments = 0;

	for (size_t i = 0; i < n; i++)
		if (headers[i].p_type == PT_LOAD)
			segments[n_segments++] = (struct elf_segment){
				.offset = headers[i].p_offset,
				.address = headers[i].p_vaddr,
				.memory_size = headers[i].p_memsz,
				.executable = headers[i].p_flags & PF_X,
			};
	return code_pages_of(segments, n_segments, ret, ret_n);
}

/* By both ways, with the same result. */
static int read_segments(const Elf64_Phdr *headers, size_t n)
{
	char bytes[sizeof(Elf64_Ehdr) + 8 * sizeof(Elf64_Phdr)];
	const Elf64_Ehdr header = elf_header(n, 0);
	struct code_pages *taken;
	size_t n_taken;
	int err;

	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), headers, n * sizeof(*headers));
	err = code_pages_read(-1, bytes, sizeof(header) + n * sizeof(*headers), &pages, &n_pages);
	cr_assert_eq(take_segments(headers, n, &taken, &n_taken), err);
	if (err == 0) {
		cr_assert_eq(n_taken, n_pages);
		cr_assert_arr_eq(taken, pages, n_pages * sizeof(*pages));
		free(taken);
	}
	return err;
}

static const Elf64_Phdr code = { .p_type = PT_LOAD,
				 .p_flags = PF_R | PF_X,
				 .p_offset = 0x1234,
				 .p_vaddr = 0x401234,
				 .p_memsz = 0x1000 };

/* Other parts of a file are mapped, too; an address in them has no function. */
Test(code_pages, are_of_code_alone)
{
	Elf64_Phdr headers[] = { code, code, code, code };

	headers[0].p_flags = PF_R | PF_W;
	headers[1].p_type = PT_NOTE;
	headers[2].p_memsz = 0;
	cr_assert_eq(read_segments(headers, 4), 0);
	cr_assert_eq(n_pages, 1);
	cr_assert_eq(pages[0].start, 0x401000);
	cr_assert_eq(pages[0].limit, 0x403000);
	cr_assert_eq(pages[0].offset, 0x1000);
	free(pages);
	cr_assert_eq(read_segments(headers, 3), -ENOEXEC);
}

/* Segments that no kernel would map. */
Test(code_pages, make_sense)
{
	Elf64_Phdr headers[] = { code, code, code };

	headers[0].p_offset++;
	headers[1].p_memsz = -code.p_vaddr;
	headers[2].p_memsz = -code.p_vaddr - 1;
	cr_assert_eq(read_segments(headers, 3), -ENOEXEC);
	cr_assert_eq(code_pages_read(-1, "no ELF file", 11, &pages, &n_pages), -ENOEXEC);
}
