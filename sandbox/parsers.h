/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_PARSERS_H
#define DP_SANDBOX_PARSERS_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "sandbox/confine.h"
#include "sandbox/parse.h"

/*
 * The parsers (parser.h) of a profiler, which its threads share. A parser gets files of one owner
 * only; a request about files of two owners gets one of its own. It is started when a request finds
 * none that is idle, and kept for the next one. What a file can do to a parser costs only that file:
 * one that crashes, exhausts its memory or takes too long is replaced. Where no parser can be started
 * at all, or none can parse even this program, this process parses the files, and a warning says so.
 */
struct cpu_budget;
struct failures;
struct parsers;

enum sandbox_mode {
	SANDBOX_AUTO,    /* parsers, with the layers that can be had */
	SANDBOX_REQUIRE, /* nothing without parsers in all layers that the kernel has */
	SANDBOX_OFF,     /* this process parses */
};

/*
 * Starts the spawner (spawner.h), preferably before this process holds anything that parsers must not inherit.
 * `program` calls helper_main() if executed as a helper. 0 or a negative errno.
 */
int parsers_new(const char *program, struct parsers **ret);
/* The same, for helpers of these kinds only (spawner.h), by bit. */
int parsers_new_for(const char *program, uint32_t kinds, struct parsers **ret);
/* Takes another reference. Callable from any thread. NULL is allowed; then returns NULL. */
struct parsers *parsers_hold(struct parsers *parsers);
/* Drops a reference; the last one ends the parsers. NULL is allowed. Returns NULL. */
struct parsers *parsers_drop(struct parsers *parsers);

/* Why no parser has answered parsers_ask(), for the next one; NULL: for none of these reasons. */
const char *parsers_failure(int err);

/* What is wrong if parsers_ask() has failed, and what can be done: for the user who has named the file. */
const char *parsers_explain(int err);

/*
 * Warns that a file could not be read because of what it did to its reader: "PATH has no table: its parser
 * took too long". Anyone can write many such files, so further ones are only counted, and named in debug
 * messages; the last parsers_drop() reports how many. Callable from any thread.
 */
void parsers_note_failure(struct parsers *parsers, const char *path, const char *lacks,
			  const char *why);

/* Passes failures on to these, which outlive the parsers. Call this before the first request. */
void parsers_tell_failures(struct parsers *parsers, struct failures *failures);

/* Ends parsers that have been idle for this long. Callable from any thread. */
void parsers_rest(struct parsers *parsers, uint64_t idle_ns);

/*
 * Sets the CPU budget of parsers and namers, which hold it; NULL: no limit. Call this before the first
 * request.
 */
void parsers_set_budget(struct parsers *parsers, struct cpu_budget *budget);
struct cpu_budget *parsers_budget(const struct parsers *parsers);

/* The process that they are children of: a child of this one, until it is replaced. 0 without parsers. */
pid_t parsers_spawner(struct parsers *parsers);

/* What starts them, as long as the parsers are held. */
struct starter *parsers_starter(struct parsers *parsers);

/*
 * From now on there are finders (finders.h), as long as the parsers are held. This process has
 * CAP_DAC_READ_SEARCH. 0 or -ENOMEM.
 */
int parsers_use_finders(struct parsers *parsers);
/* NULL if there are none, or no parsers. */
struct finders *parsers_finders(struct parsers *parsers);

/* Replaces PARSERS_CPU_NS. For tests. */
void parsers_set_cpu_limit(struct parsers *parsers, uint64_t cpu_ns);

/* The layers that confine each parser so far, by bit (confine.h); 0: none has been started. */
uint32_t parsers_layers(struct parsers *parsers);

/* Starts some for the first requests, without waiting. */
void parsers_prepare(struct parsers *parsers);

/* Starts one to learn its layers, and waits for it. 0, or a negative errno if none can be started now. */
int parsers_check(struct parsers *parsers, struct confinement *ret);

/*
 * From now on, only parsers with all layers that they can have parse files. Call this before the first
 * request.
 */
void parsers_require(struct parsers *parsers);

/*
 * Has a request answered, by this process if `parsers` is NULL. Callable from any thread; waits for
 * the answer. While it waits, *clock is the parser's CPU-time clock, else 0 (read atomically). 0, the
 * errors of parse_here(), -ECONNABORTED if one parser after the other ended, -EPROTO if an answer was
 * none, -ETIME if it took too long, -EAGAIN if no parser can be started now, an error of finding
 * that out, -ETIMEDOUT if it is stuck, or an error of finders_pass(). parse_result_done() frees *ret.
 */
int parsers_ask(struct parsers *parsers, const struct parse_request *request, clockid_t *clock,
		struct parse_result *ret);

/* Computes the digest of an open file in a parser. Errors as above, and of file_digest_read(). */
int parsers_digest(struct parsers *parsers, uid_t user, int fd, struct file_digest *ret);

#endif
