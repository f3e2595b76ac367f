/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOADER_PERF_RECORD_H
#define DP_LOADER_PERF_RECORD_H

#include <linux/perf_event.h>
#include <stdint.h>

/*
 * perf's records, as perf_event_open(2) describes them. A name is padded with zeros to 8 bytes.
 * Behind the body stands the time of the record, as sample_id_all has it with PERF_SAMPLE_TIME
 * alone:
 *
 *	+--------+-- - -+----------------+------+
 *	| header | body | name 0 0 0 0 0 | time |
 *	+--------+-- - -+----------------+------+
 *	 <------------- header.size ------------>
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

#endif
