/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_VALUES_USDT_ARGUMENT_H
#define DP_VALUES_USDT_ARGUMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/abi.h"
#include "values/value_type.h"

/*
 * An argument of a USDT probe, as its note describes it (SystemTap's wiki,
 * UserSpaceProbeImplementation): `[-]SIZE[f]@OPERAND`, an operand of the assembler: `%REGISTER`,
 * `$5`, `-16(BASE)`, `8(BASE,INDEX,4)`. A minus is for signed integers.
 */

#define USDT_MAX_ARGUMENTS 12 /* of <sys/sdt.h> */

struct usdt_argument {
	uint32_t type; /* enum value_type; VALUE_N_TYPES: of another kind, or in another place */
	struct dp_argument how;
};

/*
 * Reads a list. What cannot be read has VALUE_N_TYPES as its type. Returns how many there are, at
 * most USDT_MAX_ARGUMENTS.
 */
size_t usdt_arguments_parse(const char *list, struct usdt_argument ret[USDT_MAX_ARGUMENTS]);

/* The register with a name of the assembler, of `length` bytes. -1: none for integers. */
int usdt_register(const char *name, size_t length);

/* Could this program have made it: is everything in range? */
bool usdt_argument_is_sound(const struct usdt_argument *argument);

#endif
