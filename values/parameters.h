/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_VALUES_PARAMETERS_H
#define DP_VALUES_PARAMETERS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "values/enumerator.h"
#include "values/value_type.h"

/*
 * Locates values of a program by their names in debug information: the parameters of a function at its entry, its
 * result after it has returned, and, inside it, also its variables.
 */

#define PARAMETER_PATH_SIZE 64
/* In front of a parameter's number */
#define PARAMETER_WORD "arg"
#define PARAMETER_WHY_SIZE 96

/*
 * A parameter, and members of what it is or points to: "req->method", "point.x"; or, where a function is
 * entered, "arg2->method", of its second parameter. "": none, skipped.
 */
struct parameter_wanted {
	char path[PARAMETER_PATH_SIZE];
	char length[PARAMETER_PATH_SIZE]; /* the integer with the length of a text; "": none */
	uint32_t type;                    /* enum value_type; VALUE_N_TYPES: as in the source */
	uint32_t is_result;               /* whatever its name: what the function has returned */
	uint32_t line;                    /* that begins there, whose names they are; 0: none */
};

struct parameter {
	uint32_t
		type; /* enum value_type; of what cannot be read, whether it is a float (F64) or not (0) */
	uint32_t n_names; /* of its values: so many enumerators of the list are its own */
	struct dp_argument how;
	struct dp_argument length;    /* what was wanted, or that of a DP_TEXT_SIZED by itself */
	char why[PARAMETER_WHY_SIZE]; /* it cannot be read; "": it can */
};

/*
 * Finds parameters of the function that begins at an address, or what the names mean at an address within a function,
 * and the enumerators of their types, in the same order. fd: the file, or its debug file. enumerators_done() frees the
 * list, which starts empty, also after an error.
 * Returns 0, -ENODATA if it has no debug information of that function, -ENOEXEC if it cannot be read, or
 * -ENOMEM.
 */
int parameters_find(int fd, uint64_t address, const struct parameter_wanted *wanted, size_t n,
		    struct parameter *ret, struct enumerators *ret_names);

/*
 * Lists the parameters of a function in order, at most ENUMERATION_MAX, as enumerators: each has the parameter's name,
 * and as value its type (enum value_type), or VALUE_N_TYPES if it cannot be read by its name alone. Errors as above;
 * enumerators_done() frees the list, which starts empty.
 */
int parameters_list(int fd, uint64_t address, struct enumerators *ret);

#endif
