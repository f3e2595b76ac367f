/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_PERF_RECORD_H
#define DP_PROCESS_PERF_RECORD_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kallsyms;
struct process_table;

/*
 * perf's records, as perf_event_open(2) describes them. A name is padded with zeros to 8 bytes.
 * Behind the body stands the time of the record, as sample_id_all has it with PERF_SAMPLE_TIME
 * alone; behind that, in some records, what was never written (perf_record_time()):
 *
 *	+--------+-- - -+----------------+------+- - - -+
 *	| header | body | name 0 0 0 0 0 | time | (more)|
 *	+--------+-- - -+----------------+------+- - - -+
 *	 <------------------ header.size --------------->
 */
struct perf_mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t address, length, offset;
	uint32_t major, minor;
	uint64_t inode, inode_generation;
	uint32_t protection, flags;
	char name[];
};

/* FORK and EXIT */
struct perf_task {
	struct perf_event_header header;
	uint32_t pid, parent_pid;
	uint32_t tid, parent_tid;
	uint64_t time;
};

struct perf_comm {
	struct perf_event_header header;
	uint32_t pid, tid;
	char comm[];
};

struct perf_ksymbol {
	struct perf_event_header header;
	uint64_t address;
	uint32_t length;
	uint16_t type, flags;
	char name[];
};

/*
 * Copies size bytes from a position of a ring. The position counts on without wrapping, as
 * data_head and data_tail do; the copy wraps around at ring_size.
 */
void perf_ring_copy(const uint8_t *ring, size_t ring_size, uint64_t position, void *ret,
		    size_t size);

/*
 * When a record was written, in ns of CLOCK_MONOTONIC; 0 if it has no time. Never later than now,
 * when it had been written.
 *
 * The size of a KSYMBOL record is right only for the newest listener. For each other one, the
 * kernel adds the size of its own time to the same header and does not subtract it again
 * (perf_event_ksymbol_output(), kernel/events/core.c, since 5.1 and still in 6.18). BPF_EVENT and
 * TEXT_POKE have the same defect but are not used here; other records do not.
 */
uint64_t perf_record_time(const struct perf_event_header *record, uint64_t now);

/*
 * Whether it maps a file that was not looked up yet. Its process may end at any moment, and with it the access to the
 * file.
 */
bool perf_record_is_urgent(const struct perf_event_header *record,
			   const struct process_table *table);

/*
 * Whether its handling can wait: a thread has started, has a new name or has ended, or its process has ended.
 */
bool perf_record_is_of_thread(const struct perf_event_header *record);

/* Whether it is of code in no file: what describes it may go with its process. */
bool perf_record_is_of_no_file(const struct perf_event_header *record);

/*
 * Passes on a record that was written at this time: to the process table, or, for functions that
 * the kernel has added, to kallsyms (NULL: not wanted). Removes what the kernel has appended to a
 * path in it. Ignores other records, and those that are shorter than their fields. 0 or a negative
 * errno.
 */
int perf_record_apply(struct perf_event_header *record, uint64_t time, struct process_table *table,
		      struct kallsyms *kallsyms);

#endif
