// SPDX-License-Identifier: Apache-2.0
#include "process/perf_record.h"

#include <stddef.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "kernel/proc_maps.h"
#include "process/process_table.h"
#include "symbols/kallsyms.h"

void perf_ring_copy(const uint8_t *ring, size_t ring_size, uint64_t position, void *ret,
		    size_t size)
{
	size_t at = position % ring_size;
	size_t n = size < ring_size - at ? size : ring_size - at;

	memcpy(ret, ring + at, n);
	memcpy((uint8_t *)ret + n, ring, size - n);
}

/* The end of the name and its zeros. */
static size_t ksymbol_end(const struct perf_event_header *record)
{
	const size_t start = offsetof(struct perf_ksymbol, name);
	const char *name = (const char *)record + start;
	size_t unit = sizeof(uint64_t);

	if (record->size < start)
		return record->size;
	return start + (strnlen(name, record->size - start) + unit) / unit * unit;
}

uint64_t perf_record_time(const struct perf_event_header *record, uint64_t now)
{
	uint64_t time;
	size_t at;

	if (record->size < sizeof(*record) + sizeof(time))
		return 0;
	at = record->size - sizeof(time);
	if (record->type == PERF_RECORD_KSYMBOL && ksymbol_end(record) < at)
		at = ksymbol_end(record);
	memcpy(&time, (const uint8_t *)record + at, sizeof(time));
	return time < now ? time : now;
}

static struct mapped_id file_of(const struct perf_mmap2 *body)
{
	return (struct mapped_id){ makedev(body->major, body->minor), body->inode,
				   body->inode_generation };
}

static int apply_mmap(struct perf_mmap2 *body, uint64_t time, struct process_table *table)
{
	struct mmap_record m = {
		.pid = (pid_t)body->pid,
		.time = time,
		.start = body->address,
		.end = body->address + body->length,
		.offset = body->offset,
		.file = file_of(body),
		.name = body->name,
	};

	/* The text of a kernel module is reported too, as a mapping of process -1. */
	if (m.pid <= 0 || m.end <= m.start)
		return 0;
	proc_maps_strip_deleted(body->name);
	return process_table_on_mmap(table, &m);
}

/*
 * A BPF program or the like was loaded. Unloaded ones are kept, because samples may still refer to
 * them.
 */
static int apply_ksymbol(const struct perf_ksymbol *body, struct kallsyms *kallsyms)
{
	if (!kallsyms || body->type != PERF_RECORD_KSYMBOL_TYPE_BPF ||
	    (body->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER))
		return 0;
	return kallsyms_add_late(kallsyms, body->address, body->length, body->name);
}

/* Has the record its type's fields, and the end of its name if that is used? */
static bool is_complete(const struct perf_event_header *record)
{
	size_t fields = 0;
	bool has_name = false;

	switch (record->type) {
	case PERF_RECORD_MMAP2:
		fields = offsetof(struct perf_mmap2, name);
		has_name = true;
		break;
	case PERF_RECORD_KSYMBOL:
		fields = offsetof(struct perf_ksymbol, name);
		has_name = true;
		break;
	case PERF_RECORD_COMM:
		fields = offsetof(struct perf_comm, comm);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		fields = sizeof(struct perf_task);
		break;
	}
	return record->size >= fields &&
	       (!has_name || memchr((const char *)record + fields, '\0', record->size - fields));
}

bool perf_record_is_urgent(const struct perf_event_header *record,
			   const struct process_table *table)
{
	const struct perf_mmap2 *mmap = (const void *)record;
	struct mapped_id file;

	if (record->type != PERF_RECORD_MMAP2 || !is_complete(record) || mmap->inode == 0)
		return false;
	file = file_of(mmap);
	return !mapped_id_is_known(table->binaries, &file);
}

bool perf_record_is_of_thread(const struct perf_event_header *record)
{
	const struct perf_task *task = (const void *)record;

	switch (record->type) {
	case PERF_RECORD_EXIT:
		return true;
	case PERF_RECORD_FORK:
		return is_complete(record) && task->pid == task->parent_pid;
	case PERF_RECORD_COMM:
		return !(record->misc & PERF_RECORD_MISC_COMM_EXEC);
	}
	return false;
}

bool perf_record_is_of_no_file(const struct perf_event_header *record)
{
	const struct perf_mmap2 *mmap = (const void *)record;

	return record->type == PERF_RECORD_MMAP2 && is_complete(record) && mmap->inode == 0 &&
	       strcmp(mmap->name, "[vdso]") != 0;
}

int perf_record_apply(struct perf_event_header *record, uint64_t time, struct process_table *table,
		      struct kallsyms *kallsyms)
{
	const struct perf_task *task = (const void *)record;
	const struct perf_comm *comm = (const void *)record;

	if (!is_complete(record))
		return 0;
	switch (record->type) {
	case PERF_RECORD_MMAP2:
		return apply_mmap((void *)record, time, table);
	case PERF_RECORD_FORK:
		return process_table_on_fork(table, (pid_t)task->parent_pid, (pid_t)task->pid,
					     time);
	case PERF_RECORD_COMM:
		if ((record->misc & PERF_RECORD_MISC_COMM_EXEC) && (pid_t)comm->pid > 0)
			process_table_on_exec(table, (pid_t)comm->pid, time);
		return 0;
	case PERF_RECORD_EXIT:
		process_table_on_exit(table, (pid_t)task->pid, time);
		return 0;
	case PERF_RECORD_KSYMBOL:
		return apply_ksymbol((const void *)record, kallsyms);
	}
	return 0;
}
