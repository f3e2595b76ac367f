/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_TESTS_FUZZ_LOADED_H
#define DP_TABLES_TESTS_FUZZ_LOADED_H

#include "bpf/walk.h"
#include "cfi/tests/fuzz.h"
#include "tables/image.h"

/* A pool with one process, which has one image mapped at the addresses of its file. */

#define N_SEGMENTS 32
#define SPACE_CELL 4U
#define SNAPSHOT_ID 1

static struct port_user port;
static uint8_t *segments[N_SEGMENTS];
static struct walk walker;

/* Places an image at the end of a segment, if it fits, so that nothing behind it can be read. */
static uint32_t place(const struct image *image)
{
	return image->n_cells <= DP_SEGMENT_CELLS ? 2 * DP_SEGMENT_CELLS - image->n_cells :
						    DP_SEGMENT_CELLS;
}

/* Only the image is written: a sanitizer finds reads of anything else. */
static void put_image(const struct image *image)
{
	const uint8_t *from = (const uint8_t *)image->cells;
	size_t left = (size_t)image->n_cells * DP_CELL_SIZE;
	size_t at = (size_t)place(image) * DP_CELL_SIZE;

	for (port.n_segments = 1; left > 0; port.n_segments++) {
		size_t offset = at % DP_SEGMENT_SIZE;
		size_t some = left < DP_SEGMENT_SIZE - offset ? left : DP_SEGMENT_SIZE - offset;

		EXPECT(port.n_segments < N_SEGMENTS);
		segments[port.n_segments] = malloc(DP_SEGMENT_SIZE);
		EXPECT(segments[port.n_segments]);
		memcpy(segments[port.n_segments] + offset, from, some);
		from += some;
		at += some;
		left -= some;
	}
}

/* `read` is how the walked process's memory is read. */
static void load(const struct image *image,
		 int (*read)(struct port_user *port, void *dst, uint32_t size, uint64_t address))
{
	struct {
		struct dp_snapshot snapshot;
		struct dp_mapping mapping;
	} process = {
		{ .id = SNAPSHOT_ID, .pid = 1, .n_mappings = 1, .memory_map = SNAPSHOT_ID },
		{ .end = UINT64_MAX, .image = place(image) },
	};

	port = (struct port_user){ .read = read, .segments = segments };
	walker.world.user = &port;
	walker.in.snapshot = walker.in.memory_map = SNAPSHOT_ID;
	walker.in.snapshot_cell = SPACE_CELL;
	segments[0] = malloc(DP_SEGMENT_SIZE);
	EXPECT(segments[0]);
	memcpy(segments[0] + SPACE_CELL * DP_CELL_SIZE, &process, sizeof(process));
	put_image(image);
}

static void unload(void)
{
	for (uint32_t i = 0; i < port.n_segments; i++)
		free(segments[i]);
}

#endif
