// SPDX-License-Identifier: Apache-2.0
/*
 * usage: build [-n TIMES] [--libdw] FILE...
 *
 * The cost of building each file's table, as tab-separated values: CPU time (minimum of several
 * runs), in total and per row; peak heap memory, and its share of the limit, which is twice the
 * image plus the section that it is built from.
 *
 * With --libdw also libdw's time (minimum of three runs): dwarf_cfi_addrframe() at the start of
 * each row with a rule. For it, neighbours with equal rules count as one row: libdw_rows.
 */
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "bench/measure.h"
#include "elf/elf_file.h"
#include "elf/elf_open.h"
#include "tables/decode.h"

/* Fewer runs for libdw: it takes longer, and varies less. */
#define TIMES_LIBDW 3

struct addresses {
	uint64_t *items;
	size_t n, size;
};

static int add_start(const struct image_row *row, void *arg)
{
	struct addresses *a = arg;

	if (array_reserve(a->items, a->n, a->size) < 0)
		return -ENOMEM;
	a->items[a->n++] = row->start;
	return 0;
}

/* Lists the start of every row of a file's table. */
static int list_starts(const struct elf_file *file, struct addresses *ret)
{
	struct image image;
	int err = image_build(&file->cfi, &file->code, &image);

	if (err < 0)
		return err;
	err = image_for_each_row(&image, add_start, ret);
	image_done(&image);
	return err;
}

/* CPU time of libdw to find the row of each address. */
static int time_libdw(Elf *elf, const struct addresses *starts, uint64_t *ret)
{
	uint64_t start = cpu_ns();
	Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);

	if (!cfi)
		return -ENOTSUP;
	for (size_t i = 0; i < starts->n; i++) {
		Dwarf_Frame *frame = NULL;

		/* libdw lacks the rows of known code. */
		if (dwarf_cfi_addrframe(cfi, starts->items[i], &frame) == 0)
			free(frame);
	}
	dwarf_cfi_end(cfi);
	*ret = cpu_ns() - start;
	return 0;
}

static int print_libdw(const struct elf_file *file, Elf *elf, const struct measurement *m)
{
	struct addresses starts = { 0 };
	uint64_t ns, fastest = UINT64_MAX;
	int err = file->source == ELF_SOURCE_EH_FRAME ? list_starts(file, &starts) : -ENOTSUP;

	for (int i = 0; err == 0 && i < TIMES_LIBDW; i++) {
		err = time_libdw(elf, &starts, &ns);
		if (err == 0 && ns < fastest)
			fastest = ns;
	}
	if (err == 0)
		printf("\t%zu\t%" PRIu64 "\t%.1f", starts.n, fastest,
		       (double)fastest / (double)m->fastest_ns);
	free(starts.items);
	return err;
}

static int bench_file(const char *path, int times, bool libdw)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_file file;
	struct measurement m;
	int err = fd < 0 ? -errno : elf_file_init_fd(&file, fd);
	_cleanup_elf_ Elf *elf = err == 0 ? elf_open(fd) : NULL;

	if (err < 0)
		return err;
	err = measure_build(&file.cfi, &file.code, times, &m);
	if (err == 0) {
		const double rows = (double)m.stats.n_rows, bytes = (double)m.image_bytes;

		printf("%s\t%" PRIu64 "\t%zu\t%.3f\t%" PRIu64 "\t%.1f\t%" PRIu64 "\t%zu\t%.2f",
		       path, m.stats.n_rows, m.image_bytes, bytes / rows, m.fastest_ns,
		       (double)m.fastest_ns / rows, file.cfi.size, m.peak_bytes,
		       (double)m.peak_bytes / (2 * bytes + (double)file.cfi.size));
		if (libdw)
			err = print_libdw(&file, elf, &m);
		printf("\n");
	}
	elf_file_done(&file);
	return err;
}

static const struct option options[] = { { "libdw", no_argument, NULL, 'd' }, { 0 } };

int main(int argc, char **argv)
{
	bool libdw = false;
	int times = 10, option, failed = 0;

	while ((option = getopt_long(argc, argv, "n:", options, NULL)) == 'n' || option == 'd') {
		if (option == 'n')
			times = atoi(optarg);
		else
			libdw = true;
	}
	if (option != -1 || optind == argc || times < 1) {
		fprintf(stderr, "usage: build [-n TIMES] [--libdw] FILE...\n");
		return 2;
	}
	printf("file\trows\tbytes\tbytes_per_row\tns\tns_per_row\tsection_bytes\tpeak_bytes\t"
	       "peak_of_limit%s\n",
	       libdw ? "\tlibdw_rows\tlibdw_ns\tlibdw_ratio" : "");
	for (; optind < argc; optind++) {
		int err = bench_file(argv[optind], times, libdw);

		if (err < 0)
			fprintf(stderr, "%s: %s\n", argv[optind], strerror(-err));
		failed |= err < 0;
	}
	return failed;
}
