/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOOP_LOOP_H
#define DP_LOOP_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Waits for descriptors, at first until they are readable, and calls the callback of each, in the thread that runs the loop.
 * Descriptors belong to the caller, who must remove them before closing them. See epoll(7).
 */
struct loop {
	int fd;                      /* the epoll instance: readable when a descriptor is ready */
	struct loop_source *sources; /* by descriptor */
	size_t n_sources;
	uint64_t n_events; /* descriptors that were ready, so far */
};

/* Called when fd is ready. loop_run() returns a negative errno from it. */
typedef int (*loop_fn)(void *arg, int fd);

#define LOOP_NONE ((struct loop){ .fd = -1 })

/* 0 or a negative errno. */
int loop_init(struct loop *ret);
/* May be called twice, and for LOOP_NONE. */
void loop_done(struct loop *loop);

/* Calls fn whenever fd is readable. With fn NULL, fd only ends the wait. 0 or a negative errno. */
int loop_add(struct loop *loop, int fd, loop_fn fn, void *arg);
/* Selects whether fn is called when fd is writable or, as at first, readable. 0 or a negative errno. */
int loop_turn(struct loop *loop, int fd, bool to_write);
/* May be called from any callback. Does nothing if fd was not added. */
void loop_remove(struct loop *loop, int fd);

/*
 * Waits up to timeout_ms milliseconds (0: returns at once; negative: no limit) until a descriptor
 * is readable or a signal arrives, and calls the callbacks. 0, or the first negative errno that one
 * returned.
 */
int loop_run(struct loop *loop, int timeout_ms);

/*
 * Like loop_run(), with a timeout in nanoseconds, and also returns when fd is readable (-1: none). fd
 * does not belong to the loop, and has no callback.
 */
int loop_run_with(struct loop *loop, int fd, uint64_t timeout_ns);

/*
 * Raises the priority of the calling thread, which runs a loop that reads rings, above the profiled
 * programs'. Otherwise samples are lost on an overloaded machine, because a ring has room for a
 * fraction of a second. Other threads keep theirs. -EACCES without CAP_SYS_NICE; else 0.
 */
int loop_go_first(void);

#endif
