// SPDX-License-Identifier: Apache-2.0
/*
 * usage: lookup FILE...
 *        lookup -r ROWS FILE
 *
 * The kernel's cost of finding the rule of an address that is in no cache: random addresses of a
 * file's code, looked up in the image and in a table of plain rows of 4 bytes (lookup_request.h)
 * with the same content. Tab-separated: nanoseconds per look-up in both (median of several runs),
 * and their ratio. Both must find the same rules. With -r, in tables of 1,000 to ROWS rows, which
 * copies.h makes from the file's unwind information; the number of rows replaces the name.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "bench/copies.h"
#include "elf/elf_file.h"
#include "kernel/pool.h"
#include "tables/decode.h"

#include "bench/lookup_request.h"

#include "bpf/lookup_row.h"
#include "lookup.skel.h"

#define N_RUNS 15
#define N_LOOKUPS (1 << 18)
#define SEGMENT_MAP_SIZE (DP_SEGMENT_SIZE + DP_SEGMENT_SLACK)

struct walk {
	struct port_world world;
};

struct bench {
	struct lookup_bpf *bpf;
	struct pool pool;
	struct port_user port;
	struct walk walk;
	uint32_t image, plain; /* their cells */
};

static int add_segment(void *arg, uint32_t index, uint8_t **ret)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	struct bench *b = arg;
	_cleanup_close_ int fd =
		bpf_map_create(BPF_MAP_TYPE_ARRAY, "dp_segment", 4, SEGMENT_MAP_SIZE, 1, &opts);

	if (fd < 0 || bpf_map_update_elem(bpf_map__fd(b->bpf->maps.dp_pool), &index, &fd, 0) < 0)
		return -errno;
	*ret = mmap(NULL, SEGMENT_MAP_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return *ret == MAP_FAILED ? -errno : 0;
}

/* The plain table under construction. */
struct plain {
	struct bench *bench;
	uint64_t base;
	struct plain_page *pages;
	size_t n_pages, pages_size;
	struct plain_row *rows;
	size_t n_rows, rows_size;
	uint16_t rule;
};

static int plain_add(struct plain *p, uint64_t pc, uint16_t rule)
{
	while (p->n_pages <= (pc - p->base) >> PLAIN_PAGE_BITS) {
		if (array_reserve(p->pages, p->n_pages, p->pages_size) < 0)
			return -ENOMEM;
		p->pages[p->n_pages++] = (struct plain_page){ .rule = p->rule };
	}
	p->rule = rule;
	if ((pc & (PLAIN_PAGE_SIZE - 1)) == 0) {
		p->pages[p->n_pages - 1].rule = rule;
		return 0;
	}
	if (array_reserve(p->rows, p->n_rows, p->rows_size) < 0)
		return -ENOMEM;
	p->rows[p->n_rows++] = (struct plain_row){ pc & (PLAIN_PAGE_SIZE - 1), rule };
	p->pages[p->n_pages - 1].n_rows++;
	return 0;
}

static uint16_t rule_at(struct bench *b, uint64_t address)
{
	return (uint16_t)lookup_rule_number(&b->walk.world, b->image, address);
}

static int plain_add_row(const struct image_row *row, void *arg)
{
	struct plain *p = arg;
	int err = plain_add(p, row->start, rule_at(p->bench, row->start));

	/* The next row may start here and replace this one. */
	if (err == 0 && rule_at(p->bench, row->end) == DP_RULE_NONE)
		err = plain_add(p, row->end, DP_RULE_NONE);
	return err;
}

/* Copies the table into the pool. The rows of a page must not cross a segment boundary. */
static int plain_load(struct plain *p, uint32_t *ret_cell)
{
	struct plain_table table = {
		.base = p->base,
		.n_pages = (uint32_t)p->n_pages,
		.pages = sizeof(table) / DP_CELL_SIZE,
	};
	uint32_t cell = table.pages + table.n_pages;
	const struct plain_row *row = p->rows;
	int err;

	for (size_t i = 0; i < p->n_pages; i++) {
		uint32_t n = (p->pages[i].n_rows + 1U) / 2;

		if (n > 0 && cell / DP_SEGMENT_CELLS != (cell + n - 1) / DP_SEGMENT_CELLS)
			cell = (cell / DP_SEGMENT_CELLS + 1) * DP_SEGMENT_CELLS;
		p->pages[i].rows = cell;
		cell += n;
	}
	/* More than a segment, so that it starts at one. */
	err = pool_alloc(&p->bench->pool, cell > DP_SEGMENT_CELLS ? cell : DP_SEGMENT_CELLS + 1,
			 ret_cell);
	if (err < 0)
		return err;
	pool_write(&p->bench->pool, *ret_cell, &table, table.pages);
	pool_write(&p->bench->pool, *ret_cell + table.pages, p->pages, table.n_pages);
	for (size_t i = 0; i < p->n_pages; i++) {
		struct plain_row copy[PLAIN_PAGE_SIZE] = { 0 };

		memcpy(copy, row, p->pages[i].n_rows * sizeof(*row));
		pool_write(&p->bench->pool, *ret_cell + p->pages[i].rows, copy,
			   (p->pages[i].n_rows + 1U) / 2);
		row += p->pages[i].n_rows;
	}
	return 0;
}

/* Picks random addresses of code with a rule. */
static int fill_addresses(struct bench *b, const struct image_input *code)
{
	uint64_t *to = mmap(NULL, LOOKUP_ADDRESSES * sizeof(*to), PROT_READ | PROT_WRITE,
			    MAP_SHARED, bpf_map__fd(b->bpf->maps.addresses), 0);
	unsigned int seed = 1;

	if (to == MAP_FAILED)
		return -errno;
	for (size_t i = 0; i < LOOKUP_ADDRESSES;) {
		uint64_t r = (uint64_t)rand_r(&seed) << 31 | (uint64_t)rand_r(&seed);

		to[i] = code->start + r % (code->end - code->start);
		i += rule_at(b, to[i]) != DP_RULE_NONE;
	}
	munmap(to, LOOKUP_ADDRESSES * sizeof(*to));
	return 0;
}

