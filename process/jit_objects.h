/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_JIT_OBJECTS_H
#define DP_PROCESS_JIT_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapping;
struct process;
struct process_table;

/*
 * JIT code that a process describes: to GDB, by a list of in-memory ELF files (elf/jit_object.h); or, by unwind
 * information alone (elf/frames_object.h), to libgcc or in a jitdump. Copies of these become binaries, with the code
 * as their mappings. They are read when the process is first seen, and again when samples hit code that is in no
 * file.
 */
struct jit_objects;

/* A mapping's binary is known. If memory is short, the process is one without such a compiler. */
void jit_objects_meet(struct process *process, const struct mapping *mapping);

/*
 * The process runs code that is in no file, or may: from the first time on, the frames that are registered in its
 * libgcc are looked at, too (frame_registry.h).
 */
void jit_objects_expect(struct process *process);

/* It has mapped a jitdump, of this name in its root. */
void jit_objects_meet_dump(struct process *process, uint64_t inode, const char *name);

/* A new mapping may cover code, which is then mapped again, if that can still be there. */
void jit_objects_cover(struct process *process, const struct mapping *mapping);

/*
 * Reads the lists again if it is time, and maps code whose binaries are ready. To be called often. Stops at `until`
 * and continues at the next call. True: another call can make progress without new samples.
 */
bool jit_objects_update(struct process_table *table, struct process *process, uint64_t now,
			uint64_t until);

/* Does so for all processes that are due, starting where the last call stopped. */
bool jit_objects_update_all(struct process_table *table, uint64_t now, uint64_t until);

/* Does so, and waits, not for long, for those that have not been looked at. */
void jit_objects_settle(struct process_table *table);

/* An upper bound of the process's mappings that are such code. NULL: 0. */
size_t jit_objects_n_mappings(const struct jit_objects *objects);

/* Of a child of the process, which has the same code and looks for itself. NULL: there is none. */
struct jit_objects *jit_objects_copy(const struct jit_objects *objects);
/* NULL is allowed. Returns NULL. */
struct jit_objects *jit_objects_free(struct jit_objects *objects);

#endif
