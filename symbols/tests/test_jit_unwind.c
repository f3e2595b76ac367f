// SPDX-License-Identifier: Apache-2.0
/* Unwind information in jitdumps: laid out as perf expects it, and as LLVM writes it; moved, replaced and damaged. */
#include "symbols/jit_unwind.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "cfi/index.h"
#include "cfi/tests/assembler.h"
#include "elf/elf_file.h"
#include "symbols/tests/jit_dump_bytes.h"

#define CODE 0x7f0000001000

static int fd;

static void begin(void)
{
	fd = memfd_create("dump", MFD_CLOEXEC);
	put(fd, &good_header, sizeof(good_header));
}

static void end(void)
{
	close(fd);
}

TestSuite(jit_unwind, .init = begin, .fini = end);

/* For functions of 16 bytes, the first one so far in front of it. */
static struct assembler make_frames(uint64_t distance, size_t n)
{
	struct assembler a = { .size = 0 };
	size_t cie = cie_begin(&a, "zR", DW_EH_PE_pcrel | DW_EH_PE_sdata4);

	put_u8(&a, DW_CFA_def_cfa), put_uleb(&a, 7), put_uleb(&a, 8);
	put_u8(&a, DW_CFA_offset | 16), put_uleb(&a, 1);
	record_end(&a, cie);
	for (size_t i = 0; i < n; i++) {
		size_t fde = record_begin(&a);

		put_u32(&a, (uint32_t)(a.size - cie));
		put_u32(&a, (uint32_t)(16 * i - distance - a.size));
		put_u32(&a, 16);
		put_uleb(&a, 0);
		record_end(&a, fde);
	}
	put_u32(&a, 0);
	return a;
}

static void put_unwinding(const void *first, size_t first_size, const void *second,
			  size_t second_size, uint64_t header_size)
{
	const uint64_t size = first_size + second_size, padding = 0;
	const uint32_t prefix[2] = { 4, (uint32_t)(16 + 24 + size + sizeof(padding)) };
	const uint64_t body[] = { 0, size, header_size, size };

	put(fd, prefix, sizeof(prefix));
	put(fd, body, sizeof(body));
	put(fd, first, first_size);
	put(fd, second, second_size);
	put(fd, &padding, sizeof(padding));
}

/* As perf has it: behind code of a size, .eh_frame and its header. */
static void put_frames(uint64_t code_size)
{
	static const uint8_t header[20] = { 1, 0x1b, 3, 0x3b };
	struct assembler a = make_frames((code_size + 7) & ~UINT64_C(7), 1);

	put_unwinding(a.bytes, a.size, header, sizeof(header), sizeof(header));
}

static void put_move(uint64_t from, uint64_t to, uint64_t size)
{
	const uint32_t prefix[2] = { 1, 16 + 48 };
	const uint64_t body[] = { 0, 0, to, from, to, size, 0 };

	put(fd, prefix, sizeof(prefix));
	put(fd, body, sizeof(body));
}

/* Where the functions with unwind information are; 0 behind the last one. */
static int read_starts(uint64_t starts[8])
{
	uint8_t *program;
	size_t size;
	struct cfi_index index;
	struct elf_file file;
	int err = jit_unwind_read(fd, &program, &size);

	memset(starts, 0, 8 * sizeof(*starts));
	if (err < 0)
		return err;
	cr_assert_eq(elf_file_init_memory(&file, program, size), 0);
	cr_assert_eq(cfi_index_init(&index, &file.cfi), 0);
	cr_assert_eq(index.n_refusals, 0);
	cr_assert_lt(index.n_fdes, 8);
	for (size_t i = 0; i < index.n_fdes; i++) {
		starts[i] = index.fdes[i].start;
		cr_expect_eq(index.fdes[i].end, starts[i] + 16);
	}
	cr_expect_eq(file.segments[0].address, starts[0]);
	cfi_index_done(&index);
	elf_file_done(&file);
	free(program);
	return 0;
}

static void expect_starts(uint64_t first, uint64_t second)
{
	uint64_t starts[8];

	cr_assert_eq(read_starts(starts), 0);
	cr_expect_eq(starts[0], first, "%lx", starts[0]);
	cr_expect_eq(starts[1], second, "%lx", starts[1]);
	cr_expect_eq(starts[2], 0);
}

