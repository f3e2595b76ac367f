/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_SECOND_WALK_H
#define DP_SANDBOX_SECOND_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"

/*
 * Unwinds copies of stacks with elfutils' libdwfl, which reads the binaries' unwind information itself. It gets
 * everything as values and descriptors, so that it can run in a process that has nothing else (verifier.h).
 *
 * libdwfl uses the frame pointer in code without unwind information, and checks nothing that it
 * finds. Its stack ends at the first address in no executable mapping.
 */
struct second_walk;

/* Executable; by start. */
struct second_mapping {
	uint64_t start, end, bias;
	uint64_t file; /* its number, never used for another one; 0: code that is in no file */
	uint64_t file_start;   /* address of its first segment, rounded down to its alignment */
	uint64_t has_segments; /* 0: no code of it can be found */
};

/* A piece of the stack. */
struct second_part {
	uint64_t start, size;
	uint64_t is_cut; /* more was behind it than was copied */
};

struct second_stack {
	uint64_t maps; /* the number of these mappings, never used for others */
	pid_t pid, tid;
	uid_t user; /* whose the process was then; (uid_t)-1: not known */
	struct dp_regs regs;
	const struct second_mapping *mappings;
	size_t n_mappings;
	const struct second_part *parts;
	size_t n_parts;
	const uint8_t *bytes; /* of all parts, one behind the other */
	size_t n_bytes;
};

struct second_frame {
	uint64_t address;
	uint64_t
		is_activation; /* the address is that of the next instruction, not behind a call; not of the first */
};

#define SECOND_END_SIZE 128

struct second_result {
	size_t n_frames;
	bool is_beyond_copy;       /* it ended only because the copy is too short */
	char end[SECOND_END_SIZE]; /* why it ended, as a phrase */
};

/* 0 or -ENOMEM. */
int second_walk_new(struct second_walk **ret);
/* NULL is allowed. Returns NULL. */
struct second_walk *second_walk_free(struct second_walk *walk);

/* Whether it was given that file, which need not be an ELF file. */
bool second_walk_knows(const struct second_walk *walk, uint64_t file);
/* Opens the file behind fd, which the caller keeps, if it is an ELF file. 0 or -ENOMEM. */
int second_walk_add(struct second_walk *walk, uint64_t number, int fd);
/* How many it has; they are freed with it. */
size_t second_walk_n_files(const struct second_walk *walk);

/* Unwinds a stack, leaf first, into at most max_frames. 0, or a negative errno if libdwfl cannot start. */
int second_walk_run(struct second_walk *walk, const struct second_stack *stack, size_t max_frames,
		    struct second_frame *frames, struct second_result *ret);

/*
 * Whether it has a rule for this address in the process that was walked last. Without one, it has used the frame
 * pointer.
 */
bool second_walk_has_rule(struct second_walk *walk, uint64_t pc);

/* Reads memory of the stack as it was. -ENODATA: it was not copied; -EFAULT: it is on no stack. */
int second_stack_read(const struct second_stack *stack, uint64_t address, uint64_t *ret);

#endif
