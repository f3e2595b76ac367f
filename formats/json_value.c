// SPDX-License-Identifier: Apache-2.0
#include "formats/json_value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

json_t *json_text(const char *text)
{
	json_t *json = json_string(text);
	_cleanup_free_ char *copy = NULL;

	/* json_string() refuses what is not UTF-8. */
	if (json)
		return json;
	copy = strdup(text);
	if (!copy)
		return NULL;
	text_make_utf8(copy);
	return json_string(copy);
}

json_t *json_label(const struct label *label)
{
	/* Recordings may say so of any text; what is no number in JSON is NULL. */
	json_t *decimal =
		label->text && label->is_decimal ? json_real(strtod(label->text, NULL)) : NULL;

	if (decimal)
		return decimal;
	return label->text ? json_text(label->text) : json_integer((json_int_t)label->number);
}

/* Keys that were cut may become equal: only one value remains then. */
void json_set_labels(json_t *json, const struct label_set *set)
{
	json_t *labels = set ? json_object() : json_null(), *units = json_object();
	struct label label;
	size_t at = 0;

	while (label_set_next(set, &at, &label)) {
		json_object_set_new(labels, label.key, json_label(&label));
		if (!label.text && *label.unit)
			json_object_set_new(units, label.key, json_text(label.unit));
	}
	json_object_set_new(json, "labels", labels);
	json_object_set_new(json, "labels_cut", json_boolean(set && set->is_cut));
	if (json_object_size(units) > 0)
		json_object_set(json, "label_units", units);
	json_decref(units);
}

json_t *json_hex(uint64_t value)
{
	return json_sprintf("0x%" PRIx64, value);
}

int json_write_text(const char *text, FILE *to)
{
	return json_write(json_text(text), JSON_ENCODE_ANY, to);
}

int json_write(json_t *json, size_t flags, FILE *to)
{
	int err = json && json_dumpf(json, to, flags) == 0 ? 0 : ferror(to) ? -EIO : -ENOMEM;

	json_decref(json);
	return err;
}
