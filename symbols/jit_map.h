/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_JIT_MAP_H
#define DP_SYMBOLS_JIT_MAP_H

#include <sys/types.h>

#include "symbols/jit_pieces.h"

/*
 * A perf map: a text file to which a process adds a line `START SIZE NAME` with hexadecimal numbers
 * for each piece of code (Linux, tools/perf/Documentation/jit-interface.txt; some write 0x before
 * them). If lines overlap, the last one counts.
 */

/*
 * Opens /tmp/perf-PID.map below a root; PID is the process's number in its own PID namespace. Anyone may
 * place files, links and mounts at this path to redirect it to any file of the machine.
 * So it is resolved within the root, and only opened if it is a regular file of the process's user;
 * or one of root, which some agents leave, if it is world-readable and no link leads there. A link
 * has to be the user's or root's itself. Without openat2() (Linux 5.6) there is no map. Returns a descriptor
 * or a negative errno. May wait.
 */
int jit_map_open(int root, pid_t pid, uid_t user);

/*
 * Reads further whole lines, until the end of the file or until there is enough, from a position that moves
 * on. Starts again if the file has become shorter. 1: there is more; 0: not yet; or a negative errno after
 * which no more can be read.
 */
int jit_map_read(int fd, struct jit_position *at, struct jit_pieces *to);

#endif
