// SPDX-License-Identifier: Apache-2.0
/*
 * usage: build [-n TIMES] FILE...
 *
 * How long it takes to make the table of each file: CPU time of the fastest of
 * some times, in all and per row, as tab-separated values.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf_file.h"

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Build once more; *fastest is brought down if it was quicker. */
static int build(const struct elf_file *file, uint64_t *fastest, struct image_stats *ret_stats,
		 size_t *ret_bytes)
{
	struct image image;
	uint64_t start = cpu_ns(), ns;
	int err = image_build(&file->cfi, &file->code, &image);

	if (err < 0)
		return err;
	ns = cpu_ns() - start;
	if (ns < *fastest)
		*fastest = ns;
	*ret_stats = image.stats;
	*ret_bytes = (size_t)image.n_cells * DP_CELL_SIZE;
	image_done(&image);
	return 0;
}

static int bench_file(const char *path, int times)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_file file;
	struct image_stats stats = { 0 };
	uint64_t fastest = UINT64_MAX;
	size_t bytes = 0;
	int err = fd < 0 ? -errno : elf_file_init_fd(&file, fd);

	if (err < 0)
		return err;
	for (int i = 0; err == 0 && i < times; i++)
		err = build(&file, &fastest, &stats, &bytes);
	if (err == 0)
		printf("%s\t%" PRIu64 "\t%zu\t%.3f\t%" PRIu64 "\t%.1f\n", path, stats.n_rows, bytes,
		       (double)bytes / (double)stats.n_rows, fastest,
		       (double)fastest / (double)stats.n_rows);
	elf_file_done(&file);
	return err;
}

int main(int argc, char **argv)
{
	int times = 10, option, failed = 0;

	while ((option = getopt(argc, argv, "n:")) == 'n')
		times = atoi(optarg);
	if (option != -1 || optind == argc || times < 1) {
		fprintf(stderr, "usage: build [-n TIMES] FILE...\n");
		return 2;
	}
	printf("file\trows\tbytes\tbytes_per_row\tns\tns_per_row\n");
	for (; optind < argc; optind++) {
		int err = bench_file(argv[optind], times);

		if (err < 0)
			fprintf(stderr, "%s: %s\n", argv[optind], strerror(-err));
		failed |= err < 0;
	}
	return failed;
}
