// SPDX-License-Identifier: Apache-2.0
#include "cli/file_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/elf_labels.h"
#include "log/clock.h"
#include "tables/decode.h"

/* Rows and sections ascend, so a section that ends before a row is not needed for later rows. */
struct coverage {
	struct file_table *table;
	size_t first; /* first section that may contain the next row */
};

static int coverage_add(const struct image_row *row, void *arg)
{
	struct coverage *c = arg;
	const struct elf_section *s = c->table->elf.code_sections;
	const size_t n = c->table->elf.n_code_sections;

	c->table->n_rows++;
	if (row->rule.cfa == DP_CFA_NONE)
		return 0;
	while (c->first < n && s[c->first].address + s[c->first].size <= row->start)
		c->first++;
	for (size_t i = c->first; i < n && s[i].address < row->end; i++) {
		uint64_t start = s[i].address, end = start + s[i].size;

		if (start < row->start)
			start = row->start;
		if (end > row->end)
			end = row->end;
		if (start < end)
			c->table->covered[i] += end - start;
	}
	return 0;
}

static int build(struct file_table *table)
{
	uint64_t start = clock_now_ns();
	struct image_extent extent = table->elf.code;
	int err;

	extent.labels_form = elf_labels_find(&table->elf, &extent.variable, &extent.other_labels);
	err = image_build(&table->elf.cfi, &extent, &table->image);
	table->build_ns = clock_now_ns() - start;
	return err == -ENODATA ? 0 : err;
}

static int measure(struct file_table *table)
{
	struct coverage coverage = { .table = table };
	const size_t n = table->elf.n_code_sections;

	table->covered = calloc(n ? n : 1, sizeof(*table->covered));
	if (!table->covered)
		return -ENOMEM;
	if (table->image.n_cells > 0)
		image_for_each_row(&table->image, coverage_add, &coverage);
	for (size_t i = 0; i < n; i++) {
		table->code_bytes += table->elf.code_sections[i].size;
		table->covered_bytes += table->covered[i];
	}
	return 0;
}

int file_table_init(struct file_table *ret, const char *path)
{
	_cleanup_(file_table_done) struct file_table table = { .path = path };
	int err;

	table.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (table.fd < 0)
		return -errno;
	err = elf_file_init_fd(&table.elf, table.fd);
	if (err == 0)
		err = build(&table);
	if (err == 0)
		err = measure(&table);
	if (err < 0)
		return err;
	*ret = table;
	table = (struct file_table){ .fd = -1 };
	return 0;
}

void file_table_done(struct file_table *table)
{
	image_done(&table->image);
	if (table->elf.bytes)
		elf_file_done(&table->elf);
	free(table->covered);
	if (table->fd >= 0)
		close(table->fd);
	*table = (struct file_table){ .fd = -1 };
}

const char *file_table_error(int err)
{
	switch (err) {
	case -ENOEXEC:
		return "it is no ELF program or library";
	case -ENOTSUP:
		return "it is for another machine than " ELF_ARCH;
	case -EBADMSG:
		return "it is damaged or not complete";
	case -EFBIG:
		return "its code or its unwind information spans 4 GiB or more, or has too many CIEs";
	default:
		return strerror(-err);
	}
}

uint64_t file_table_size(const struct file_table *table)
{
	return (uint64_t)table->image.n_cells * DP_CELL_SIZE;
}
