/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LIMITS_LIMITS_H
#define DP_LIMITS_LIMITS_H

#include <stddef.h>
#include <stdint.h>

/* The numbers of limits.def. */
#define GROUP(name)
#define LIMIT(name, unit, what, told, beyond)
#include "limits/limits.def"
#undef GROUP
#undef LIMIT

#endif
