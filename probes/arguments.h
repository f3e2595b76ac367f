/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_ARGUMENTS_H
#define DP_PROBES_ARGUMENTS_H

#include <stdbool.h>

#include "samples/label_values.h"
#include "values/parameters.h"
#include "values/usdt.h"

/* Where values are read, which decides what values there are. */
enum probe_kind {
	PROBE_CALL,
	PROBE_RETURN, /* `ret`, and `time`, which the call took */
	PROBE_STATIC, /* `argN`, what a USDT probe has */
	PROBE_KERNEL, /* fields of the record of an event of the kernel (trace_values.h) */
};

/*
 * The values that a probe is to read, as users write them behind a function: `(size=arg1:u64,
 * path=request->path)`. Each is NAME=VALUE:TYPE; the name or the type may be left out.
 */
struct argument {
	struct value_form form; /* its type is VALUE_N_TYPES if debug information is to tell it */
	struct dp_argument how; /* of an argument by position */
	/*
	 * Of a static probe's, from 1: `how` has the steps from there; of a kernel event's, too. Of a function's
	 * only if its path begins with it.
	 */
	unsigned int number;
	/* Of one by name (parameters.h), and of each of a kernel event; "": it is by position */
	char path[PARAMETER_PATH_SIZE];
	bool has_default; /* without debug information, `how` is right nevertheless */
	/* Of a DP_TEXT_SIZED, in the same way */
	struct argument_length {
		struct dp_argument how;
		unsigned int number;
		char path[PARAMETER_PATH_SIZE];
	} length;
};

/* Is it more than a register or argument: memory, or a sum? */
static inline bool argument_has_steps(const struct dp_argument *how)
{
	return how->n_derefs > 0 || how->add != 0;
}

struct arguments {
	enum probe_kind kind;
	uint32_t line; /* they are read where this line of the source begins; 0: elsewhere */
	size_t n;
	struct argument of[DP_MAX_ARGUMENTS];
};

#define ARGUMENTS_WHY_SIZE 512

/*
 * Where the list begins, its parenthesis; NULL: there is none. A list has a name, type, dereference
 * or `argN` somewhere: that distinguishes it from the parameters in a function's name, f(int, long).
 */
const char *arguments_find(const char *function, enum probe_kind kind);

/* Parses a list. 0, or -EINVAL, and what is wrong where and what is allowed there. */
int arguments_parse(const char *list, enum probe_kind kind, struct arguments *ret,
		    char ret_why[ARGUMENTS_WHY_SIZE]);

/* Is one of them the time of a call? */
bool arguments_have_time(const struct arguments *arguments);

/*
 * Are some given by name? arguments_resolve() converts these to positions at one place, if all are found that have no
 * default; their forms then refer to `names`. arguments_set_defaults() converts them without debug information.
 * False: not all have a default.
 */
bool arguments_have_names(const struct arguments *arguments);
bool arguments_set_defaults(struct arguments *arguments);
void arguments_wanted(const struct arguments *arguments,
		      struct parameter_wanted ret[DP_MAX_ARGUMENTS]);
void arguments_resolve(struct arguments *arguments,
		       const struct parameter parameters[DP_MAX_ARGUMENTS],
		       const struct enumerator *names);

/*
 * Describes what the BPF program reads, and how reports write it. A text with a length takes two entries, the length
 * first. 0, or -ENOSPC if there are more than DP_MAX_ARGUMENTS.
 */
int arguments_describe(const struct arguments *arguments, struct dp_arguments *ret,
		       struct value_forms *ret_forms);

#endif
