/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_IMAGE_CHECK_H
#define DP_TABLES_IMAGE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Could these cells be an image? For one that comes from outside: nothing that
 * it says leads the walker out of it, in user space either. Whether the rows
 * are true cannot be seen.
 *
 * Of an image of less than about 128 KiB every row is read: decode.h can read
 * it, too. Of a larger one each block of rows only has to lie in it. To read
 * them would take most of the time in which a table can be had from disk;
 * whatever state they lead to, there is memory of the image, and the walker
 * takes what it finds there for a rule only if it is one's number.
 */
bool image_is_sound(const uint64_t *cells, uint32_t n_cells);

#endif
