// SPDX-License-Identifier: Apache-2.0
/* Generated code of which only unwind information is known: registered in a libgcc, or in a jitdump. */
#include "process/jit_objects.h"

#include <string.h>
#include <sys/mman.h>

#include "cfi/tests/assembler.h"
#include "elf/frames_object.h"
#include "elf/mapped_file.h"
#include "process/tests/jit_world.h"

int __wrap_mapped_file_find_named(pid_t pid, uint64_t inode, const char *name);
int __wrap_binary_store_get_dump(struct binary_store *store, pid_t pid, int fd, uint64_t size,
				 struct binary **ret);

/* As libgcc has it. */
struct registered {
	uint64_t lowest, text_base, data_base, frames, bits, next;
};

static struct binary libgcc;
static uint64_t word; /* leads to the first one */
static int dump = -1;
static bool is_loading;

int __wrap_mapped_file_find_named(pid_t pid, uint64_t inode, const char *name)
{
	(void)pid;
	cr_expect_eq(inode, 7);
	cr_expect_str_eq(name, "/tmp/jit-1.dump");
	return dup(dump);
}

int __wrap_binary_store_get_dump(struct binary_store *store, pid_t pid, int fd, uint64_t size,
				 struct binary **ret)
{
	int err;

	cr_expect_leq((off_t)size, lseek(fd, 0, SEEK_END));
	cr_expect_leq(size, FRAMES_JOINED_MAX);
	err = __wrap_binary_store_get_object(store, pid, fd, ret);
	if (err == 0)
		(*ret)->is_loading = is_loading;
	return err;
}

static void begin_frames(void)
{
	begin();
	libgcc.elf.frame_lists.at[0] = (uintptr_t)&word;
	word = 0;
	put_memory(&p, 0x10000, 0x20000, 0);
	code[0] = (struct elf_segment){ .address = 0x12000,
					.memory_size = 0x100,
					.executable = true };
	n_code = 1;
}

TestSuite(jit_frames, .init = begin_frames, .fini = end);

static struct assembler make_frames(void)
{
	struct assembler a = { .size = 0 };
	size_t cie = put_cie(&a);

	record_end(&a, fde_begin(&a, cie, 0x12000, 16));
	put_u32(&a, 0);
	return a;
}

static void load_libgcc(void)
{
	const struct mapping m = { 0x4000, 0x5000, .binary = &libgcc, .died = TIME_NEVER };

	cr_assert_eq(process_add_mapping(&p, &m), 0);
	jit_objects_meet(&p, &m);
}

static const struct binary *binary_at(uint64_t address)
{
	const struct mapping *m = history_find(&p.mappings, address, TIME_NEVER - 1);

	cr_assert(m);
	return m->binary;
}

/* Samples are in generated code. What has ended is not needed any more. */
static void look_again(uint64_t now)
{
	jit_objects_expect(&p);
	look(&p, now);
	history_forget(&p.mappings, now + 1);
}

Test(jit_frames, registered_ones_are_looked_for_in_who_generates_code)
{
	struct assembler a = make_frames();
	struct registered r = { UINT64_MAX, 0, 0, (uintptr_t)a.bytes, 0x7f8, 0 };

	word = (uintptr_t)&r;
	load_libgcc();
	look(&p, SECOND);
	cr_expect_eq(n_got, 0);
	look_again(10 * SECOND);
	cr_assert_eq(n_got, 1);
	cr_expect_eq(n_bytes, sizeof(struct frames_copy) + a.size);
	cr_expect_eq(binary_at(0x12000), got[0]);
	look_again(20 * SECOND);
	cr_expect_eq(n_got, 1);
	/* Other code there. */
	a.bytes[a.size - 6]++;
	look_again(30 * SECOND);
	cr_assert_eq(n_got, 2);
	cr_expect_eq(got[0]->n_users, 0);
	word = 0;
	look_again(40 * SECOND);
	cr_expect_eq(got[1]->n_users, 0);
	cr_expect_null(binary_at(0x12000));
}

Test(jit_frames, libraries_that_come_later_count)
{
	struct assembler a = make_frames();
	struct registered r = { UINT64_MAX, 0, 0, (uintptr_t)a.bytes, 0x7f8, 0 };

	word = (uintptr_t)&r;
	jit_objects_expect(&p);
	look(&p, SECOND);
	cr_expect_eq(n_got, 0);
	load_libgcc();
	look_again(10 * SECOND);
	cr_expect_eq(n_got, 1);
}

