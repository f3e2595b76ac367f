// SPDX-License-Identifier: Apache-2.0
#include "symbols/segment.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/tests/elf_bytes.h"

static struct segment *segments;
static size_t n_segments;

static int read_segments(const Elf64_Phdr *headers, size_t n)
{
	char bytes[sizeof(Elf64_Ehdr) + 8 * sizeof(Elf64_Phdr)];
	const Elf64_Ehdr header = elf_header(n, 0);

	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), headers, n * sizeof(*headers));
	return segments_read(-1, bytes, sizeof(header) + n * sizeof(*headers), &segments,
			     &n_segments);
}

static const Elf64_Phdr code = { .p_type = PT_LOAD,
				 .p_flags = PF_R | PF_X,
				 .p_offset = 0x1234,
				 .p_vaddr = 0x401234,
				 .p_memsz = 0x1000 };

/* Other parts of a file are mapped, too; an address in them has no function. */
Test(segment, is_of_code_alone)
{
	Elf64_Phdr headers[] = { code, code, code, code };

	headers[0].p_flags = PF_R | PF_W;
	headers[1].p_type = PT_NOTE;
	headers[2].p_memsz = 0;
	cr_assert_eq(read_segments(headers, 4), 0);
	cr_assert_eq(n_segments, 1);
	cr_assert_eq(segments[0].start, 0x401000);
	cr_assert_eq(segments[0].limit, 0x403000);
	cr_assert_eq(segments[0].offset, 0x1000);
	free(segments);
	cr_assert_eq(read_segments(headers, 3), -ENOEXEC);
}

/* Segments that no kernel would map. */
Test(segment, makes_sense)
{
	Elf64_Phdr headers[] = { code, code, code };

	headers[0].p_offset++;
	headers[1].p_memsz = -code.p_vaddr;
	headers[2].p_memsz = -code.p_vaddr - 1;
	cr_assert_eq(read_segments(headers, 3), -ENOEXEC);
	cr_assert_eq(segments_read(-1, "no ELF file", 11, &segments, &n_segments), -ENOEXEC);
}
