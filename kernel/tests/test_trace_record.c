// SPDX-License-Identifier: Apache-2.0
/* Fields of records, from what Linux 6.18 has in tracefs, and from types. */
#include "kernel/trace_record.h"

#include <bpf/btf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

DEFINE_CLEANUP(struct btf *, btf__free)

#define COMMON                                                                                     \
	"ID: 1\nformat:\n"                                                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char openat[] =
	"name: sys_enter_openat\n" COMMON
	"\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:int flags;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:umode_t mode;\toffset:40;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] __filename_val;\toffset:48;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \"dfd: 0x%08lx\", ((unsigned long)(REC->dfd))\n";

static const char wakeup[] =
	"name: sched_waking\n" COMMON "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:u8 mac[6];\toffset:28;\tsize:6;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:36;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc u8[] bytes;\toffset:40;\tsize:4;\tsigned:0;\n"
	"\tfield:struct pair pair;\toffset:48;\tsize:16;\tsigned:0;\n";

static void read_text(const char *text, bool is_syscall, struct trace_record *ret)
{
	_cleanup_fclose_ FILE *file = fmemopen((void *)text, strlen(text), "r");

	cr_assert(file);
	cr_assert_eq(trace_record_read(file, is_syscall, ret), 0);
}

static void expect(const struct trace_record *r, const char *name, enum trace_field_kind kind,
		   uint32_t offset, uint32_t size, bool is_signed)
{
	const struct trace_field *f = trace_record_find(r, name, 0);

	cr_assert(f, "%s", name);
	cr_assert_eq(f->kind, kind, "%s: %d", name, f->kind);
	cr_assert_eq(f->offset, offset, "%s: %u", name, f->offset);
	cr_assert_eq(f->size, size, "%s: %u", name, f->size);
	cr_assert_eq(f->is_signed, is_signed, "%s", name);
}

Test(trace_record, of_a_system_call)
{
	_cleanup_(trace_record_done) struct trace_record r;

	read_text(openat, true, &r);
	cr_assert_eq(r.n, 6, "the first 8 bytes are left out: %zu", r.n);
	cr_assert(r.is_syscall);
	cr_assert(!trace_record_find(&r, "common_pid", 0));
	expect(&r, "__syscall_nr", TRACE_FIELD_NUMBER, 8, 4, true);
	expect(&r, "dfd", TRACE_FIELD_NUMBER, 16, 4, true);
	expect(&r, "filename", TRACE_FIELD_POINTER, 24, 8, false);
	expect(&r, "mode", TRACE_FIELD_NUMBER, 40, 8, false);
	expect(&r, "__filename_val", TRACE_FIELD_OTHER, 48, 4, false);
}

Test(trace_record, of_a_tracepoint)
{
	_cleanup_(trace_record_done) struct trace_record r;

	read_text(wakeup, false, &r);
	cr_assert(!r.is_syscall);
	expect(&r, "comm", TRACE_FIELD_TEXT, 8, 16, false);
	expect(&r, "pid", TRACE_FIELD_NUMBER, 24, 4, true);
	expect(&r, "mac", TRACE_FIELD_OTHER, 28, 6, false);
	expect(&r, "name", TRACE_FIELD_LOCATED, 36, 4, false);
	expect(&r, "bytes", TRACE_FIELD_OTHER, 40, 4, false);
	expect(&r, "pair", TRACE_FIELD_OTHER, 48, 16, false);
	cr_assert(!trace_record_find(&r, "comm", 1), "they have no numbers");
}

Test(trace_record, lists_what_can_be_read)
{
	_cleanup_(trace_record_done) struct trace_record r;
	_cleanup_free_ char *list = NULL;
	size_t size;
	FILE *to = open_memstream(&list, &size);

	read_text(wakeup, false, &r);
	trace_record_list(&r, to);
	fclose(to);
	cr_assert_str_eq(list, "comm, pid, name");
}

