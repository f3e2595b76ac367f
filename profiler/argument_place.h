/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_ARGUMENT_PLACE_H
#define DP_PROFILER_ARGUMENT_PLACE_H

#include "profiler/arguments.h"

/*
 * Makes arguments such by position, at one place of a USDT probe. 0, or -EINVAL, and what is wrong. A type
 * that is wider than an argument becomes as narrow.
 */
int arguments_place(struct arguments *arguments, const struct usdt_place *place,
		    char ret_why[ARGUMENTS_WHY_SIZE]);

#endif
