/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_JIT_OBJECTS_H
#define DP_PROCESS_JIT_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

struct mapping;
struct process;
struct process_table;

/*
 * The code that compilers in a process describe to GDB: a list in its memory of ELF files, in its memory, too
 * (elf/jit_object.h). Copies of these become binaries, and the code mappings of them. The list is read when
 * the process is met, and again when samples are in code that no binary describes.
 */
struct jit_objects;

/* A mapping's binary is known. If memory is short, the process is one without such a compiler. */
void jit_objects_meet(struct process *process, const struct mapping *mapping);

/* Looks at the lists again if it is time, and maps code whose binaries are ready. To be called often. */
void jit_objects_update(struct process_table *table, struct process *process, uint64_t now);

/* Does so for all processes, and waits, not for long, for those that have not been looked at. */
void jit_objects_settle(struct process_table *table);

/* Of a child of the process, which looks for itself. NULL: there is none. */
struct jit_objects *jit_objects_copy(const struct jit_objects *objects);
/* NULL is allowed. Returns NULL. */
struct jit_objects *jit_objects_free(struct jit_objects *objects);

#endif
