// SPDX-License-Identifier: Apache-2.0
/*
 * usage: tricks FILE-OR-DIRECTORY...
 *
 * What each trick of the image's format saves. Builds the images of all files and decodes them
 * delta by delta. Each line says how large they would be if one thing were encoded in the next
 * simpler way. Bytes per row of the images, including gaps.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/elf_file.h"

/*
 * Bytes that an image would grow (or shrink) by without each trick.
 *
 *    X(enumerator, the trick, and what replaces it)
 */
#define TRICKS(X)                                                                                  \
	X(SUCCESSORS, "successors: each row has its rule's number in two bytes")                   \
	X(PADDING, "padding: a function's end and the next one's start are two deltas")            \
	X(NIBBLES, "nibbles of distance: it has a byte, or after a 0 two more")                    \
	X(STARTS, "starts: each anchor has two bytes of state")                                    \
	X(STRIDE, "stride: each anchor has two bytes of place")                                    \
	X(WORDS, "words: all rules are 40 bytes")                                                  \
	X(DELTAS, "deltas: rows of four bytes, searched by halves in their page")                  \
	X(PAGES, "deltas and pages: rows of six bytes, four of them address")

#define X(name, text) TRICK_##name,
enum trick { TRICKS(X) N_TRICKS };
#undef X

static struct {
	uint64_t n_files, n_rows, bytes;
	int64_t more[N_TRICKS];
} sum;

/* An image that is being decoded. */
struct reading {
	const uint8_t *bytes;
	const struct dp_image *head;
	int64_t more[N_TRICKS];
	int64_t data_bytes; /* pages, anchors and rows */
};

/* Bytes of a distance, counting the half byte in the rule as one. */
static int64_t distance_size(uint32_t distance)
{
	if (distance < 15)
		return 1;
	return distance < 15 + 256 ? 2 : 3;
}

static int64_t plain_distance_size(uint32_t distance)
{
	return distance < 256 ? 1 : 3;
}

/* Decodes one delta and returns the next one. *pc moves from the previous row to this one. */
static const uint8_t *read_delta(struct reading *r, const uint8_t *at, uint32_t *pc)
{
	uint8_t delta = *at++, code = delta >> 4;
	uint32_t distance = delta & 15, aligned;

	if (distance == DWARF_DELTA_WORD) {
		distance = (uint32_t)(at[0] | at[1] << 8);
		at += 2;
	} else if (distance == DWARF_DELTA_BYTE) {
		distance = 15U + *at++;
	} else {
		distance++;
	}
	*pc += distance;
	/* The code's half byte becomes a byte. */
	r->more[TRICK_NIBBLES] += 1 + plain_distance_size(distance) - distance_size(distance);
	if (code == DWARF_DELTA_NUMBER)
		return at + 2;
	r->more[TRICK_SUCCESSORS] += 2;
	if (code == DWARF_DELTA_PADDING) {
		aligned = (*pc + DWARF_DELTA_ALIGN - 1) & ~(DWARF_DELTA_ALIGN - 1U);
		r->more[TRICK_PADDING] += distance_size(aligned - *pc);
		*pc = aligned;
	}
	return at;
}

static void read_page(struct reading *r, const struct dp_page *page)
{
	const struct dp_anchor *anchor = (const void *)(r->bytes + page->data);
	uint32_t n = DP_PAGE_SIZE >> page->block_bits;
	const uint8_t *rows = (const uint8_t *)(anchor + n) + 1, *at, *end = rows;

	if (page->data == 0)
		return;
	for (uint32_t i = 0; i < n; i++, anchor++) {
		uint32_t pc = i << page->block_bits;

		at = rows + i * page->stride + anchor[0].at;
		end = rows + (i + 1) * page->stride + anchor[1].at;
		if (anchor->start == DP_START_APART)
			at += 2;
		r->more[TRICK_STARTS] += anchor->start == DP_START_APART ? -1 : 1;
		while (at < end && *at != DWARF_DELTA_END)
			at = read_delta(r, at, &pc);
		r->more[TRICK_STRIDE] += 1 - (end - at);
	}
	r->more[TRICK_STRIDE]++; /* at the end of the last block */
	r->data_bytes += end - (r->bytes + page->data);
}

static void read_image(const struct image *image)
{
	struct reading r = { .bytes = (const void *)image->cells,
			     .head = (const void *)image->cells };
	const struct dp_image *head = r.head;
	const struct dp_page *pages = (const void *)(image->cells + head->pages);
	const uint64_t *words = image->cells + head->rules;
	int64_t successors =
		(int64_t)(head->starts - head->states) * DP_CELL_SIZE - head->n_rules * 2;
	int64_t starts = (int64_t)(head->pages - head->starts) * DP_CELL_SIZE;
	int64_t pages_size = (int64_t)(head->n_pages * sizeof(*pages));
	int64_t n_rows = (int64_t)image->stats.n_rows;

	for (uint32_t i = 0; i < head->n_pages; i++)
		read_page(&r, &pages[i]);
	for (uint32_t i = 0; i < head->n_rules; i++)
		r.more[TRICK_WORDS] += (words[i] & ((1 << DP_FORM_BITS) - 1)) == DP_FORM_FULL ?
					       -DP_CELL_SIZE :
					       (int64_t)sizeof(struct dp_rule) - DP_CELL_SIZE;
	r.more[TRICK_SUCCESSORS] -= successors;
	r.more[TRICK_STARTS] -= starts;
	r.more[TRICK_DELTAS] = 4 * n_rows - r.data_bytes - successors - starts;
	r.more[TRICK_PAGES] = 6 * n_rows - r.data_bytes - successors - starts - pages_size;

	sum.n_files++;
	sum.n_rows += image->stats.n_rows;
	sum.bytes += (uint64_t)image->n_cells * DP_CELL_SIZE;
	for (int i = 0; i < N_TRICKS; i++)
		sum.more[i] += r.more[i];
}

/* Skips files without a table. */
static int add_file(const char *path, const struct stat *status, int type, struct FTW *where)
{
	_cleanup_close_ int fd = -1;
	struct elf_file file;
	struct image image;

	if (type != FTW_F || !S_ISREG(status->st_mode))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || elf_file_init_fd(&file, fd) < 0)
		return 0;
	if (image_build(&file.cfi, &file.code, &image) == 0) {
		read_image(&image);
		image_done(&image);
	}
	elf_file_done(&file);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const texts[] = {
#define X(name, text) text,
		TRICKS(X)
#undef X
	};
	double n_rows;

	if (argc < 2) {
		fprintf(stderr, "usage: tricks FILE-OR-DIRECTORY...\n");
		return 2;
	}
	for (int i = 1; i < argc; i++)
		if (nftw(argv[i], add_file, 64, FTW_PHYS) != 0)
			fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
	n_rows = (double)sum.n_rows;
	if (sum.n_rows == 0)
		return 1;
	printf("%" PRIu64 " files, %" PRIu64 " rows, %" PRIu64 " bytes\n\n", sum.n_files,
	       sum.n_rows, sum.bytes);
	printf("| without | bytes per row | more |\n|---|--:|--:|\n");
	printf("| (as it is) | %.3f | |\n", (double)sum.bytes / n_rows);
	for (int i = 0; i < N_TRICKS; i++)
		printf("| %s | %.3f | %+.3f |\n", texts[i],
		       (double)((int64_t)sum.bytes + sum.more[i]) / n_rows,
		       (double)sum.more[i] / n_rows);
	return 0;
}