Test(jit_unwind, it_is_behind_its_code)
{
	put_frames(16);
	put_load(fd, 1, CODE + 0x100, 16, "second");
	put_frames(21);
	put_load(fd, 2, CODE, 21, "first");
	/* What has none is not described by what was for another. */
	put_load(fd, 3, CODE + 0x200, 16, "third");
	expect_starts(CODE, CODE + 0x100);
}

/* Sizes of code that include something else would lead elsewhere. */
Test(jit_unwind, it_has_to_begin_where_its_code_does)
{
	put_frames(16);
	put_load(fd, 1, CODE, 16, "first");
	put_frames(16);
	put_load(fd, 2, CODE + 0x100, 40, "second");
	expect_starts(CODE, 0);
}

Test(jit_unwind, what_is_replaced_is_gone)
{
	put_frames(16);
	put_load(fd, 1, CODE, 16, "first");
	put_frames(16);
	put_load(fd, 2, CODE + 0x100, 16, "second");
	expect_starts(CODE, CODE + 0x100);
	put_load(fd, 3, CODE + 8, 0x10, "over it");
	expect_starts(CODE + 0x100, 0);
}

Test(jit_unwind, moves_with_its_code)
{
	put_frames(16);
	put_load(fd, 1, CODE, 16, "first");
	put_move(CODE + 1, CODE + 0x300, 16);
	expect_starts(CODE, 0);
	put_move(CODE, CODE + 0x300, 16);
	expect_starts(CODE + 0x300, 0);
}

/* Its header is in front, with the place of what is for all code that follows. */
Test(jit_unwind, llvm_has_one_for_several)
{
	struct assembler a = make_frames(0x5000, 2);
	uint8_t header[12] = { 1, 0x0c, 0xff, 0xff };
	const uint64_t address = CODE + 0x5000;

	memcpy(header + 4, &address, sizeof(address));
	put_unwinding(header, sizeof(header), a.bytes, a.size, sizeof(header));
	put_load(fd, 1, CODE + 16, 16, "second");
	put_load(fd, 1, CODE, 16, "first");
	put_load(fd, 1, CODE + 32, 16, "third");
	expect_starts(CODE, CODE + 16);
	/* Once moved, the distances are others. */
	put_move(CODE, CODE + 0x300, 16);
	expect_starts(CODE + 16, 0);
}

Test(jit_unwind, there_may_be_none)
{
	uint64_t starts[8];

	cr_expect_eq(read_starts(starts), -ENODATA);
	put_load(fd, 1, CODE, 16, "first");
	cr_expect_eq(read_starts(starts), -ENODATA);
	put_unwinding("", 0, "", 0, 0);
	put_load(fd, 1, CODE, 16, "first");
	cr_expect_eq(read_starts(starts), -ENODATA);
}

Test(jit_unwind, damage_costs_what_is_damaged)
{
	const uint64_t sizes[] = { UINT64_MAX, 100 };
	uint64_t starts[8];

	put_frames(16);
	put_load(fd, 1, CODE, 16, "first");
	for (size_t i = 0; i < 2; i++) {
		const uint32_t prefix[2] = { 4, 16 + 24 + 8 };
		const uint64_t body[] = { 0, sizes[i], 0, 0, 0 };

		put(fd, prefix, sizeof(prefix));
		put(fd, body, sizeof(body));
		put_load(fd, 1, CODE + 0x100, 16, "second");
	}
	put_unwinding("0123456789abcdef", 16, "", 0, 17);
	put_load(fd, 1, CODE + 0x200, 16, "third");
	/* Of impossible places */
	put_frames(16);
	put_load(fd, 1, UINT64_MAX - 20, 16, "fourth");
	put_frames(16);
	put_load(fd, 1, CODE + 0x300, 0, "fifth");
	expect_starts(CODE, 0);
	put(fd, "\4\0\0\0\x18\0\0\0", 8);
	put(fd, "\0\0\0\0\0\0\0\0", 8);
	put(fd, "\0\0\0\0\0\0\0\0", 8);
	cr_expect_eq(read_starts(starts), -EBADMSG);
}

Test(jit_unwind, another_file_is_none)
{
	struct dump_header header = good_header;
	uint64_t starts[8];

	header.machine++;
	cr_assert_eq(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	cr_expect_eq(read_starts(starts), -ENOEXEC);
	cr_assert_eq(ftruncate(fd, 10), 0);
	cr_expect_eq(read_starts(starts), -ENODATA, "it is not written yet");
}
