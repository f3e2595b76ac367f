/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_IMAGE_CHECK_H
#define DP_TABLES_IMAGE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * True if these cells are a valid image. For images from outside: nothing in it may lead the walker
 * out of it, in user space either. Whether the rows are true cannot be checked.
 *
 * In an image of less than about 128 KiB, every row is read, so that decode.h can read it too. In a
 * larger one, each block of rows only has to lie inside. Reading the rows would take most of the
 * time of loading a table from disk. Whatever states they have, the image has memory there, and the
 * walker ignores values that are not rule numbers.
 */
bool image_is_sound(const uint64_t *cells, uint32_t n_cells);

#endif
