/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_DELIVER_SPOOL_H
#define DP_DELIVER_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Requests that wait, in the order of their numbers: files of a directory, each of which is complete
 * or not there, or memory. One thread takes them, others add.
 */
struct spool;

struct spool_counts {
	uint64_t n, bytes, events;        /* now */
	uint64_t dropped, dropped_events; /* for lack of room, since it was opened */
};

/* n_events: the events in it; the file's name keeps the number for later processes. */
struct spool_request {
	void *data; /* owned */
	size_t size;
	uint64_t n_events;
};

static inline void spool_request_done(struct spool_request *request)
{
	free(request->data);
	request->data = NULL;
}

/*
 * path: made if it is missing; NULL: in memory. Continues what is in the directory. 0 or a negative
 * errno; -EBUSY: another one has it open.
 */
int spool_open(const char *path, uint64_t max_bytes, struct spool **ret);
/*
 * A process that finds the directory unlocked may create this file there, whose time says since when. spool_open()
 * removes it.
 */
#define SPOOL_LEFT "left"
/* Whether a file of that name in the directory is a request. */
bool spool_is_request(const char *name);
/* Files remain. Accepts NULL. Returns NULL. */
struct spool *spool_free(struct spool *spool);

/*
 * Adds a request, and drops the oldest until it has room; but not the one that was taken. 0, or a
 * negative errno, with which it counts as dropped; -EFBIG: there cannot be room for it, so no other
 * is dropped.
 */
int spool_add(struct spool *spool, const void *data, size_t size, uint64_t n_events);

/*
 * Takes a request by its place, of which 0 is the oldest's; it stays in the spool until spool_done().
 * The caller frees *ret (spool_request_done()). 0, -ENOENT: there is none, or another negative errno: it
 * cannot be read, and is dropped.
 */
int spool_take(struct spool *spool, size_t i, struct spool_request *ret);

/* Another size from now on; what has no room is dropped. */
void spool_set_limit(struct spool *spool, uint64_t max_bytes);

/* Removes the request that was taken, or, if is_done is false, leaves it to be taken again. */
void spool_done(struct spool *spool, bool is_done);

/* The number of the oldest request, which no other gets; UINT64_MAX: there is none. */
uint64_t spool_oldest(struct spool *spool);

/* At once, also while the disk hangs. */
void spool_counts(struct spool *spool, struct spool_counts *ret);

#endif
