/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_PREWARM_H
#define DP_BINARIES_PREWARM_H

#include "binaries/binary_store.h"

/*
 * Builds the tables of a command's program, its dynamic linker and its libraries before it starts,
 * so that they are ready when it maps them. A wrong guess does no harm: mappings are followed as
 * they happen.
 */
void prewarm_command(struct binary_store *store, const char *command);

#endif
