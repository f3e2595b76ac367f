/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_TERMINFO_H
#define DP_CLI_TERMINFO_H

#include <stdbool.h>

/* Can text be put anywhere on the terminal of $TERM? Not if it is unknown, or a "dumb" one. */
bool terminfo_has_places(int fd);

#endif
