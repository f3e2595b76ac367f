/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BASE_HASH_H
#define DP_BASE_HASH_H

/*
 * uthash, with out of memory as an error instead of exit(): an element that could not be added has
 * no table in its handle.
 */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define HASH_IS_ADDED(handle, element) ((element)->handle.tbl != NULL)

#endif
