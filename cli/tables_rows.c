// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "cli/tables_form.h"
#include "tables/decode.h"

static int print_row(const struct image_row *row, void *arg)
{
	struct tables_output *out = arg;

	image_row_print(row, out->regs, out->to);
	return 0;
}

static int rows_add(struct tables_output *out, const struct file_table *table)
{
	if (out->several) {
		fputs("# ", out->to);
		text_print_plain(out->to, table->path);
		fputc('\n', out->to);
	}
	if (table->image.n_cells > 0)
		image_for_each_row(&table->image, print_row, out);
	return 0;
}

const struct tables_form tables_rows = { .add = rows_add };
