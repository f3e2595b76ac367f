// SPDX-License-Identifier: Apache-2.0
#include "tables/image_file.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "tables/image_check.h"

static_assert(sizeof(struct image_origin) == 2 * IMAGE_BUILD_ID_SIZE + 10 * 8, "no padding");
static_assert(sizeof(struct image_file) == 32 + sizeof(struct image_origin), "no padding");
static_assert(sizeof(struct image_file) % DP_CELL_SIZE == 0, "the cells behind it are aligned");

static uint32_t checksum(const struct image_file *head, const uint64_t *cells)
{
	const size_t from = offsetof(struct image_file, crc) + sizeof(head->crc);
	uLong crc = crc32_z(0, (const Bytef *)head + from, sizeof(*head) - from);

	return (uint32_t)crc32_z(crc, (const Bytef *)cells, (size_t)head->n_cells * DP_CELL_SIZE);
}

void image_file_init(struct image_file *ret, const struct image_origin *origin,
		     const struct image *image)
{
	*ret = (struct image_file){
		.magic = IMAGE_FILE_MAGIC,
		.version = DP_IMAGE_VERSION,
		.n_cells = image->n_cells,
		.n_rows = image->stats.n_rows,
		.origin = *origin,
	};
	ret->crc = checksum(ret, image->cells);
}

bool image_file_is_of(const struct image_file *head, const struct image_origin *origin,
		      uint64_t size)
{
	return head->magic == IMAGE_FILE_MAGIC && head->version == DP_IMAGE_VERSION &&
	       memcmp(&head->origin, origin, sizeof(*origin)) == 0 &&
	       size == sizeof(*head) + (uint64_t)head->n_cells * DP_CELL_SIZE;
}

/* The checksum finds accidental damage, the check finds forgeries, whose checksum is correct. */
int image_file_take(const struct image_file *head, uint64_t *cells, struct image *ret)
{
	if (head->crc != checksum(head, cells) || !image_is_sound(cells, head->n_cells))
		return -EBADMSG;
	*ret = (struct image){
		.cells = cells,
		.n_cells = head->n_cells,
		.stats.n_rows = head->n_rows,
	};
	return 0;
}