static void write_types(const char *to)
{
	_cleanup_(btf__freep) struct btf *btf = btf__new_empty();
	_cleanup_fclose_ FILE *file = fopen(to, "w");
	const void *bytes;
	uint32_t size;
	int of_int, of_size, of_const, of_char, of_pair, proto;

	cr_assert(btf && file);
	of_int = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	of_size = btf__add_typedef(btf, "size_t", btf__add_int(btf, "unsigned long", 8, 0));
	of_char = btf__add_ptr(btf, btf__add_int(btf, "char", 1, BTF_INT_SIGNED));
	of_const = btf__add_const(btf, of_size);
	of_pair = btf__add_struct(btf, "pair", 16);
	proto = btf__add_func_proto(btf, of_int);
	cr_assert_eq(btf__add_func_param(btf, "fd", of_int), 0);
	cr_assert_eq(btf__add_func_param(btf, "pair", of_pair), 0);
	cr_assert_eq(btf__add_func_param(btf, "text", of_char), 0);
	cr_assert_eq(btf__add_func_param(btf, "count", of_const), 0);
	cr_assert(btf__add_func(btf, "takes", BTF_FUNC_STATIC, proto) > 0);
	/* What a tracepoint calls has a context in front. */
	proto = btf__add_func_proto(btf, of_int);
	cr_assert_eq(btf__add_func_param(btf, "__data", of_char), 0);
	cr_assert_eq(btf__add_func_param(btf, "preempt", of_int), 0);
	cr_assert_eq(btf__add_func_param(btf, "name", of_char), 0);
	cr_assert(btf__add_func(btf, "__traceiter_named", BTF_FUNC_GLOBAL, proto) > 0);
	proto = btf__add_func_proto(btf, 0);
	cr_assert_eq(btf__add_func_param(btf, NULL, of_char), 0);
	cr_assert_eq(btf__add_func_param(btf, NULL, of_size), 0);
	cr_assert(btf__add_typedef(btf, "btf_trace_unnamed", btf__add_ptr(btf, proto)) > 0);
	bytes = btf__raw_data(btf, &size);
	cr_assert_eq(fwrite(bytes, size, 1, file), 1);
}

static char path[] = "/tmp/test_trace_record-XXXXXX";

static void begin(void)
{
	int fd = mkstemp(path);

	cr_assert(fd >= 0);
	close(fd);
	write_types(path);
}

static void end(void)
{
	unlink(path);
}

TestSuite(types, .init = begin, .fini = end);

Test(types, of_a_function)
{
	_cleanup_(trace_record_done) struct trace_record r, none;

	cr_assert_eq(trace_record_of_function(path, "takes", &r), 0);
	expect(&r, "fd", TRACE_FIELD_NUMBER, 0, 4, true);
	expect(&r, "pair", TRACE_FIELD_OTHER, 8, 16, false);
	expect(&r, "text", TRACE_FIELD_POINTER, 24, 8, false);
	expect(&r, "count", TRACE_FIELD_NUMBER, 32, 8, false);
	cr_assert_str_eq(trace_record_find(&r, "", 3)->name, "text");
	cr_assert(!trace_record_find(&r, "", 5));
	cr_assert_eq(trace_record_of_function(path, "take", &none), -ENOENT);
}

/* What is passed behind a structure may be anywhere. */
Test(types, of_a_function_by_its_registers)
{
	_cleanup_(trace_record_done) struct trace_record r;

	cr_assert_eq(trace_record_of_function(path, "takes", &r), 0);
	trace_record_use_registers(&r);
	expect(&r, "fd", TRACE_FIELD_NUMBER, offsetof(struct user_regs_struct, rdi), 4, true);
	expect(&r, "pair", TRACE_FIELD_NOWHERE, 8, 16, false);
	cr_assert_eq(trace_record_find(&r, "text", 0)->kind, TRACE_FIELD_NOWHERE);
	trace_record_done(&r);
	cr_assert_eq(trace_record_of_tracepoint(path, "named", &r), 0);
	trace_record_use_registers(&r);
	expect(&r, "name", TRACE_FIELD_POINTER, offsetof(struct user_regs_struct, rsi), 8, false);
}

Test(types, of_a_tracepoint)
{
	_cleanup_(trace_record_done) struct trace_record r;

	cr_assert_eq(trace_record_of_tracepoint(path, "named", &r), 0);
	cr_assert_eq(r.n, 2);
	expect(&r, "preempt", TRACE_FIELD_NUMBER, 0, 4, true);
	expect(&r, "name", TRACE_FIELD_POINTER, 8, 8, false);
	cr_assert_str_eq(trace_record_find(&r, "", 1)->name, "preempt");
}

Test(types, of_a_tracepoint_without_names)
{
	_cleanup_(trace_record_done) struct trace_record r;
	const struct trace_field *f;

	cr_assert_eq(trace_record_of_tracepoint(path, "unnamed", &r), 0);
	cr_assert_eq(r.n, 1);
	f = trace_record_find(&r, "", 1);
	cr_assert(f && f->kind == TRACE_FIELD_NUMBER && f->size == 8 && !f->is_signed);
}

Test(types, of_a_tracepoint_that_they_do_not_have)
{
	_cleanup_(trace_record_done) struct trace_record r;

	cr_assert_eq(trace_record_of_tracepoint(path, "of_a_module", &r), 0);
	cr_assert_eq(r.n, 12);
	expect(&r, "arg1", TRACE_FIELD_NUMBER, 0, 8, true);
	expect(&r, "arg12", TRACE_FIELD_NUMBER, 88, 8, true);
	cr_assert_eq(trace_record_find(&r, "", 3)->offset, 16);
	cr_assert(trace_record_find(&r, "", 12) && !trace_record_find(&r, "", 13));
}
