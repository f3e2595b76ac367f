/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_JIT_RECORD_H
#define DP_SYMBOLS_JIT_RECORD_H

#include <stddef.h>
#include <stdint.h>

/* The records of jitdumps (Linux, tools/perf/Documentation/jitdump-specification.txt), as they are in the file. */

#define JIT_FLAG_ARCH_TIMESTAMP 1 /* times are the processor's, not CLOCK_MONOTONIC's */

struct jit_file_header {
	uint32_t magic, version, size, machine, padding, pid;
	uint64_t time, flags;
};

enum jit_record_id {
	JIT_RECORD_LOAD,
	JIT_RECORD_MOVE,
	JIT_RECORD_LINES,
	JIT_RECORD_CLOSE,
	JIT_RECORD_UNWINDING,
};

struct jit_record_header {
	uint32_t id, size;
	uint64_t time;
};

struct jit_load_body {
	uint32_t pid, tid;
	uint64_t vma, address, size, index;
};

struct jit_move_body {
	uint32_t pid, tid;
	uint64_t vma, old, new, size, index;
};

struct jit_lines_body {
	uint64_t address, n;
};

struct jit_lines_entry {
	uint64_t address;
	uint32_t line, discriminator;
};

/* .eh_frame, and behind it .eh_frame_hdr: `size` is that of both. */
struct jit_unwinding_body {
	uint64_t size, header_size, mapped_size;
};

/* The part of a file that was read last. Starts as zero; the caller frees its bytes. */
struct jit_window {
	uint8_t *bytes;
	uint64_t start;
	size_t size, room;
};

#define JIT_WINDOW_SIZE ((size_t)256 << 10)

/* Returns `size` bytes of the file at `at`, valid until the next call; NULL if it does not have them. */
const uint8_t *jit_window_get(struct jit_window *window, int fd, uint64_t at, size_t size);

/* 1; 0: a buffered writer has not written it yet; or -ENOEXEC: of another machine, byte order or version. */
int jit_header_read(int fd, struct jit_file_header *ret);

#endif
