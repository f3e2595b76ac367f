// SPDX-License-Identifier: Apache-2.0
/* perf's records, well-formed, too short, and with a time that cannot be right. */
#include <criterion/criterion.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "process/perf_record.h"
#include "process/tests/process_world.h"
#include "symbols/tests/some_names.h"
#include "symbols/kallsyms.h"

TestSuite(perf_record);

/* The kernel wraps around at the ring's end, even within a record. */
Test(perf_ring, goes_round)
{
	static const uint8_t ring[] = { 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H' };
	char copy[5] = "";

	perf_ring_copy(ring, sizeof(ring), 2, copy, 4);
	cr_assert_str_eq(copy, "CDEF");
	perf_ring_copy(ring, sizeof(ring), 4, copy, 4);
	cr_assert_str_eq(copy, "EFGH");
	perf_ring_copy(ring, sizeof(ring), 6, copy, 4);
	cr_assert_str_eq(copy, "GHAB");
	perf_ring_copy(ring, sizeof(ring), (UINT64_C(1) << 40) + 8 + 5, copy, 4);
	cr_assert_str_eq(copy, "FGHA");
}

#define TIME 1000
#define NOW 5000

/* As the kernel leaves it: with stale contents. */
static union {
	struct perf_event_header header;
	struct perf_ksymbol ksymbol;
	struct perf_comm comm;
	struct perf_task task;
	struct perf_mmap2 mmap;
	uint8_t bytes[256];
} record;

/* A record with a name and the time behind it, of a size that says some bytes more. */
static uint64_t time_of(uint32_t type, size_t name_at, const char *name, size_t more, uint64_t time)
{
	size_t end = name_at + (strlen(name) / 8 + 1) * 8;

	memset(&record, 'x', sizeof(record));
	record.header.type = type;
	record.header.size = (uint16_t)(end + sizeof(time) + more);
	memset(record.bytes + name_at, 0, end - name_at);
	memcpy(record.bytes + name_at, name, strlen(name));
	memcpy(record.bytes + end, &time, sizeof(time));
	return perf_record_time(&record.header, NOW);
}

static uint64_t of_ksymbol(const char *name, size_t more)
{
	return time_of(PERF_RECORD_KSYMBOL, offsetof(struct perf_ksymbol, name), name, more, TIME);
}

Test(perf_record, time_is_behind_the_body)
{
	size_t at = offsetof(struct perf_comm, comm);

	cr_assert_eq(time_of(PERF_RECORD_COMM, at, "a", 0, TIME), TIME);
	cr_assert_eq(time_of(PERF_RECORD_COMM, at, "eight456", 0, TIME), TIME);
}

Test(perf_record, time_of_a_symbol_is_behind_its_name)
{
	for (size_t listener = 0; listener < 8; listener++) {
		cr_assert_eq(of_ksymbol("", 8 * listener), TIME);
		cr_assert_eq(of_ksymbol("seven67", 8 * listener), TIME);
		cr_assert_eq(of_ksymbol("eight456", 8 * listener), TIME);
		cr_assert_eq(of_ksymbol("bpf_prog_6deef7357e7b4530_dp_sample", 8 * listener), TIME);
	}
}

Test(perf_record, is_not_from_the_future)
{
	size_t at = offsetof(struct perf_comm, comm);

	cr_assert_eq(time_of(PERF_RECORD_COMM, at, "a", 0, NOW - 1), NOW - 1);
	cr_assert_eq(time_of(PERF_RECORD_COMM, at, "a", 0, NOW + 1), NOW);
	/* A kernel that writes something else there. */
	cr_assert_eq(time_of(PERF_RECORD_COMM, at, "a", 8, TIME), NOW);
}

Test(perf_record, may_be_short)
{
	for (uint16_t size = sizeof(record.header); size < sizeof(record); size++) {
		memset(&record, 'x', sizeof(record));
		record.header.type = PERF_RECORD_KSYMBOL;
		record.header.size = size;
		cr_assert_eq(perf_record_time(&record.header, NOW),
			     size < sizeof(record.header) + 8 ? 0 : NOW);
	}
}

TestSuite(perf_apply, .init = begin, .fini = end);

/* Unless a record says its size, it has all that there may be. */
static void apply(uint32_t type, uint64_t time, struct kallsyms *kallsyms)
{
	record.header.type = type;
	if (record.header.size == 0)
		record.header.size = sizeof(record);
	cr_assert_eq(perf_record_apply(&record.header, time, &table, kallsyms), 0);
}

static void apply_comm(uint32_t pid, uint16_t misc, uint64_t time)
{
	record.comm = (struct perf_comm){ .header.misc = misc, .pid = pid, .tid = pid };
	apply(PERF_RECORD_COMM, time, NULL);
}

static void apply_mmap(uint32_t pid, uint64_t address, const char *name, uint64_t time)
{
	record.mmap = (struct perf_mmap2){
		.pid = pid, .tid = pid, .address = address, .length = 0x1000, .inode = 1
	};
	strcpy(record.mmap.name, name);
	apply(PERF_RECORD_MMAP2, time, NULL);
}

/* All that a process does, from its exec to its end. */
Test(perf_apply, tells_the_table_what_processes_do)
{
	table.all = true;
	apply_comm(PID(0), 0, 10);
	cr_assert_null(process_table_find(&table, PID(0)), "a name alone is no program");
	apply_comm(PID(0), PERF_RECORD_MISC_COMM_EXEC, 20);
	cr_assert(process_table_find(&table, PID(0)));
	apply_mmap(PID(0), 0x1000, "/nowhere/program (deleted)", 30);
	cr_assert_str_eq(record.mmap.name, "/nowhere/program");
	expect_mappings(0, 29, 0);
	expect_mappings(0, 30, 1);
	cr_assert(process_find(process_table_find(&table, PID(0)), 0x1fff, 30));
	record.task = (struct perf_task){ .pid = PID(1), .parent_pid = PID(0) };
	apply(PERF_RECORD_FORK, 40, NULL);
	expect_mappings(1, 40, 1);
	record.task = (struct perf_task){ .pid = PID(0), .parent_pid = PID(2) };
	apply(PERF_RECORD_EXIT, 50, NULL);
	cr_assert_eq(process_table_find(&table, PID(0))->exited, 50);
	cr_assert_eq(process_table_find(&table, PID(1))->exited, TIME_NEVER);
	/* The kernel reports its own modules as mappings of a process -1. */
	apply_mmap(UINT32_MAX, 0xffffffffc0000000, "[module]", 60);
	cr_assert_null(table.refused, "nor is /proc asked for its mappings");
	apply(PERF_RECORD_LOST, 70, NULL);
}

Test(perf_apply, tells_which_file_is_mapped)
{
	struct mapped_id id;
	struct stat st;

	table.all = true;
	cr_assert_eq(stat("/proc/self/exe", &st), 0);
	id = (struct mapped_id){ st.st_dev, st.st_ino, 5 };
	apply_comm(PID(0), PERF_RECORD_MISC_COMM_EXEC, 10);
	apply_mmap(PID(0), 0x1000, "/proc/self/exe", 20);
	cr_assert(!mapped_id_is_known(&binaries, &id));
	record.mmap.major = major(st.st_dev);
	record.mmap.minor = minor(st.st_dev);
	record.mmap.inode = st.st_ino;
	record.mmap.inode_generation = 5;
	apply(PERF_RECORD_MMAP2, 30, NULL);
	cr_assert(mapped_id_is_known(&binaries, &id));
}

/* Samples can wait, but not those of new code. */
Test(perf_apply, tells_when_there_was_new_code)
{
	table.all = true;
	apply_comm(PID(0), PERF_RECORD_MISC_COMM_EXEC, 10);
	cr_assert_eq(table.recorded_ns, 10);
	apply_mmap(PID(0), 0x1000, "//anon", 20);
	cr_assert_eq(table.recorded_ns, 20);
	apply_comm(PID(0), 0, 30);
	record.task = (struct perf_task){ .pid = PID(0), .parent_pid = PID(0), .tid = PID(1) };
	apply(PERF_RECORD_FORK, 40, NULL);
	apply(PERF_RECORD_EXIT, 50, NULL);
	record.task = (struct perf_task){ .pid = PID(5), .parent_pid = PID(4) };
	apply(PERF_RECORD_FORK, 60, NULL);
	cr_assert_eq(table.recorded_ns, 20, "a name, threads, and others' children");
	record.task = (struct perf_task){ .pid = PID(1), .parent_pid = PID(0) };
	apply(PERF_RECORD_FORK, 70, NULL);
	cr_assert_eq(table.recorded_ns, 70);
}

static void apply_size(uint32_t type, size_t size)
{
	record.header.size = (uint16_t)size;
	apply(type, 20, NULL);
}

/* What stands behind it would be taken for its fields. */
Test(perf_apply, ignores_what_is_too_short)
{
	const size_t name = offsetof(struct perf_mmap2, name);

	table.all = true;
	record.comm =
		(struct perf_comm){ .header.misc = PERF_RECORD_MISC_COMM_EXEC, .pid = PID(0) };
	apply_size(PERF_RECORD_COMM, sizeof(struct perf_comm) - 1);
	cr_assert_null(process_table_find(&table, PID(0)));
	apply_size(PERF_RECORD_COMM, sizeof(struct perf_comm));
	cr_assert(process_table_find(&table, PID(0)));
	record.mmap = (struct perf_mmap2){ .pid = PID(0), .address = 0x1000, .length = 0x1000 };
	strcpy(record.mmap.name, "//anon");
	apply_size(PERF_RECORD_MMAP2, name - 1);
	apply_size(PERF_RECORD_MMAP2, name);
	apply_size(PERF_RECORD_MMAP2, name + strlen("//anon"));
	expect_mappings(0, 20, 0);
	apply_size(PERF_RECORD_MMAP2, name + strlen("//anon") + 1);
	expect_mappings(0, 20, 1);
	record.task = (struct perf_task){ .pid = PID(1), .parent_pid = PID(0) };
	apply_size(PERF_RECORD_FORK, sizeof(struct perf_task) - 1);
	cr_assert_null(process_table_find(&table, PID(1)));
	record.task = (struct perf_task){ .pid = PID(0), .parent_pid = PID(0) };
	apply_size(PERF_RECORD_EXIT, sizeof(struct perf_task) - 1);
	cr_assert_eq(process_table_find(&table, PID(0))->exited, TIME_NEVER);
}

/* The other mappings could not be found any more. */
Test(perf_apply, ignores_mappings_of_nothing)
{
	table.all = true;
	apply_comm(PID(0), PERF_RECORD_MISC_COMM_EXEC, 10);
	apply_mmap(PID(0), 0x1000, "//anon", 20);
	record.mmap.length = 0;
	apply(PERF_RECORD_MMAP2, 30, NULL);
	record.mmap.length = -UINT64_C(0x800);
	apply(PERF_RECORD_MMAP2, 40, NULL);
	expect_mappings(0, 40, 1);
}

static void apply_ksymbol(uint64_t address, uint16_t type, uint16_t flags, const char *name,
			  struct kallsyms *kallsyms)
{
	record.ksymbol = (struct perf_ksymbol){
		.address = address, .length = 0x100, .type = type, .flags = flags
	};
	strcpy(record.ksymbol.name, name);
	apply(PERF_RECORD_KSYMBOL, 10, kallsyms);
}

/* Names of kernel functions are wanted after they have gone. */
Test(perf_apply, names_bpf_programs)
{
	const uint64_t here = 0xffffffffc0001000, there = 0xffffffffc0002000;
	struct kallsyms *kallsyms;
	uint64_t offset;

	cr_assert(kallsyms_new_unread(some_names(), "/dev/null", &kallsyms) == 0);
	apply_ksymbol(here, PERF_RECORD_KSYMBOL_TYPE_BPF, 0, "bpf_prog_1", kallsyms);
	cr_assert_str_eq(kallsyms_find(kallsyms, here + 8, &offset), "bpf_prog_1");
	cr_assert_eq(offset, 8);
	apply_ksymbol(here, PERF_RECORD_KSYMBOL_TYPE_BPF, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER,
		      "gone", kallsyms);
	cr_assert_str_eq(kallsyms_find(kallsyms, here, &offset), "bpf_prog_1");
	apply_ksymbol(there, PERF_RECORD_KSYMBOL_TYPE_OOL, 0, "kprobe_insn_page", kallsyms);
	cr_assert_null(kallsyms_find(kallsyms, there, &offset));
	kallsyms_free(kallsyms);
	/* Names are not wanted. */
	apply_ksymbol(here, PERF_RECORD_KSYMBOL_TYPE_BPF, 0, "bpf_prog_1", NULL);
}
