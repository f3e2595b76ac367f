// SPDX-License-Identifier: Apache-2.0
/* Everything that a table is made of changes the digest, and nothing else does. */
#include "sandbox/table_digest.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* This program, with copies of what may be changed. */
static struct elf_file file;
static struct file_digest as_it_is;
static uint8_t *cfi;
static struct code_range *ranges;

static void begin(void)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	cr_assert_eq(elf_file_init_fd_only(&file, fd), 0);
	table_digest(&file, &as_it_is);
	cfi = malloc(file.cfi.size);
	memcpy(cfi, file.cfi.data, file.cfi.size);
	ranges = malloc(file.code.n_ranges * sizeof(*ranges));
	memcpy(ranges, file.code.ranges, file.code.n_ranges * sizeof(*ranges));
}

static void end(void)
{
	free(cfi);
	free(ranges);
	elf_file_done(&file);
}

TestSuite(table_digest, .init = begin, .fini = end);

static bool is_as_it_was(const struct elf_file *other)
{
	struct file_digest digest;

	table_digest(other, &digest);
	return memcmp(&digest, &as_it_is, sizeof(digest)) == 0;
}

Test(table_digest, depends_on_all_numbers)
{
	struct elf_file other = file;
	uint64_t *const numbers[] = {
		&other.cfi.address, &other.code.start,   &other.code.end,
		&other.code.entry,  &other.code.go.text, &other.code.fallback.address,
	};

	cr_assert(is_as_it_was(&other));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		*numbers[i] ^= 1;
		cr_expect(!is_as_it_was(&other), "%zu", i);
		*numbers[i] ^= 1;
	}
	other.cfi.debug_frame ^= true;
	cr_expect(!is_as_it_was(&other));
	other.cfi.debug_frame ^= true;
	other.code.go_minor++;
	cr_expect(!is_as_it_was(&other));
	other.code.go_minor--;
	other.build_id[0] ^= 1;
	cr_expect(!is_as_it_was(&other));
	other.build_id[0] ^= 1;
	other.debug_link_checksum++;
	cr_expect(is_as_it_was(&other), "names are not of interest");
}

Test(table_digest, depends_on_unwind_information)
{
	struct elf_file other = file;

	other.cfi.data = cfi;
	cr_expect(is_as_it_was(&other));
	for (size_t at = 0; at < other.cfi.size; at += other.cfi.size / 7) {
		cfi[at] ^= 1;
		cr_expect(!is_as_it_was(&other), "%zu", at);
		cfi[at] ^= 1;
	}
	other.cfi.size--;
	cr_expect(!is_as_it_was(&other));
}

/* As there is not much in this program. */
Test(table_digest, depends_on_small_code)
{
	struct elf_file other = file;
	uint8_t *bytes;

	cr_assert_gt(other.code.n_ranges, 0);
	cr_assert_leq(ranges[0].size, 64 << 10);
	bytes = malloc(ranges[0].size);
	memcpy(bytes, ranges[0].bytes, ranges[0].size);
	ranges[0].bytes = bytes;
	other.code.ranges = ranges;
	cr_expect(is_as_it_was(&other));
	bytes[ranges[0].size - 1] ^= 1;
	cr_expect(!is_as_it_was(&other));
	bytes[ranges[0].size - 1] ^= 1;
	ranges[0].address++;
	cr_expect(!is_as_it_was(&other));
	ranges[0].address--;
	other.code.n_ranges--;
	cr_expect(!is_as_it_was(&other));
	free(bytes);
}
