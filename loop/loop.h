/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOOP_LOOP_H
#define DP_LOOP_LOOP_H

#include <stddef.h>

/*
 * Waits for descriptors that can be read, and calls the function of each, in the thread that
 * runs it. Who adds a descriptor keeps it, and removes it before it is closed. epoll(7).
 */
struct loop {
	int fd;                      /* an epoll's: readable when one of the descriptors is */
	struct loop_source *sources; /* by descriptor */
	size_t n_sources;
};

/* fd can be read. A negative errno is returned by loop_run(). */
typedef int (*loop_fn)(void *arg, int fd);

#define LOOP_NONE ((struct loop){ .fd = -1 })

/* 0 or a negative errno. */
int loop_init(struct loop *ret);
/* May be called of LOOP_NONE, and twice. */
void loop_done(struct loop *loop);

/* fn is called each time that fd can be read; NULL: it only ends the waiting. 0 or a negative errno. */
int loop_add(struct loop *loop, int fd, loop_fn fn, void *arg);
/* Also from a function that is called for this or another descriptor. Nothing, if it was not added. */
void loop_remove(struct loop *loop, int fd);

/*
 * Wait for at most so many milliseconds (0: not at all), until one or more can be read or a signal comes,
 * and call their functions. 0, or a negative errno: of the first function that returned one.
 */
int loop_run(struct loop *loop, int timeout_ms);

#endif
