/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_TRACEFS_H
#define DP_KERNEL_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * The kernel's list of its tracepoints: the directory `events` of tracefs, with one for each
 * subsystem, and in it one for each tracepoint (Documentation/trace/events.rst). Functions take its
 * descriptor, and names that tracefs_is_name() accepts.
 */

/*
 * Opens it where it usually is mounted; else, with CAP_SYS_ADMIN, on a mount of its own that nobody
 * else sees. Returns a descriptor or a negative errno: -ENOENT if it is not mounted.
 */
int tracefs_open(void);
/* Says under an error of tracefs_open() what to do. */
void tracefs_explain(int err);

/* Does it consist of characters of tracepoint names only? Then it cannot escape the directory. */
bool tracefs_is_name(const char *text);

/* 0 or a negative errno: -ENOENT if there is no such tracepoint. */
int tracefs_read_id(int events, const char *system, const char *name, uint64_t *ret);
/* Opens the description of its record's fields (trace_record.h). The caller closes *ret. */
int tracefs_open_format(int events, const char *system, const char *name, FILE **ret);

/* Tracepoints whose names match two globs, in alphabetical order. */
struct tracefs_list {
	char **names; /* "sched:sched_switch" */
	size_t n, size;
};

/* 0, also if there are none, or a negative errno. tracefs_list_done() frees *ret. */
int tracefs_find(int events, const char *system, const char *name, struct tracefs_list *ret);
void tracefs_list_done(struct tracefs_list *list);

/* Says that there is no such tracepoint, and which one may be meant. */
void tracefs_say_none(int events, const char *system, const char *name);

#endif
