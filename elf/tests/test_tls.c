// SPDX-License-Identifier: Apache-2.0
/*
 * Thread-local variables of this program and of libraries (tls_library.c), found by their files and by
 * the walker's code, compared with where they are.
 */
#include "elf/elf_tls.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpf/tls.h"

/* Exported; the second one is not at the start of its block. */
__thread uint64_t elf_tls_first = 1;
__thread uint64_t elf_tls_second;

static uintptr_t thread_base(void)
{
	return (uintptr_t)__builtin_thread_pointer();
}

static void find(const char *path, const char *name, struct dp_tls *ret)
{
	struct elf_file file;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	cr_assert_eq(elf_file_init_fd_only(&file, fd), 0);
	elf_tls_find(&file, name, ret);
	elf_file_done(&file);
	close(fd);
}

#define MEMBER (15 * sizeof(uint64_t))

/* What returns a member uses the same variable, by its code. */
static void expect_returned(const void *code, uint64_t bias, const struct dp_tls *wanted)
{
	const ElfW(Sym) * symbol;
	struct dp_tls tls;
	Dl_info info;

	cr_assert(dladdr1(code, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol);
	cr_assert(elf_tls_returned(code, symbol->st_size, (uintptr_t)code - bias, MEMBER, &tls));
	cr_expect_eq(tls.kind, wanted->kind);
	cr_expect_eq(tls.value, wanted->value);
	for (uint64_t size = 0; size < symbol->st_size; size++)
		cr_expect(!elf_tls_returned(code, size, (uintptr_t)code - bias, MEMBER, &tls));
	cr_expect(
		!elf_tls_returned(code, symbol->st_size, (uintptr_t)code - bias, MEMBER + 8, &tls));
}

static void expect_program(const char *name, const uint64_t *variable)
{
	struct dp_tls tls;

	find("/proc/self/exe", name, &tls);
	cr_assert_eq(tls.kind, DP_TLS_OFFSET);
	cr_expect_eq(thread_base() + tls.value, (uintptr_t)variable);
}

Test(tls, a_program_has_them_at_a_fixed_offset)
{
	expect_program("elf_tls_first", &elf_tls_first);
	expect_program("elf_tls_second", &elf_tls_second);
}

extern const char elf_tls_member[];

__asm__(".text\n"
	".globl elf_tls_member\n"
	".type elf_tls_member, @function\n"
	"elf_tls_member:\n"
	"	mov %fs:elf_tls_second@tpoff, %rax\n"
	"	mov 0x78(%rax), %rax\n"
	"	ret\n"
	".size elf_tls_member, . - elf_tls_member\n");

Test(tls, a_program_returns_their_members)
{
	struct dp_tls tls;

	find("/proc/self/exe", "elf_tls_second", &tls);
	expect_returned(elf_tls_member, _r_debug.r_map->l_addr, &tls);
}

Test(tls, a_library_has_them_in_a_block_of_its_own)
{
	static const char *const name = "_ZSt11__once_call";
	void *library = dlopen("libstdc++.so.6", RTLD_NOW);
	const uint64_t *slot, *blocks;
	const struct link_map *map;
	struct dp_tls tls;
	const void *variable;

	cr_assert_not_null(library);
	variable = dlsym(library, name);
	cr_assert_eq(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
	find(map->l_name, name, &tls);
	cr_assert_eq(tls.kind, DP_TLS_MODULE);
	slot = (const void *)(map->l_addr + tls.value);
	blocks = *(const uint64_t *const *)(thread_base() + DP_THREAD_BLOCKS);
	cr_expect_eq(blocks[2 * slot[0]] + slot[1], (uintptr_t)variable);
	dlclose(library);
}

static int read_own(struct port_user *port, void *dst, uint32_t size, uint64_t address)
{
	/* As the kernel does, fails where nothing is. */
	if (address < 0x10000 || address >> 47 != 0)
		return -14;
	memcpy(dst, (const void *)(uintptr_t)address, size);
	return 0;
}

/* A library's variable, and a function that returns its address. */
struct variable {
	void *library;
	const uint64_t *(*address)(void);
	enum dp_tls_kind kind;
	struct walk walk;
	struct port_user port;
};

static struct variable variable;

static void open_library(const char *name, enum dp_tls_kind kind)
{
	struct variable *v = &variable;
	const struct link_map *map;
	char path[512];

	snprintf(path, sizeof(path), "%s/tls_%s.so", getenv("TLS_LIBRARIES"), name);
	v->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	cr_assert_not_null(v->library, "%s", dlerror());
	v->address = (const uint64_t *(*)(void))(uintptr_t)dlsym(v->library, "tls_address");
	cr_assert(v->address && dlinfo(v->library, RTLD_DI_LINKMAP, &map) == 0);
	find(path, "tls_variable", &v->walk.tls.at);
	cr_assert_eq(v->walk.tls.at.kind, kind, "%s: %u", name, v->walk.tls.at.kind);
	v->walk.tls.bias = map->l_addr;
	v->port.read = read_own;
	v->walk.world.user = &v->port;
	expect_returned(dlsym(v->library, "tls_member"), map->l_addr, &v->walk.tls.at);
}

/* What the walker's code says in this thread. */
static int find_variable(void)
{
	variable.port.thread_base = thread_base();
	return tls_find(&variable.walk);
}

/* A block that is made when it is first used is not there before. */
static void *expect_late(void *late)
{
	cr_assert_eq(find_variable(), late ? 1 : 0);
	cr_assert_eq(*variable.address(), 2);
	cr_assert_eq(find_variable(), 0);
	cr_assert_eq(variable.walk.tls.address, (uintptr_t)variable.address());
	return NULL;
}

/* In this thread and another one. */
static void expect_library(const char *name, enum dp_tls_kind kind, bool is_late)
{
	static char late;
	pthread_t thread;

	open_library(name, kind);
	expect_late(is_late ? &late : NULL);
	cr_assert_eq(pthread_create(&thread, NULL, expect_late, is_late ? &late : NULL), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	dlclose(variable.library);
}

Test(tls, a_module_has_a_block)
{
	expect_library("module", DP_TLS_MODULE, true);
}

Test(tls, a_module_has_a_block_without_the_name)
{
	expect_library("module_own", DP_TLS_MODULE, true);
}

Test(tls, a_slot_has_a_distance)
{
	expect_library("slot", DP_TLS_SLOT, false);
}

/* The dynamic linker has room for a small block beside those of the program. */
Test(tls, a_descriptor_has_a_distance)
{
	expect_library("descriptor", DP_TLS_DESCRIPTOR, false);
}

Test(tls, a_descriptor_leads_to_a_block)
{
	expect_library("descriptor_large", DP_TLS_DESCRIPTOR, true);
}

Test(tls, a_descriptor_leads_to_a_block_without_the_name)
{
	expect_library("descriptor_own", DP_TLS_DESCRIPTOR, true);
}

/* A slot that is not filled yet says nothing. */
Test(tls, is_nowhere_before_relocation)
{
	static const uint64_t slot[3];
	struct walk_tls *t = &variable.walk.tls;

	variable.port.read = read_own;
	variable.walk.world.user = &variable.port;
	t->at.value = (uintptr_t)slot;
	for (t->at.kind = DP_TLS_SLOT; t->at.kind < DP_N_TLS_KINDS; t->at.kind++)
		cr_expect_eq(find_variable(), 1, "%u", t->at.kind);
	t->at.value = 0x1000;
	for (t->at.kind = DP_TLS_SLOT; t->at.kind < DP_N_TLS_KINDS; t->at.kind++)
		cr_expect_eq(find_variable(), -1, "%u", t->at.kind);
	variable.port.thread_base = 0;
	cr_expect_eq(tls_find(&variable.walk), -1);
}

Test(tls, others_have_none)
{
	struct dp_tls tls;

	find("/proc/self/exe", "elf_tls_third", &tls);
	cr_expect_eq(tls.kind, DP_TLS_NONE);
	find("/proc/self/exe", "main", &tls);
	cr_expect_eq(tls.kind, DP_TLS_NONE);
}

Test(tls, the_block_ends_at_the_base)
{
	cr_expect_eq(elf_tls_program_offset(8, 0x14, 16), (uint64_t)-0x18);
	cr_expect_eq(elf_tls_program_offset(0, 8, 0), (uint64_t)-8);
}
