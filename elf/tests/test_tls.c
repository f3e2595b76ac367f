// SPDX-License-Identifier: Apache-2.0
/* Thread-local variables of this program and of a library, compared with where they are. */
#include "elf/elf_tls.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "bpf/abi.h"

/* Exported; the second one is not at the start of its block. */
__thread uint64_t elf_tls_first = 1;
__thread uint64_t elf_tls_second;

static uintptr_t thread_base(void)
{
	return (uintptr_t)__builtin_thread_pointer();
}

static void find(const char *path, const char *name, struct elf_tls *ret)
{
	struct elf_file file;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	cr_assert_eq(elf_file_init_fd_only(&file, fd), 0);
	elf_tls_find(&file, name, ret);
	elf_file_done(&file);
	close(fd);
}

static void expect_program(const char *name, const uint64_t *variable)
{
	struct elf_tls tls;

	find("/proc/self/exe", name, &tls);
	cr_assert_eq(tls.kind, ELF_TLS_OFFSET);
	cr_expect_eq(thread_base() + tls.value, (uintptr_t)variable);
}

Test(tls, a_program_has_them_at_a_fixed_offset)
{
	expect_program("elf_tls_first", &elf_tls_first);
	expect_program("elf_tls_second", &elf_tls_second);
}

Test(tls, a_library_has_them_in_a_block_of_its_own)
{
	static const char *const name = "_ZSt11__once_call";
	void *library = dlopen("libstdc++.so.6", RTLD_NOW);
	const uint64_t *slot, *blocks;
	const struct link_map *map;
	struct elf_tls tls;
	const void *variable;

	cr_assert_not_null(library);
	variable = dlsym(library, name);
	cr_assert_eq(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
	find(map->l_name, name, &tls);
	cr_assert_eq(tls.kind, ELF_TLS_MODULE);
	slot = (const void *)(map->l_addr + tls.value);
	blocks = *(const uint64_t *const *)(thread_base() + DP_THREAD_BLOCKS);
	cr_expect_eq(blocks[2 * slot[0]] + slot[1], (uintptr_t)variable);
	dlclose(library);
}

Test(tls, others_have_none)
{
	struct elf_tls tls;

	find("/proc/self/exe", "elf_tls_third", &tls);
	cr_expect_eq(tls.kind, ELF_TLS_NONE);
	find("/proc/self/exe", "main", &tls);
	cr_expect_eq(tls.kind, ELF_TLS_NONE);
}

Test(tls, the_block_ends_at_the_base)
{
	cr_expect_eq(elf_tls_program_offset(8, 0x14, 16), (uint64_t)-0x18);
	cr_expect_eq(elf_tls_program_offset(0, 8, 0), (uint64_t)-8);
}
