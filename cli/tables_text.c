// SPDX-License-Identifier: Apache-2.0
/* Text output: a report on one file, or a line per file. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "cli/tables_form.h"

/* Returns 0 if `whole` is 0. */
static double ratio(uint64_t part, uint64_t whole)
{
	return whole > 0 ? (double)part / (double)whole : 0;
}

static double percent(uint64_t part, uint64_t whole)
{
	return 100 * ratio(part, whole);
}

static void print_section(const char *name, uint64_t size, uint64_t covered, FILE *to)
{
	char plain[TABLE_SECTION_NAME_SIZE];

	snprintf(plain, sizeof(plain), "%s", name);
	text_make_plain(plain);
	fprintf(to, "  %-24s %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %8.2f %%\n", plain, size,
		covered, size - covered, percent(covered, size));
}

static void print_sections(const struct table_view *view, FILE *to)
{
	fprintf(to, "\n  %-24s %12s %12s %12s\n", "section of code", "bytes", "covered",
		"uncovered");
	for (size_t i = 0; i < view->n_sections; i++) {
		const struct table_section *s = &table_view_sections(view)[i];

		print_section(s->name, s->size, s->covered, to);
	}
	print_section("all", view->code_bytes, view->covered_bytes, to);
}

/* What the words mean that are printed with RULE_CFI. */
static void print_cfi_reasons(const struct table_view *view, FILE *to)
{
	bool is_there[CFI_N_REASONS] = { false };

	for (size_t i = 0; i < view->n_refusals; i++) {
		const struct image_refusal *r = &table_view_refusals(view)[i];

		if (r->why == RULE_CFI)
			is_there[r->cfi.reason] = true;
	}
	for (enum cfi_reason i = CFI_NONE + 1; i < CFI_N_REASONS; i++)
		if (is_there[i])
			fprintf(to, "  %s: %s\n", cfi_reason_word(i), cfi_reason_sentence(i));
}

static void print_refusals(const struct table_view *view, FILE *to)
{
	if (view->n_refusals == 0) {
		fputs("\n  rows that cannot be expressed: none\n", to);
		return;
	}
	fprintf(to, "\n  rows that cannot be expressed: %" PRIu64 "\n", view->n_refusals);
	fprintf(to, "  %-16s %-16s %8s %10s  %s\n", "start", "end", "bytes", "of code", "reason");
	for (size_t i = 0; i < view->n_refusals; i++) {
		const struct image_refusal *r = &table_view_refusals(view)[i];

		fprintf(to, "  %-16" PRIx64 " %-16" PRIx64 " %8" PRIu64 " %8.4f %%  %s", r->start,
			r->end, r->end - r->start, percent(r->end - r->start, view->code_bytes),
			rule_refusal_word(r->why));
		if (r->why == RULE_CFI)
			fprintf(to, " (%s at byte %" PRIu64 " of %s)",
				cfi_reason_word(r->cfi.reason), r->cfi.offset,
				view->is_debug_frame ? ".debug_frame" : ".eh_frame");
		fputc('\n', to);
	}
	fputs("\n", to);
	for (int why = RULE_NONE + 1; why < RULE_N_REFUSALS; why++)
		if (view->stats.refused[why].rows > 0)
			fprintf(to, "  %s: %s\n", rule_refusal_word(why),
				rule_refusal_sentence(why));
	print_cfi_reasons(view, to);
}

/* Few programs have labels. */
static void print_labels(const struct table_view *view, FILE *to)
{
	if (strcmp(view->labels, "none") != 0)
		fprintf(to, "  labels          %s, at %s\n", view->labels, view->labels_at);
}

static void print_report(const struct file_table *table, FILE *to)
{
	const struct table_view *view = table->view;
	const struct image_stats *stats = &view->stats;

	text_print_plain(to, table->path);
	fprintf(to, "\n  arch            %s\n", ELF_ARCH);
	fprintf(to, "  build id        %s\n", view->build_id[0] ? view->build_id : "none");
	fprintf(to, "  source          %s, %" PRIu64 " bytes",
		elf_source_section((enum elf_source)view->source), view->source_size);
	if (view->beside_size > 0)
		fprintf(to, ", and .debug_frame, %" PRIu64 " bytes", view->beside_size);
	fputc('\n', to);
	if (view->packer[0])
		fprintf(to,
			"  packed by       %s: what it unpacks into memory runs without a table\n",
			view->packer);
	fprintf(to, "  FDEs            %" PRIu64 "\n", stats->n_fdes);
	if (stats->n_bad_records > 0)
		fprintf(to, "  bad records     %" PRIu64 "\n", stats->n_bad_records);
	fprintf(to, "  rows            %" PRIu64 "\n", view->n_rows);
	fprintf(to, "  distinct rules  %" PRIu32 "\n", stats->n_rules);
	fprintf(to, "  image           %" PRIu64 " bytes, %.2f per row\n", view->image_size,
		ratio(view->image_size, view->n_rows));
	fprintf(to, "  build time      %.2f ms, %.0f ns per row\n", (double)view->build_ns / 1e6,
		ratio(view->build_ns, view->n_rows));
	print_labels(view, to);
	print_sections(view, to);
	print_refusals(view, to);
}

static void text_begin(struct tables_output *out)
{
	if (out->several)
		fprintf(out->to, "%9s %12s %9s %7s %9s %13s  %s\n", "rows", "image bytes",
			"bytes/row", "ns/row", "covered", "inexpressible", "file");
}

static int text_add(struct tables_output *out, const struct file_table *table)
{
	const struct table_view *view = table->view;

	if (!out->several) {
		print_report(table, out->to);
		return 0;
	}
	fprintf(out->to, "%9" PRIu64 " %12" PRIu64 " %9.2f %7.0f %7.2f %% %13" PRIu64 "  ",
		view->n_rows, view->image_size, ratio(view->image_size, view->n_rows),
		ratio(view->build_ns, view->n_rows), percent(view->covered_bytes, view->code_bytes),
		view->n_refusals);
	text_print_plain(out->to, table->path);
	fputc('\n', out->to);
	return 0;
}

static void text_finish(struct tables_output *out)
{
	const struct tables_totals *t = &out->totals;

	if (out->several)
		fprintf(out->to,
			"total: %" PRIu64 " files, %" PRIu64 " rows, %" PRIu64 " image bytes, "
			"%.2f bytes per row, %.0f ns per row, %.2f %% covered, %" PRIu64
			" inexpressible rows\n",
			t->files, t->rows, t->image_bytes, ratio(t->image_bytes, t->rows),
			ratio(t->build_ns, t->rows), percent(t->covered_bytes, t->code_bytes),
			t->inexpressible);
}

const struct tables_form tables_text = {
	.begin = text_begin,
	.add = text_add,
	.finish = text_finish,
};
