/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_LOAD_H
#define DP_BINARIES_LOAD_H

#include "binaries/binary.h"

/*
 * From a binary's file to what the store knows of it, and to its table: as jobs (table_job.h) of
 * the store's workers; if it has none, at once.
 */

/*
 * Open and read a binary that the store has just got to know, and make its table. `pid` and
 * place_fd, which is taken over: as in binary_store_get(); or negative, and `place` says where it
 * is (binary_store_find_later()). When the job is over it may have an err, or be the same as another
 * one, and is not in the store then. 0 or -ENOMEM.
 */
int load_binary(struct binary_store *store, struct binary *binary, pid_t pid, int place_fd,
		const struct file_place *place);

/* Make the image of a table again, for which room was found (table_find_room()). */
void load_table(struct binary_store *store, struct table *table);

/* A process maps a binary that is known: its table may have gone meanwhile. */
void load_again(struct binary_store *store, struct binary *binary);

/* See binary_store_collect(). */
bool load_collect(struct binary_store *store);

/* End the workers, and drop what they have not done. What hangs is left to its thread. */
void load_end(struct binary_store *store);

#endif
