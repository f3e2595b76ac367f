// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "cli/tables_form.h"

static int rows_add(struct tables_output *out, const struct file_table *table)
{
	if (out->several) {
		fputs("# ", out->to);
		text_print_plain(out->to, table->path);
		fputc('\n', out->to);
	}
	fwrite(table_view_rows(table->view), 1, table->view->rows_size, out->to);
	return 0;
}

const struct tables_form tables_rows = { .add = rows_add };
