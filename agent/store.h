/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_STORE_H
#define DP_AGENT_STORE_H

#include <stdint.h>
#include <stdio.h>

/*
 * A directory of recordings, one per interval, named by when it began: 20261126T140000.123456Z in
 * UTC. The oldest are removed when there are too many, or the disk is full. Only one store at a time uses a directory.
 * All functions but store_open() and store_close() may be called by any thread.
 */
struct store;

struct store_limits {
	uint64_t size;   /* bytes of all recordings; 0: any */
	uint64_t age_ns; /* since the end of a recording; 0: any */
};

struct store_state {
	uint64_t n, size;                 /* what is there */
	uint64_t n_removed, size_removed; /* by the limits */
	uint64_t n_cleaned;               /* half written ones of a killed run */
};

/*
 * Opens a directory, makes it if it is missing (0700), removes what a killed run left half written,
 * and says so. Logs errors. 0 or negative errno; -EBUSY: another store uses it.
 */
int store_open(const char *path, const struct store_limits *limits, struct store **ret);
/* Accepts NULL. Returns NULL. */
struct store *store_close(struct store *store);

/* Other limits from now on. */
void store_set_limits(struct store *store, const struct store_limits *limits);

/* A recording being written, in the directory under a name that no reader takes. */
struct store_file {
	FILE *to;
	int fd; /* to's */
	char name[64];
};

/* 0 or negative errno. */
int store_begin(struct store *store, struct store_file *ret);
/*
 * Closes the file and gives it its name, by the time of day when its interval began, and makes room.
 * 0, or a negative errno if it could not be written; then it is removed.
 */
int store_end(struct store *store, struct store_file *file, uint64_t started_real_ns);
/* Closes and removes it. */
void store_drop(struct store *store, struct store_file *file);

struct store_state store_state(struct store *store);

#endif
