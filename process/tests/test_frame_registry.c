// SPDX-License-Identifier: Apache-2.0
/* Frames that are registered in this process's libgcc, and lists and trees as others have them, or forge them. */
#include "process/frame_registry.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include "cfi/tests/assembler.h"
#include "elf/elf_file.h"
#include "limits/limits.h"
#include "process/process_table.h"

void __register_frame(void *begin);
void __deregister_frame(void *begin);

/* As libgcc has them. */
struct object {
	uint64_t lowest, text_base, data_base, frames, bits, next;
};

struct node {
	uint64_t version;
	uint32_t n, type;
	uint64_t entries[30];
};

#define UNSORTED 0x7f8

static struct process_table table;
static struct process self;
static struct {
	uint64_t object, frames;
} found[64];
static size_t n_found;

static int note(void *arg, uint64_t object, uint64_t frames)
{
	(void)arg;
	if (n_found < sizeof(found) / sizeof(*found)) {
		found[n_found].object = object;
		found[n_found].frames = frames;
	}
	n_found++;
	return 0;
}

static void begin(void)
{
	self = (struct process){ .pid = getpid(), .thread = getpid() };
	n_found = 0;
}

TestSuite(frame_registry, .init = begin);

static uint64_t at(const void *pointer)
{
	return (uintptr_t)pointer;
}

static uint64_t until = UINT64_MAX;

static int search(const void *word)
{
	const struct frame_lists lists = { .at = { at(word) } };

	n_found = 0;
	return frame_registry_each(&table, &self, &lists, 0, until, note, NULL);
}

static struct assembler make_frames(uint64_t code)
{
	struct assembler a = { .size = 0 };
	size_t cie = put_cie(&a);

	record_end(&a, fde_begin(&a, cie, code, 16));
	put_u32(&a, 0);
	return a;
}

static bool has(const void *frames)
{
	for (size_t i = 0; i < n_found; i++)
		if (found[i].frames == at(frames))
			return true;
	return false;
}

/* This process's own libgcc, by what its file says. */
static struct frame_lists find_lists(uint64_t *ret_bias)
{
	struct frame_lists lists;
	struct elf_file file;
	struct link_map *map;
	Dl_info info;
	int fd;

	cr_assert(dladdr1(dlsym(RTLD_DEFAULT, "__register_frame"), &info, (void **)&map,
			  RTLD_DL_LINKMAP));
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	cr_assert_eq(elf_file_init_fd_only(&file, fd), 0);
	frame_lists_find(&file, &lists);
	elf_file_done(&file);
	close(fd);
	*ret_bias = map->l_addr;
	return lists;
}

static _Unwind_Reason_Code stop(struct _Unwind_Context *context, void *arg)
{
	(void)context;
	(void)arg;
	return _URC_NORMAL_STOP;
}

static size_t look(const struct frame_lists *lists, uint64_t bias)
{
	n_found = 0;
	cr_assert_eq(frame_registry_each(&table, &self, lists, bias, until, note, NULL), 0);
	return n_found;
}

/* Whether libgcc has sorted them already, or not. */
Test(frame_registry, finds_what_libgcc_has)
{
	struct assembler first = make_frames(0x7ff000001000), second = make_frames(0x7ff000002000);
	struct frame_lists lists;
	struct dwarf_eh_bases {
		void *tbase, *dbase, *func;
	} bases;
	const void *(*find_fde)(void *, struct dwarf_eh_bases *) =
		(const void *(*)(void *, struct dwarf_eh_bases *))dlsym(RTLD_DEFAULT,
									"_Unwind_Find_FDE");
	uint64_t bias;

	cr_assert(find_fde);
	lists = find_lists(&bias);
	cr_expect_eq(look(&lists, bias), 0);
	__register_frame(first.bytes);
	cr_expect_geq(look(&lists, bias), 1);
	cr_expect(has(first.bytes));
	cr_expect_not(has(second.bytes));
	_Unwind_Backtrace(stop, NULL);
	cr_assert(find_fde((void *)0x7ff000001001, &bases));
	__register_frame(second.bytes);
	cr_expect_geq(look(&lists, bias), 2);
	cr_expect(has(first.bytes));
	cr_expect(has(second.bytes));
	__deregister_frame(first.bytes);
	cr_expect_geq(look(&lists, bias), 1);
	cr_expect_not(has(first.bytes));
	__deregister_frame(second.bytes);
	cr_expect_eq(look(&lists, bias), 0);
}

static struct object make_object(const struct assembler *frames)
{
	return (struct object){ UINT64_MAX, 0, 0, at(frames->bytes), UNSORTED, 0 };
}

