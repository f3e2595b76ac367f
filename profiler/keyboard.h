/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_KEYBOARD_H
#define DP_PROFILER_KEYBOARD_H

#include <stdbool.h>

/*
 * The epoll said that stdin has something: has somebody typed that it is enough? When
 * there is no keyboard any more, the epoll forgets it.
 */
bool keyboard_quits(int epoll_fd);

#endif
