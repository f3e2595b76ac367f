/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROCESS_JIT_PARTS_H
#define DP_PROCESS_JIT_PARTS_H

/* What the parts of jit_objects.h share. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/frame_registry.h"
#include "process/process_table.h"

/* A program and its libraries may have a compiler each, and a libgcc. */
#define JIT_N_LISTS 8

/* What tells of code. If several do of the same, a later one counts. */
enum jit_source {
	JIT_REGISTERED, /* unwind information in memory, registered in libgcc */
	JIT_DUMP_FILE,  /* the same in a jitdump */
	JIT_DESCRIBED,  /* files in memory, for GDB */
};

/* As in the process's memory, by the interface's first version, the only one. */
struct jit_descriptor {
	uint32_t version, action;
	uint64_t relevant, first;
};

struct jit_list_entry {
	uint64_t next, previous, file, size;
};

/* It may be so long that several looks walk along it, and change meanwhile. */
struct jit_list {
	enum jit_source source;
	uint64_t
		at; /* JIT_DESCRIBED: the descriptor. JIT_REGISTERED: the first of libgcc's words, */
	uint64_t code;            /* and where a mapping of its binary begins */
	struct frame_lists words; /* JIT_REGISTERED: these words, */
	uint64_t bias;            /* as in its binary */
	uint64_t next, previous;  /* JIT_DESCRIBED: the walk goes on between these; 0: it begins, */
	size_t n_walked;          /* after so many entries */
	unsigned int n_failed;    /* walks, in sequence */
};

/* A jitdump. */
struct jit_dump_file {
	char *name;     /* owned; NULL: there is none */
	uint64_t inode; /* of it */
	uint64_t size;  /* when it was read last; 0: never */
	uint64_t next;  /* when it may be read again */
	uint64_t n;     /* times that it was read */
};

struct jit_object {
	enum jit_source source;
	uint64_t list,
		at; /* the addresses of its list and its entry; JIT_DUMP_FILE: 0 and a number that grows */
	struct jit_list_entry entry;
	uint64_t hash;
	struct binary *binary; /* held; NULL: it is not used */
	uint64_t retry;        /* then: when it is copied again; 0: not before it is another one */
	uint64_t waited;       /* how long it has waited for that the last time */
	uint64_t low, high;    /* all its code, once it is ready */
	size_t n_code;         /* segments of that */
	bool is_listed;        /* met in this walk */
	bool is_mapped;        /* or it has no code */
};

struct jit_objects {
	struct jit_list lists[JIT_N_LISTS];
	size_t n_lists, turn; /* this list is the first to be read */
	struct jit_dump_file dump;
	struct jit_object *objects;
	size_t n, size;
	uint64_t bytes;       /* copied, of these, */
	size_t n_code;        /* and segments of code */
	size_t n_copied;      /* in this look */
	uint64_t low, high;   /* all code of these is within */
	bool is_left;         /* the next look can find more, without new samples */
	bool is_pending;      /* some object is not mapped */
	uint64_t n_generated; /* the process's, at the last look */
	uint64_t next, pause; /* when to look again, and after that */
};

/* One at the lists of a process. */
struct jit_look {
	struct process_table *table;
	struct process *process;
	struct jit_objects *objects; /* its own */
	uint64_t now;
	uint64_t until;
};

/* jit_objects.c: an object that was found, its source, list, `at` and entry set. 1: the time is up; 0; or an error. */
int jit_object_note(const struct jit_look *look, const struct jit_object *found);
/* Puts it among the others: its file is being read. 0 or -ENOMEM. */
int jit_object_add(const struct jit_look *look, struct jit_object *object);
void jit_object_drop(const struct jit_look *look, struct jit_object *object);
void jit_object_drop_binary(const struct jit_look *look, struct jit_object *object);
/* It is copied again after a while. */
void jit_object_wait(const struct jit_look *look, struct jit_object *object);

/* jit_frames.c: as walk() in jit_objects.c, of libgcc's frames. */
int jit_frames_walk(const struct jit_look *look, const struct jit_list *list);
/* Reads the jitdump again if there is more of it. True if the next look may find more without new samples. */
bool jit_frames_read_dump(const struct jit_look *look);
/* What it said before is not used any more. */
void jit_frames_drop_old(const struct jit_look *look);

/* jit_code.c: maps what is ready. */
void jit_code_map(const struct jit_look *look);
void jit_code_unmap(const struct jit_look *look, const struct jit_object *object);

#endif
