/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEXT_PLAIN_H
#define DP_TEXT_PLAIN_H

#include <stdio.h>

/* Prints a text that others have chosen without what a terminal would obey (text_make_plain()). 0 or -ENOMEM. */
int plain_print(const char *text, FILE *to);

#endif
