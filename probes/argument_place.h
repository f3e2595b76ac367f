/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_ARGUMENT_PLACE_H
#define DP_PROBES_ARGUMENT_PLACE_H

#include "probes/arguments.h"

/*
 * Resolves arg1 to argN at one location of a USDT probe. A type wider than its argument is narrowed to it.
 * Returns 0, or -EINVAL with the reason in ret_why.
 */
int arguments_place(struct arguments *arguments, const struct usdt_place *place,
		    char ret_why[ARGUMENTS_WHY_SIZE]);

#endif
