/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_TERMINFO_H
#define DP_CLI_TERMINFO_H

#include <stdbool.h>

/* Can the cursor be moved on the terminal $TERM? Not if it is unknown or "dumb". */
bool terminfo_has_places(int fd);

#endif
