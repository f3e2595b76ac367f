/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_BINARY_H
#define DP_BINARIES_BINARY_H

#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "binaries/mapped_id.h"
#include "binaries/table.h"
#include "binaries/table_job.h"
#include "elf/elf_facts.h"
#include "symbols/module.h"

/*
 * A binary that some process has mapped: its unwind table in the pool and the module that its names
 * are looked up in. There is one per file, however many processes map it and under whatever names.
 * Copies of the same file, such as each container has, share a table.
 *
 * Its file may be slow to read. In a store with workers, they open it, read it and build the table
 * (table_job.h). Until then the binary is pending and nothing is known about it.
 */

struct binary {
	struct file_id id;
	struct mapped_id mapped; /* device 0: no mapping of it was met whose record tells */
	uint64_t number;         /* unique in the store, never used again */
	uint64_t changed_ns;     /* ctime of the file when it was read */
	struct module *module;   /* owned */
	struct elf_facts elf;    /* empty until the file has been read */
	/* Of its mapped file or its module's memory; NULL: closed, or only helpers read it */
	const uint8_t *bytes;
	size_t n_bytes;
	uint64_t
		object_size; /* of generated code (binary_store_get_object()), copied; 0: it is not */
	bool is_dump;        /* of a jitdump, then */
	bool is_foreign;     /* reading the bytes may take long (stored_file_is_foreign()) */
	bool has_own_inode;  /* stored_file_has_own_inode(); false until the file has been read */
	bool is_loading;     /* its file is being read, or its first table is being built */
	uint64_t asked_ns;   /* loading started then */
	int err;             /* why it could not be loaded; it is then in no store. Or 0 */
	bool is_unopened;    /* opening the file failed */
	struct binary *same; /* another binary of the same file; or NULL */
	struct table *table; /* owned by the store; NULL: no unwind information */
	/* Where it throws exceptions; NULL: it does not, or they are not wanted */
	struct exception_probe *probe;
	uid_t user;         /* whose process has mapped it first */
	size_t n_users;     /* mappings of processes and of snapshots, and jobs */
	uint64_t idle_from; /* when it was first seen without users; 0: it has some */
	bool is_sampled;    /* reports refer to its module (module_users) */
	bool is_told_third; /* binary_tell_third() has told */
	size_t *n_unknown_runtimes, *n_third_runtimes; /* the store's */
	uint64_t closed_ns;                            /* when it was closed */
	struct binary *next_closed;
	UT_hash_handle hh;
	UT_hash_handle by_mapped;
	UT_hash_handle by_build_id; /* only the first of several copies; its table serves all */
};

/*
 * Whether it is being loaded or its table is being built. Ask again after binary_store_collect().
 */
static inline bool binary_is_pending(const struct binary *binary)
{
	return binary->is_loading || (binary->table && binary->table->is_filling);
}

/* A sample has hit it, so reports refer to its module. Warns once if its runtime's version is not known. */
void binary_use(struct binary *binary);

/* The same in a process with two other runtimes. Warns once that this one's frames are shown as native. */
void binary_tell_third(struct binary *binary, pid_t pid);

/* Whether its file is open, and nobody has written to it since it was met. Does not wait. */
bool binary_is_unchanged(const struct binary *binary);

/*
 * Reads the `size` bytes of code that end at an address of the file; bytes before the start of its
 * section are 0. -ENOENT: there is no code (any more), or the binary is closed; -EAGAIN: reading it
 * may take long.
 */
int binary_read_before(const struct binary *binary, uint64_t end, void *ret, size_t size);

/* Whether the kernel can read its labels, of one of these forms: bits by enum dp_labels_form. NULL: no. */
static inline bool binary_has_labels(const struct binary *binary, unsigned int forms)
{
	return binary && binary->table && (forms >> binary->table->labels_form & 1);
}

/* Whether it has labels of one of these forms, which may be one that the kernel does not read. NULL: no. */
static inline bool binary_may_label(const struct binary *binary, unsigned int forms)
{
	return binary_has_labels(binary, forms) ||
	       (binary && binary->table && (forms & binary->table->other_labels) != 0);
}

/*
 * Called for each mapping of a process that begins or ends. NULL is allowed. A binary that could
 * not be read, or is the same as another one, is freed with its last user.
 */
void binary_hold(struct binary *binary);
void binary_drop(struct binary *binary);

/*
 * Keeps the binary, but not its table: snapshots name the table themselves (table_name()). NULL is
 * allowed.
 */
static inline void binary_pin(struct binary *binary)
{
	if (binary)
		binary->n_users++;
}

static inline void binary_unpin(struct binary *binary)
{
	if (binary)
		binary->n_users--;
}

/* For the store, which owns binaries: unmaps the file; frees it. NULL is allowed by the latter. */
void binary_unmap(struct binary *binary);
void binary_free(struct binary *binary);

#endif