Test(frame_registry, lists_lead_on)
{
	struct assembler frames = make_frames(0x1000);
	struct object first = make_object(&frames), second = make_object(&frames);
	uint64_t sorted = at(frames.bytes), word = at(&first);

	first.next = at(&second);
	second.frames = at(&sorted);
	second.bits = 1 | 0x1b << 3 | 1 << 11;
	cr_expect_eq(search(&word), 0);
	cr_assert_eq(n_found, 2);
	cr_expect_eq(found[0].object, at(&first));
	cr_expect_eq(found[1].object, at(&second));
	cr_expect_eq(found[1].frames, at(frames.bytes));
	word = 0;
	cr_expect_eq(search(&word), 0);
	cr_expect_eq(n_found, 0);
}

Test(frame_registry, what_is_forged_ends)
{
	struct assembler frames = make_frames(0x1000);
	struct object object = make_object(&frames);
	uint64_t word = at(&object);

	object.next = at(&object);
	cr_expect_eq(search(&word), -E2BIG);
	cr_expect_eq(n_found, JIT_OBJECTS_WALK);
	until = 1;
	cr_expect_eq(search(&word), -ETIMEDOUT);
	cr_expect_eq(n_found, 0);
	until = UINT64_MAX;
	object.next = 16;
	cr_expect_eq(search(&word), -ESTALE, "it leads nowhere");
	object.next = 0;
	object.lowest = 0x1000;
	frames.bytes[8] = 2;
	cr_expect_eq(search(&word), 0);
	cr_expect_eq(n_found, 0, "no CIE has this version");
	frames.bytes[8] = 1;
	object.text_base = 1;
	cr_expect_eq(search(&word), 0);
	cr_expect_eq(n_found, 0);
	word = 16;
	cr_expect_eq(search(&word), 0);
	cr_expect_eq(search((void *)16), -EFAULT);
}

Test(frame_registry, trees_are_searched)
{
	struct assembler frames = make_frames(0x1000);
	struct object objects[3] = { make_object(&frames), make_object(&frames),
				     make_object(&frames) };
	struct node leaves[2] = {
		{ 4, 1, 1, { 0x1000, 16, at(&objects[0]) } },
		{ 8, 2, 1, { 0x2000, 16, at(&objects[1]), 0x3000, 16, at(&objects[2]) } }
	};
	struct node root = { 4, 2, 0, { 0x1fff, at(&leaves[0]), UINT64_MAX, at(&leaves[1]) } };
	uint64_t word = at(&root);

	/* A list's end, in a tree, is whatever memory had. */
	objects[1].next = 3;
	cr_expect_eq(search(&word), 0);
	cr_assert_eq(n_found, 3);
	cr_expect_eq(found[2].object, at(&objects[2]));
	leaves[1].version |= 1;
	cr_expect_eq(search(&word), -ESTALE);
	leaves[1].version &= ~UINT64_C(1);
	leaves[1].type = 2;
	cr_expect_eq(search(&word), 0);
	cr_expect_eq(n_found, 1, "that is free");
	leaves[1].type = 1;
	leaves[1].n = 11;
	cr_expect_eq(search(&word), 0);
	cr_expect_eq(n_found, 1);
	/* As one that leads back. */
	root.entries[1] = at(&root);
	cr_expect_eq(search(&word), 0);
	root.n = 15;
	for (int i = 0; i < 15; i++)
		root.entries[2 * i + 1] = at(&root);
	cr_expect_eq(search(&word), -E2BIG);
}

Test(frame_registry, sections_are_measured)
{
	struct assembler frames = make_frames(0x1000);
	uint8_t *large = calloc(1, 3 * 4096 + 8);
	uint64_t size;
	uint32_t length = 4092;

	cr_assert_eq(frame_registry_measure(&table, &self, at(frames.bytes), ASSEMBLER_SIZE, &size),
		     0);
	cr_expect_eq(size, frames.size);
	cr_expect_eq(frame_registry_measure(&table, &self, at(frames.bytes), size, &size), 0);
	cr_expect_eq(frame_registry_measure(&table, &self, at(frames.bytes), frames.size - 1,
					    &size),
		     -E2BIG);
	/* Over several pages, wherever it begins. */
	for (int i = 0; i < 3; i++)
		memcpy(large + 1 + 4096 * i, &length, sizeof(length));
	cr_assert_eq(frame_registry_measure(&table, &self, at(large + 1), UINT32_MAX, &size), 0);
	cr_expect_eq(size, 3 * 4096 + 4);
	length = 0xffffffff;
	memcpy(large + 1 + 4096, &length, sizeof(length));
	cr_expect_eq(frame_registry_measure(&table, &self, at(large + 1), UINT32_MAX, &size),
		     -EBADMSG);
	cr_expect_eq(frame_registry_measure(&table, &self, 16, UINT32_MAX, &size), -EFAULT);
	free(large);
}
