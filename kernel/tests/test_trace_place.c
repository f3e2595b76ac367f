// SPDX-License-Identifier: Apache-2.0
/* Members of what the fields of a record point to. */
#include "kernel/trace_place.h"

#include <bpf/btf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

DEFINE_CLEANUP(struct btf *, btf__free)

static char path[] = "/tmp/test_trace_place-XXXXXX";
static char why[TRACE_WHY_SIZE];

static void add_field(struct btf *btf, const char *name, int type, uint32_t offset, uint32_t bits)
{
	cr_assert_eq(btf__add_field(btf, name, type, offset * 8, bits), 0);
}

/*
 * struct file { char name[32]; unsigned long inode; struct task *owner; } of which the last two are
 * in an unnamed struct;
 * struct task { int pid; unsigned int locked : 1; struct file file; char comm[16]; struct file *of; };
 * void takes(int fd, struct task *task)
 */
static void write_types(struct btf *btf)
{
	int of_int = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	int of_unsigned = btf__add_int(btf, "unsigned int", 4, 0);
	int of_long = btf__add_int(btf, "unsigned long", 8, 0);
	int of_char = btf__add_int(btf, "char", 1, BTF_INT_SIGNED);
	int name = btf__add_array(btf, of_int, of_char, 32);
	int comm = btf__add_array(btf, of_int, of_char, 16);
	int numbers = btf__add_array(btf, of_int, of_int, 4);
	int owner = btf__add_ptr(btf, btf__type_cnt(btf) + 4);
	int unnamed, file, of_file, task, proto;

	unnamed = btf__add_struct(btf, NULL, 16);
	add_field(btf, "inode", of_long, 0, 0);
	add_field(btf, "owner", owner, 8, 0);
	file = btf__add_struct(btf, "file", 48);
	add_field(btf, "name", name, 0, 0);
	add_field(btf, NULL, unnamed, 32, 0);
	of_file = btf__add_ptr(btf, file);
	task = btf__add_struct(btf, "task", 128);
	add_field(btf, "pid", of_int, 4, 0);
	add_field(btf, "locked", of_unsigned, 8, 1);
	add_field(btf, "file", file, 16, 0);
	add_field(btf, "comm", comm, 64, 0);
	add_field(btf, "of", of_file, 80, 0);
	add_field(btf, "numbers", numbers, 88, 0);
	cr_assert_eq(btf__type_by_id(btf, (uint32_t)owner)->type, (uint32_t)task);
	proto = btf__add_func_proto(btf, 0);
	cr_assert_eq(btf__add_func_param(btf, "fd", of_int), 0);
	cr_assert_eq(btf__add_func_param(btf, "task", owner), 0);
	cr_assert(btf__add_func(btf, "takes", BTF_FUNC_STATIC, proto) > 0);
}

static struct trace_record record;

static void begin(void)
{
	_cleanup_(btf__freep) struct btf *btf = btf__new_empty();
	_cleanup_fclose_ FILE *file = NULL;
	int fd = mkstemp(path);
	const void *bytes;
	uint32_t size;

	cr_assert(btf && fd >= 0);
	write_types(btf);
	file = fdopen(fd, "w");
	bytes = btf__raw_data(btf, &size);
	cr_assert(file && bytes && fwrite(bytes, size, 1, file) == 1 && fflush(file) == 0);
	cr_assert_eq(trace_record_of_function(path, "takes", &record), 0);
}

static void end(void)
{
	trace_record_done(&record);
	unlink(path);
}

TestSuite(trace_place, .init = begin, .fini = end);

static void expect(const char *text, unsigned int number, enum trace_field_kind kind, uint32_t size,
		   const int32_t *offsets, size_t n)
{
	struct trace_place place;

	cr_assert_eq(trace_place_find(&record, text, number, &place, why), 0, "%s: %s", text, why);
	cr_assert_eq(place.value.kind, kind, "%s: %d", text, place.value.kind);
	cr_assert_eq(place.value.size, size, "%s: %u", text, place.value.size);
	cr_assert_eq(place.n, n, "%s: %zu", text, place.n);
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(place.offsets[i], offsets[i], "%s: %d", text, place.offsets[i]);
}

#define EXPECT(text, number, kind, size, ...)                                                      \
	expect(text, number, TRACE_FIELD_##kind, size, (const int32_t[]){ __VA_ARGS__ },           \
	       ARRAY_SIZE(((const int32_t[]){ __VA_ARGS__ })))

static void expect_error(const char *text, const char *message)
{
	struct trace_place place;

	cr_assert_eq(trace_place_find(&record, text, 0, &place, why), -EINVAL, "%s", text);
	cr_assert(strstr(why, message), "%s: %s", text, why);
}

Test(trace_place, of_fields)
{
	EXPECT("fd", 0, NUMBER, 4, 0);
	EXPECT("task", 0, POINTER, 8, 8);
	EXPECT("arg2", 2, POINTER, 8, 8);
}

Test(trace_place, of_members)
{
	EXPECT("task->pid", 0, NUMBER, 4, 8, 4);
	EXPECT("arg2->pid", 2, NUMBER, 4, 8, 4);
	EXPECT("task->comm", 0, TEXT, 16, 8, 64);
	EXPECT("task->of", 0, POINTER, 8, 8, 80);
	EXPECT("task->file.name", 0, TEXT, 32, 8, 16);
	EXPECT("task->file.inode", 0, NUMBER, 8, 8, 48);
	EXPECT("task->of->inode", 0, NUMBER, 8, 8, 80, 32);
	EXPECT("task->of->owner->file.owner->pid", 0, NUMBER, 4, 8, 80, 40, 56, 4);
	EXPECT("task->numbers", 0, OTHER, 8, 8, 88);
	EXPECT("task->file", 0, OTHER, 48, 8, 16);
}

Test(trace_place, that_are_not_there)
{
	expect_error("fdd", "there is no fdd, but fd, task");
	expect_error("task->pdi", "there is no member pdi in task");
	expect_error("task.pid", "what has the member pid is no known struct");
	expect_error("fd->x", "what is in front of '->' is no pointer");
	expect_error("task->pid.x", "what has the member x is no known struct");
	expect_error("task->locked", "locked is not of whole bytes");
	expect_error("task->of->owner->of->owner->of->owner->of->owner->pid",
		     "too many dereferences");
}

/* Tracefs has no types. */
Test(trace_place, of_what_is_not_described)
{
	struct trace_field field = { .name = "file", .kind = TRACE_FIELD_POINTER, .size = 8 };
	struct trace_record plain = { .fields = &field, .n = 1 };
	struct trace_place place;

	cr_assert_eq(trace_place_find(&plain, "file->x", 0, &place, why), -EINVAL);
	cr_assert(strstr(why, "tracefs does not tell"), "%s", why);
}