static int run(struct bpf_program *program, uint32_t cell, struct lookup_request *ret)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = ret, .ctx_size_in = sizeof(*ret));

	*ret = (struct lookup_request){ .cell = cell, .n_lookups = N_LOOKUPS };
	return bpf_prog_test_run_opts(bpf_program__fd(program), &opts);
}

static int double_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double values[N_RUNS])
{
	qsort(values, N_RUNS, sizeof(*values), double_compare);
	return values[N_RUNS / 2];
}

/* Runs the three alternately, so that other load affects all. */
static int measure(struct bench *b, const char *path)
{
	double dense[N_RUNS], plain[N_RUNS];

	for (int i = 0; i < N_RUNS; i++) {
		struct lookup_request d, p, nothing;

		if (run(b->bpf->progs.lookup_nothing, 0, &nothing) < 0 ||
		    run(b->bpf->progs.lookup_dense, b->image, &d) < 0 ||
		    run(b->bpf->progs.lookup_plain, b->plain, &p) < 0)
			return -errno;
		if (d.sum != p.sum) {
			fprintf(stderr, "%s: the tables differ\n", path);
			return -EBADMSG;
		}
		dense[i] = ((double)d.ns - (double)nothing.ns) / N_LOOKUPS;
		plain[i] = ((double)p.ns - (double)nothing.ns) / N_LOOKUPS;
	}
	printf("%s\t%.1f\t%.1f\t%.2f\n", path, median(dense), median(plain),
	       median(dense) / median(plain));
	return 0;
}

static int bench_image(struct bench *b, const struct image *image, const struct image_input *code,
		       const char *path)
{
	struct plain plain = { .bench = b };
	int err;

	b->bpf = lookup_bpf__open_and_load();
	if (!b->bpf)
		return -errno;
	pool_init(&b->pool, add_segment, b);
	b->walk.world.user = &b->port;
	err = pool_alloc(&b->pool, image->n_cells, &b->image);
	if (err == 0) {
		pool_write(&b->pool, b->image, image->cells, image->n_cells);
		b->port.segments = b->pool.segments;
		b->port.n_segments = (uint32_t)b->pool.n_segments;
		plain.base = code->start & ~(uint64_t)(PLAIN_PAGE_SIZE - 1);
		err = image_for_each_row(image, plain_add_row, &plain);
	}
	if (err == 0)
		err = fill_addresses(b, code);
	if (err == 0)
		err = plain_load(&plain, &b->plain);
	if (err == 0)
		err = measure(b, path);
	for (size_t i = 0; i < b->pool.n_segments; i++)
		munmap(b->pool.segments[i], SEGMENT_MAP_SIZE);
	pool_done(&b->pool);
	lookup_bpf__destroy(b->bpf);
	free(plain.pages);
	free(plain.rows);
	return err;
}

static int bench_rows(const struct copies_source *source, size_t n_fdes)
{
	struct copies copies;
	struct bench b = { 0 };
	struct image image;
	char name[32];
	int err = copies_init(&copies, source, n_fdes);

	if (err < 0)
		return err;
	err = image_build(&copies.section, &copies.input, &image);
	if (err == 0) {
		snprintf(name, sizeof(name), "%" PRIu64, image.stats.n_rows);
		err = bench_image(&b, &image, &copies.input, name);
		fflush(stdout);
		image_done(&image);
	}
	copies_done(&copies);
	return err;
}

/* 1, 10, 100 thousand rows and so on, and ROWS itself. */
static int bench_sizes(const char *path, uint64_t max_rows)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct copies_source source;
	struct elf_file file;
	struct image image;
	int err = fd < 0 ? -errno : elf_file_init_fd(&file, fd);

	if (err < 0)
		return err;
	err = image_build(&file.cfi, &file.code, &image);
	if (err == 0) {
		uint64_t rows = image.stats.n_rows;

		image_done(&image);
		err = copies_source_init(&source, &file);
		for (uint64_t n = 1000; err == 0 && n < max_rows; n *= 10)
			err = bench_rows(&source, (size_t)(n * source.n_fdes / rows) + 1);
		if (err == 0)
			err = bench_rows(&source, (size_t)(max_rows * source.n_fdes / rows) + 1);
		copies_source_done(&source);
	}
	elf_file_done(&file);
	return err;
}

static int bench_file(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct bench b = { 0 };
	struct elf_file file;
	struct image image;
	int err = fd < 0 ? -errno : elf_file_init_fd(&file, fd);

	if (err < 0)
		return err;
	err = image_build(&file.cfi, &file.code, &image);
	if (err == 0) {
		err = bench_image(&b, &image, &file.code, path);
		image_done(&image);
	}
	elf_file_done(&file);
	return err;
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: lookup FILE...\n       lookup -r ROWS FILE\n");
		return 2;
	}
	printf("file\timage_ns\tplain_ns\tratio\n");
	if (argc == 4 && strcmp(argv[1], "-r") == 0) {
		failed = bench_sizes(argv[3], strtoull(argv[2], NULL, 10));
		if (failed < 0)
			fprintf(stderr, "%s: %s\n", argv[3], strerror(-failed));
		return failed < 0;
	}
	for (int i = 1; i < argc; i++) {
		int err = bench_file(argv[i]);

		if (err < 0)
			fprintf(stderr, "%s: %s\n", argv[i], strerror(-err));
		failed |= err < 0;
	}
	return failed;
}
