// SPDX-License-Identifier: Apache-2.0
/* Writes an array with an object per file, as docs/FORMAT.md describes. */
#include <errno.h>

#include "cli/tables_form.h"
#include "formats/json_value.h"

static json_t *json_count(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *json_sections(const struct table_view *view)
{
	json_t *json = json_array();

	for (size_t i = 0; i < view->n_sections; i++) {
		const struct table_section *s = &table_view_sections(view)[i];
		json_t *section = json_object();

		json_object_set_new(section, "name", json_text(s->name));
		json_object_set_new(section, "address", json_hex(s->address));
		json_object_set_new(section, "size", json_count(s->size));
		json_object_set_new(section, "covered", json_count(s->covered));
		json_object_set_new(section, "uncovered", json_count(s->size - s->covered));
		json_array_append_new(json, section);
	}
	return json;
}

static json_t *json_refusals(const struct table_view *view)
{
	json_t *json = json_array();

	for (size_t i = 0; i < view->n_refusals; i++) {
		const struct image_refusal *r = &table_view_refusals(view)[i];
		json_t *row = json_object();

		json_object_set_new(row, "start", json_hex(r->start));
		json_object_set_new(row, "end", json_hex(r->end));
		json_object_set_new(row, "reason", json_string(rule_refusal_word(r->why)));
		if (r->why == RULE_CFI) {
			json_object_set_new(row, "cfi",
					    json_string(cfi_reason_word(r->cfi.reason)));
			json_object_set_new(row, "offset", json_count(r->cfi.offset));
		}
		json_array_append_new(json, row);
	}
	return json;
}

static json_t *json_table(const struct file_table *table)
{
	const struct table_view *view = table->view;
	const struct image_stats *stats = &view->stats;
	const char *build_id = view->build_id, *packer = view->packer;
	const uint64_t size = view->source_size;
	const bool is_debug_frame = view->is_debug_frame;
	json_t *json = json_object();

	json_object_set_new(json, "path", json_text(table->path));
	json_object_set_new(json, "arch", json_string(ELF_ARCH));
	json_object_set_new(json, "build_id", build_id[0] ? json_string(build_id) : json_null());
	json_object_set_new(json, "source",
			    json_string(elf_source_word((enum elf_source)view->source)));
	json_object_set_new(json, "source_bytes", json_count(size));
	json_object_set_new(json, "eh_frame_bytes", json_count(is_debug_frame ? 0 : size));
	json_object_set_new(json, "debug_frame_bytes",
			    json_count(is_debug_frame ? size : view->beside_size));
	json_object_set_new(json, "packed_by", packer[0] ? json_string(packer) : json_null());
	json_object_set_new(json, "fdes", json_count(stats->n_fdes));
	json_object_set_new(json, "bad_records", json_count(stats->n_bad_records));
	json_object_set_new(json, "rows", json_count(view->n_rows));
	json_object_set_new(json, "rules", json_count(stats->n_rules));
	json_object_set_new(json, "image_bytes", json_count(view->image_size));
	json_object_set_new(json, "build_ns", json_count(view->build_ns));
	json_object_set_new(json, "code_bytes", json_count(view->code_bytes));
	json_object_set_new(json, "covered", json_count(view->covered_bytes));
	json_object_set_new(json, "uncovered", json_count(view->code_bytes - view->covered_bytes));
	json_object_set_new(json, "labels", json_string(view->labels));
	json_object_set_new(json, "sections", json_sections(view));
	json_object_set_new(json, "inexpressible", json_refusals(view));
	return json;
}

static int write_object(struct tables_output *out, json_t *json)
{
	int err = json ? 0 : -ENOMEM;

	if (json) {
		fputs(out->n_objects++ > 0 ? ",\n" : "\n", out->to);
		json_dumpf(json, out->to, JSON_COMPACT);
	}
	json_decref(json);
	return err;
}

static void tables_json_begin(struct tables_output *out)
{
	fputc('[', out->to);
}

static int tables_json_add(struct tables_output *out, const struct file_table *table)
{
	return write_object(out, json_table(table));
}

static int tables_json_fail(struct tables_output *out, const char *path, const char *reason)
{
	json_t *json = json_object();

	json_object_set_new(json, "path", json_text(path));
	json_object_set_new(json, "error", json_string(reason));
	return write_object(out, json);
}

static void tables_json_finish(struct tables_output *out)
{
	fputs("\n]\n", out->to);
}

const struct tables_form tables_json = {
	.begin = tables_json_begin,
	.add = tables_json_add,
	.fail = tables_json_fail,
	.finish = tables_json_finish,
};
