/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BINARIES_PREWARM_H
#define DP_BINARIES_PREWARM_H

#include "binaries/binary.h"

/*
 * Make the tables of a command's program, its dynamic linker and its libraries
 * before it starts, so that they are there when it maps them. What is not
 * found here, or turns out not to be used, does no harm: mappings are followed
 * as they happen, whatever was foreseen.
 */
void prewarm_command(struct binary_store *store, const char *command);

#endif
