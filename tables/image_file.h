/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_IMAGE_FILE_H
#define DP_TABLES_IMAGE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tables/image.h"

/*
 * An image on disk: a head, followed by the image's cells. docs/FORMAT.md draws it. Readers trust
 * nothing in it.
 */

/* "dp_image" in the machine's byte order, so that other machines' files are rejected. */
#define IMAGE_FILE_MAGIC UINT64_C(0x6567616d695f7064)

/* A build id in hex, cut to 20 bytes and padded with zeros. */
#define IMAGE_BUILD_ID_SIZE 48

/*
 * What an image was made from, and by which program. It may be used only if all of this is equal.
 * No padding, so that bytes can be compared.
 */
struct image_origin {
	char maker[IMAGE_BUILD_ID_SIZE];    /* the program's own build id */
	char build_id[IMAGE_BUILD_ID_SIZE]; /* the file's */
	uint64_t inode, size;               /* the file's */
	uint64_t mtime_ns, ctime_ns;
	uint64_t cfi_address, cfi_size; /* the section of its unwind information */
	uint64_t cfi_source;
	uint64_t start, end, entry; /* struct image_extent */
};

struct image_file {
	uint64_t magic;
	uint32_t version; /* DP_IMAGE_VERSION */
	uint32_t crc;     /* CRC-32, as zlib's, of everything behind it */
	uint32_t n_cells;
	uint32_t zero;
	uint64_t n_rows;
	struct image_origin origin;
};

/* Fills in the head of a file for an image with this origin. */
void image_file_init(struct image_file *ret, const struct image_origin *origin,
		     const struct image *image);

/* True if this is the head of a file of that size, with an image of this origin. */
bool image_file_is_of(const struct image_file *head, const struct image_origin *origin,
		      uint64_t size);

/*
 * Takes the image behind a head that image_file_is_of() accepts: its head->n_cells cells. Of the
 * statistics only the number of rows is set, and there are no refusals. Returns 0 with *ret owning
 * the cells, or -EBADMSG if they are damaged or not an image; the caller still owns them then.
 */
int image_file_take(const struct image_file *head, uint64_t *cells, struct image *ret);

#endif
