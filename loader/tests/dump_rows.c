// SPDX-License-Identifier: Apache-2.0
/*
 * Print the rows of the image built for an ELF file, decoded from its packed
 * form; then a line with the figures. For comparison with other readers.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "decode.h"
#include "elf_file.h"

static int print_row(const struct image_row *row, void *arg)
{
	image_row_print(row, 1, stdout);
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	_cleanup_close_ int fd = -1;
	struct elf_file file;
	struct image image;
	uint64_t start;
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: dump_rows FILE\n");
		return 2;
	}
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	err = fd < 0 ? -errno : elf_file_init_fd(&file, fd);
	if (err < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(-err));
		return 1;
	}
	start = now_ns();
	err = image_build(&file.eh_frame, &file.code, &image);
	if (err == 0) {
		fprintf(stderr,
			"rows %" PRIu64 " rules %" PRIu32 " saves %" PRIu32 " bytes %zu ns %" PRIu64
			" bad %" PRIu64,
			image.stats.n_rows, image.stats.n_rules, image.stats.n_saves,
			(size_t)image.n_cells * DP_CELL_SIZE, now_ns() - start,
			image.stats.n_bad_records);
		for (int i = 1; i < RULE_N_REFUSALS; i++)
			if (image.stats.refused[i].rows)
				fprintf(stderr, " %s %" PRIu64, rule_refusal_word(i),
					image.stats.refused[i].rows);
		fputc('\n', stderr);
		image_for_each_row(&image, print_row, NULL);
		image_done(&image);
	} else {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(-err));
	}
	elf_file_done(&file);
	return err < 0;
}