Test(jit_frames, what_gdb_is_told_counts_more)
{
	struct assembler a = make_frames();
	struct registered r = { UINT64_MAX, 0, 0, (uintptr_t)a.bytes, 0x7f8, 0 };
	struct entry first;

	word = (uintptr_t)&r;
	load_libgcc();
	look_again(SECOND);
	cr_assert_eq(n_got, 1);
	cr_expect_eq(binary_at(0x12000), got[0]);
	put(&first);
	look_again(10 * SECOND);
	cr_assert_eq(n_got, 2);
	cr_expect_eq(binary_at(0x12000), got[1]);
	list.first = NULL;
	look_again(20 * SECOND);
	cr_expect_eq(binary_at(0x12000), got[0]);
}

static void grow(size_t size)
{
	cr_assert_eq(ftruncate(dump, (off_t)size), 0);
}

static void begin_dump(void)
{
	begin_frames();
	dump = memfd_create("dump", MFD_CLOEXEC);
	is_loading = false;
	grow(100);
	jit_objects_meet_dump(&p, 7, "/tmp/jit-1.dump");
}

static void end_dump(void)
{
	close(dump);
	end();
}

TestSuite(jit_dumps, .init = begin_dump, .fini = end_dump);

Test(jit_dumps, each_is_read_again_when_it_has_grown)
{
	struct elf_segment before = code[0];

	look(&p, SECOND);
	cr_assert_eq(n_got, 1);
	cr_expect_eq(binary_at(0x12000), got[0]);
	look_again(10 * SECOND);
	cr_expect_eq(n_got, 1);
	grow(200);
	look(&p, 20 * SECOND);
	cr_expect_eq(n_got, 1, "there is no sample");
	/* Other code is there now. What was before stays until that is known. */
	got[0]->elf.segments = &before;
	code[0].address = 0x11f00;
	is_loading = true;
	look_again(30 * SECOND);
	cr_assert_eq(n_got, 2);
	cr_expect_eq(binary_at(0x12000), got[0]);
	grow(300);
	look_again(40 * SECOND);
	cr_expect_eq(n_got, 2);
	got[1]->is_loading = is_loading = false;
	look(&p, 50 * SECOND);
	history_forget(&p.mappings, 51 * SECOND);
	cr_expect_eq(binary_at(0x11f00), got[1]);
	cr_expect_null(binary_at(0x12000));
	cr_expect_eq(got[0]->n_users, 0);
	look_again(60 * SECOND);
	cr_expect_eq(n_got, 3);
	cr_expect_eq(binary_at(0x11f00), got[2]);
	cr_expect_eq(got[1]->n_users, 0);
}

Test(jit_dumps, without_unwind_information_nothing_changes)
{
	look(&p, SECOND);
	cr_assert_eq(n_got, 1);
	grow(200);
	load_err = -ENODATA;
	look_again(10 * SECOND);
	load_err = 0;
	cr_assert_eq(n_got, 2);
	cr_expect_eq(binary_at(0x12000), got[0]);
	grow(300);
	look_again(20 * SECOND);
	cr_expect_eq(binary_at(0x12000), got[2]);
}

Test(jit_dumps, large_ones_are_read_less_often)
{
	grow(100 << 20);
	get_err = -ENOSPC;
	look(&p, SECOND);
	get_err = 0;
	grow(101 << 20);
	look_again(20 * SECOND);
	cr_expect_eq(n_got, 0);
	look_again(40 * SECOND);
	cr_expect_eq(n_got, 1);
}

Test(jit_dumps, a_child_does_not_read_that_of_its_parent)
{
	struct process child = p;

	look(&p, SECOND);
	cr_assert_eq(n_got, 1);
	child.jit_objects = jit_objects_copy(p.jit_objects);
	child.mappings = (struct history){ 0 };
	child.prev_due = child.next_due = NULL;
	child.due = NULL;
	grow(200);
	child.n_generated++;
	look(&child, 10 * SECOND);
	cr_expect_eq(n_got, 1);
	cr_expect_gt(got[0]->n_users, 1);
	child.jit_objects = jit_objects_free(child.jit_objects);
	history_done(&child.mappings);
}
