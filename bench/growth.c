// SPDX-License-Identifier: Apache-2.0
/*
 * usage: growth [-n TIMES] [-r ROWS] FILE
 *
 * The cost of building tables of 1,000 to ROWS rows (default: 5 million) from a file's unwind
 * information, resized by copies.h. Writes tab-separated values, a line per size: CPU time (median
 * and minimum of TIMES runs, default: 11), and peak heap memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/copies.h"
#include "bench/measure.h"

#define MIN_ROWS 1000
#define MAX_ROWS 5000000

static int measure_copies(const struct copies_source *source, size_t n_fdes, int times,
			  struct measurement *ret, size_t *ret_section_bytes)
{
	struct copies copies;
	int err = copies_init(&copies, source, n_fdes);

	if (err < 0)
		return err;
	*ret_section_bytes = copies.section.size;
	err = measure_build(&copies.section, &copies.input, times, ret);
	copies_done(&copies);
	return err;
}

/* A single copy must give the same image as the file's own section. *ret_rows: its rows. */
static int check_copy(const struct copies_source *source, uint64_t *ret_rows)
{
	_cleanup_(copies_done) struct copies copies = { 0 };
	_cleanup_(image_done) struct image image = { 0 }, original = { 0 };
	int err = copies_init(&copies, source, source->n_fdes);

	if (err == 0)
		err = image_build(&copies.section, &copies.input, &image);
	if (err == 0)
		err = image_build(&source->file->cfi, &copies.input, &original);
	if (err < 0)
		return err;
	*ret_rows = image.stats.n_rows;
	if (image.n_cells == original.n_cells &&
	    memcmp(image.cells, original.cells, image.n_cells * sizeof(*image.cells)) == 0)
		return 0;
	fprintf(stderr, "the image of the copy differs from the file's\n");
	return -EBADMSG;
}

static void print_size(const struct measurement *m, size_t section_bytes)
{
	const double rows = (double)m->stats.n_rows;

	printf("%" PRIu64 "\t%" PRIu64 "\t%zu\t%zu\t%" PRIu64 "\t%.1f\t%.1f\t%zu\t%.2f\n",
	       m->stats.n_rows, m->stats.n_fdes, section_bytes, m->image_bytes, m->median_ns,
	       (double)m->median_ns / rows, (double)m->fastest_ns / rows, m->peak_bytes,
	       (double)m->peak_bytes / rows);
	fflush(stdout);
}

/* 1, 2, and 5 thousand rows, and so on. */
static int measure_sizes(const struct copies_source *source, int times, uint64_t max_rows)
{
	static const uint64_t steps[] = { 1, 2, 5 };
	struct measurement m;
	size_t section_bytes;
	uint64_t rows;
	int err = check_copy(source, &rows);

	if (err < 0)
		return err;
	printf("rows\tfdes\tsection_bytes\timage_bytes\tns\tns_per_row\tfastest_ns_per_row\t"
	       "peak_bytes\tpeak_bytes_per_row\n");
	for (uint64_t ten = MIN_ROWS; err == 0 && ten <= max_rows; ten *= 10) {
		for (size_t i = 0; err == 0 && i < 3 && steps[i] * ten <= max_rows; i++) {
			size_t n_fdes = (size_t)(steps[i] * ten * source->n_fdes / rows) + 1;

			err = measure_copies(source, n_fdes, times, &m, &section_bytes);
			if (err == 0)
				print_size(&m, section_bytes);
		}
	}
	return err;
}

static int bench_growth(const char *path, int times, uint64_t max_rows)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct copies_source source;
	struct elf_file file;
	int err = fd < 0 ? -errno : elf_file_init_fd(&file, fd);

	if (err < 0)
		return err;
	err = copies_source_init(&source, &file);
	if (err == 0) {
		err = measure_sizes(&source, times, max_rows);
		copies_source_done(&source);
	}
	elf_file_done(&file);
	return err;
}

int main(int argc, char **argv)
{
	uint64_t max_rows = MAX_ROWS;
	int times = 11, option, err;

	while ((option = getopt(argc, argv, "n:r:")) == 'n' || option == 'r') {
		if (option == 'n')
			times = atoi(optarg);
		else
			max_rows = strtoull(optarg, NULL, 10);
	}
	if (option != -1 || optind != argc - 1 || times < 1 || max_rows < MIN_ROWS) {
		fprintf(stderr, "usage: growth [-n TIMES] [-r ROWS] FILE\n");
		return 2;
	}
	err = bench_growth(argv[optind], times, max_rows);
	if (err < 0)
		fprintf(stderr, "%s: %s\n", argv[optind], strerror(-err));
	return err < 0;
}
