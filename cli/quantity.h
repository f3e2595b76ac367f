/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_QUANTITY_H
#define DP_CLI_QUANTITY_H

#include <stdint.h>

/* Times and sizes, as people write them. */

/* "30", "30s", "1.5s", "500ms", "5m": nanoseconds. -EINVAL for anything else, and for zero. */
int quantity_parse_duration(const char *text, uint64_t *ret);

/* "4194304", "4096K", "4M", "1G": bytes. -EINVAL for anything else. */
int quantity_parse_size(const char *text, uint64_t *ret);

#endif
