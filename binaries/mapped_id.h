/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_MAPPED_ID_H
#define DP_BINARIES_MAPPED_ID_H

#include <stdbool.h>
#include <stdint.h>

struct binary;
struct binary_store;

/*
 * A mapped file as the kernel's record of the mapping has it (PERF_RECORD_MMAP2, perf_event_open(2)),
 * so that a file that is known need not be looked up. The device is the file system's. Where stat(2)
 * has another one, as for btrfs's subvolumes, it does not tell files apart. While a file is open, no
 * other one has its inode, and its file system stays.
 */
struct mapped_id {
	uint64_t device; /* as stat(2) writes it; 0: not known */
	uint64_t inode, generation;
};

/* Notes that mappings with this id are of the binary's file, so that others need not be looked up. */
void mapped_id_note(struct binary_store *store, struct binary *binary, const struct mapped_id *id);

/* Whether mapped_id_find() finds it, if nobody has written to the file. */
bool mapped_id_is_known(const struct binary_store *store, const struct mapped_id *id);

/*
 * The binary of that file, whose table is brought back if it was freed. NULL: it was not read yet,
 * is not open, was written to since, or others may have its inode (stored_file_has_own_inode()).
 */
struct binary *mapped_id_find(struct binary_store *store, const struct mapped_id *id);

/* The binary leaves the store. */
void mapped_id_forget(struct binary_store *store, struct binary *binary);

#endif
