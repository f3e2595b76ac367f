// SPDX-License-Identifier: Apache-2.0
/* Where a libgcc keeps frames that are registered: of this machine's, and of some code. */
#include "elf/frame_lists.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "elf/elf_facts.h"

static int n_found(const char *path, struct elf_facts *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), n = 0;
	struct elf_file file;

	cr_assert_geq(fd, 0, "%s", path);
	cr_assert_eq(elf_file_init_fd_only(&file, fd), 0);
	cr_assert_eq(elf_facts_init(ret, &file), 0);
	while (n < N_FRAME_LISTS && ret->frame_lists.at[n] != 0)
		n++;
	elf_file_done(&file);
	close(fd);
	return n;
}

/* Lists of both kinds of objects, or the trees; and what else it uses. */
Test(frame_lists, libgcc_has_some)
{
	struct elf_facts facts;
	int n = n_found(getenv("LIBGCC"), &facts);

	cr_expect_geq(n, 2);
	cr_expect_leq(n, 6);
	for (int i = 0; i < n; i++) {
		bool is_in = false;

		for (size_t j = 0; j < facts.n_segments; j++) {
			const struct elf_segment *s = &facts.segments[j];

			is_in |= s->writable && facts.frame_lists.at[i] >= s->address &&
				 facts.frame_lists.at[i] + 8 <= s->address + s->memory_size;
		}
		cr_expect(is_in);
	}
	elf_facts_done(&facts);
}

Test(frame_lists, others_have_none)
{
	struct elf_facts facts;

	cr_expect_eq(n_found("/proc/self/exe", &facts), 0);
	elf_facts_done(&facts);
}

Test(frame_lists, each_word_counts_once)
{
	static const uint8_t code[] = {
		0x48, 0x8b, 0x05, 0xf9, 0x0f, 0, 0, /* mov 0x1000+0x1000(%rip),%rax */
		0x48, 0x8d, 0x0d, 0xf2, 0x0f, 0, 0, /* lea of the same, %rcx */
		0x4c, 0x8b, 0x25, 0xf3, 0x0f, 0, 0, /* mov 0x2008(%rip),%r12 */
		0x8b, 0x05, 0xf1, 0x0f, 0,    0,    /* mov of 4 bytes */
		0x48, 0x8b, 0x05, 0xf0, 0x7f, 0, 0, /* elsewhere */
		0x48, 0x8b, 0x05, 0xff, 0x0f        /* cut off */
	};
	uint64_t found[N_FRAME_LISTS] = { 0 };

	cr_assert_eq(frame_lists_in_code(code, sizeof(code), 0x1000, 0x2000, 0x3000, found), 2);
	cr_expect_eq(found[0], 0x2000);
	cr_expect_eq(found[1], 0x2008);
	found[0] = found[1] = 0;
	cr_expect_eq(frame_lists_in_code(code, sizeof(code), 0x1000, 0x2001, 0x2008, found), 0);
}
