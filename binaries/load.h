/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_LOAD_H
#define DP_BINARIES_LOAD_H

#include "binaries/binary_store.h"

/*
 * Loads a binary's file and builds its table: in jobs (table_job.h) of the store's workers, or at
 * once if it has none.
 */

/*
 * Opens and reads the file of a new binary and builds its table. Either pid and path_fd, which it
 * takes over, are as in binary_store_get(); or path_fd is negative and `mapping` says where the file
 * is mapped (binary_store_find_later()). Afterwards the binary may have an err or be the same as
 * another one; it is then no longer in the store. 0 or -ENOMEM.
 */
int load_binary(struct binary_store *store, struct binary *binary, pid_t pid, int path_fd,
		const struct file_mapping *mapping);

/* Builds the image of an evicted table again, once it has room (table_find_room()). */
void load_table(struct binary_store *store, struct table *table);

/* A process maps a known binary, whose table may have been freed in the meantime. */
void load_again(struct binary_store *store, struct binary *binary);

/* Takes a binary out of the store, whose budget of files has room for another one then. */
void load_forget(struct binary_store *store, struct binary *binary);

/* See binary_store_collect(). */
bool load_collect(struct binary_store *store);

/* Ends the workers and drops unfinished jobs. A hanging job is left to its thread. */
void load_end(struct binary_store *store);

#endif
