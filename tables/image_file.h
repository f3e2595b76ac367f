/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_IMAGE_FILE_H
#define DP_TABLES_IMAGE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tables/image.h"

/*
 * An image as it is kept on disk: a head, and behind it the image's cells.
 * docs/FORMAT.md draws it. Whoever reads one believes nothing of it.
 */

/* "dp_image" in the machine's byte order: another machine's are not taken. */
#define IMAGE_FILE_MAGIC UINT64_C(0x6567616d695f7064)

/* A build id in hex, cut to 20 bytes and filled up with zeros. */
#define IMAGE_BUILD_ID_SIZE 48

/*
 * What an image was made of, and by which program: it is of use only where
 * all of this is the same. No padding, so that bytes can be compared.
 */
struct image_origin {
	char maker[IMAGE_BUILD_ID_SIZE];    /* the program's own build id */
	char build_id[IMAGE_BUILD_ID_SIZE]; /* the file's */
	uint64_t inode, size;               /* the file's */
	uint64_t mtime_ns, ctime_ns;
	uint64_t cfi_address, cfi_size; /* its unwind information, and which it is */
	uint64_t cfi_source;
	uint64_t start, end, entry; /* struct image_extent */
};

struct image_file {
	uint64_t magic;
	uint32_t version; /* DP_IMAGE_VERSION */
	uint32_t crc;     /* CRC-32, as zlib's, of all that is behind it */
	uint32_t n_cells;
	uint32_t zero;
	uint64_t n_rows;
	struct image_origin origin;
};

/* The head of a file for an image that was made of this. */
void image_file_init(struct image_file *ret, const struct image_origin *origin,
		     const struct image *image);

/* Is this the head of a file of so many bytes, with an image that was made of this? */
bool image_file_is_of(const struct image_file *head, const struct image_origin *origin,
		      uint64_t size);

/*
 * Take the image behind a head that image_file_is_of() is content with: its
 * head->n_cells cells. Only the number of rows is known of its figures, and no
 * refusals. Returns 0 with *ret, which owns the cells, or -EBADMSG if they are
 * damaged, or no image at all; they are still the caller's then.
 */
int image_file_take(const struct image_file *head, uint64_t *cells, struct image *ret);

#endif
