// SPDX-License-Identifier: Apache-2.0
#include "formats/otlp_dictionary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"

/* The elements, as they are compared: without padding, and of numbers in the other tables. */
struct attribute {
	int64_t number;
	int32_t key, text, unit;
	int32_t has_text; /* or, if it is a number, is in decimal */
	int32_t is_decimal, unused;
};

struct binary {
	uint64_t start, limit, offset;
	int32_t file, n_attributes;
	int32_t attributes[2];
};

struct function {
	int32_t name, linker_name, file;
};

struct place {
	uint64_t address;
	int32_t mapping, frame_type;
	struct place_line {
		int32_t function;
		uint32_t line, column;
	} lines[];
};

struct sink {
	ProtobufCBuffer base;
	struct bytes *to;
};

static void sink_append(ProtobufCBuffer *buffer, size_t size, const uint8_t *data)
{
	bytes_put(((struct sink *)buffer)->to, data, size);
}

void otlp_pack(const ProtobufCMessage *message, struct bytes *to)
{
	struct sink sink = { { sink_append }, to };

	(void)protobuf_c_message_pack_to_buffer(message, &sink.base);
}

/* Packs a dictionary that has one element more. */
static int put(struct otlp_dictionary *d, const Otlp__ProfilesDictionary *part)
{
	otlp_pack(&part->base, &d->packed);
	return d->packed.failed ? -ENOMEM : 0;
}

/* Adds an element to a table; *ret_new: it was not there. */
static int add(struct element_table *table, const void *bytes, size_t size, int32_t *ret,
	       bool *ret_new)
{
	size_t before = HASH_COUNT(table->elements);
	uint32_t number;
	int err = element_table_add(table, bytes, size, &number);

	if (err < 0)
		return err;
	if (number > INT32_MAX)
		return -EOVERFLOW;
	*ret = (int32_t)number;
	*ret_new = HASH_COUNT(table->elements) > before;
	return 0;
}

static int put_string(struct otlp_dictionary *d, const char *text, int32_t *ret)
{
	Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
	char *strings[] = { (char *)text }; /* only read */
	size_t before = d->strings.n;
	uint32_t number;
	int err = string_table_add(&d->strings, text, &number);

	if (err < 0)
		return err;
	if (number > INT32_MAX)
		return -EOVERFLOW;
	*ret = (int32_t)number;
	if (d->strings.n == before)
		return 0;
	part.n_string_table = 1;
	part.string_table = strings;
	return put(d, &part);
}

int otlp_string(struct otlp_dictionary *d, const char *text, int32_t *ret)
{
	_cleanup_free_ char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	text_make_plain(copy);
	return put_string(d, copy, ret);
}

/* Texts of attributes are inline in them, and in a table only to be compared. */
static int add_text(struct otlp_dictionary *d, const char *text, int32_t *ret)
{
	_cleanup_free_ char *copy = strdup(text);
	uint32_t number;
	int err;

	if (!copy)
		return -ENOMEM;
	text_make_plain(copy);
	err = string_table_add(&d->texts, copy, &number);
	*ret = (int32_t)number;
	return err == 0 && number > INT32_MAX ? -EOVERFLOW : err;
}

static int put_attribute(struct otlp_dictionary *d, const struct attribute *a)
{
	Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
	Otlp__KeyValueAndUnit attribute = OTLP__KEY_VALUE_AND_UNIT__INIT;
	Otlp__KeyValueAndUnit *attributes[] = { &attribute };
	Otlp__AnyValue value = OTLP__ANY_VALUE__INIT;

	attribute.key_strindex = a->key;
	attribute.unit_strindex = a->unit;
	if (a->is_decimal) {
		value.value_case = OTLP__ANY_VALUE__VALUE_DOUBLE_VALUE;
		value.double_value = strtod(d->texts.strings[a->text], NULL);
	} else if (a->has_text) {
		value.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
		value.string_value = (char *)d->texts.strings[a->text]; /* only read */
	} else {
		value.value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
		value.int_value = a->number;
	}
	if (a->key > 0)
		attribute.value = &value;
	part.n_attribute_table = 1;
	part.attribute_table = attributes;
	return put(d, &part);
}

/* ids: the trace's and the span's; NULL: none. */
static int put_link(struct otlp_dictionary *d, const uint8_t *ids)
{
	Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
	Otlp__Link link = OTLP__LINK__INIT, *links[] = { &link };

	if (ids) {
		link.trace_id = (ProtobufCBinaryData){ 16, (uint8_t *)ids };
		link.span_id = (ProtobufCBinaryData){ 8, (uint8_t *)ids + 16 };
	}
	part.n_link_table = 1;
	part.link_table = links;
	return put(d, &part);
}

static int put_mapping(struct otlp_dictionary *d, struct binary *b)
{
	Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
	Otlp__Mapping mapping = OTLP__MAPPING__INIT, *mappings[] = { &mapping };

	mapping.memory_start = b->start;
	mapping.memory_limit = b->limit;
	mapping.file_offset = b->offset;
	mapping.filename_strindex = b->file;
	mapping.n_attribute_indices = (size_t)b->n_attributes;
	mapping.attribute_indices = b->attributes;
	part.n_mapping_table = 1;
	part.mapping_table = mappings;
	return put(d, &part);
}

static int put_function(struct otlp_dictionary *d, const struct function *f)
{
	Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
	Otlp__Function function = OTLP__FUNCTION__INIT, *functions[] = { &function };

	function.name_strindex = f->name;
	function.system_name_strindex = f->linker_name;
	function.filename_strindex = f->file;
	part.n_function_table = 1;
	part.function_table = functions;
	return put(d, &part);
}

static int put_location(struct otlp_dictionary *d, struct place *place, size_t n)
{
	Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
	Otlp__Location location = OTLP__LOCATION__INIT, *locations[] = { &location };
	_cleanup_free_ Otlp__Line **pointers = calloc(n + 1, sizeof(*pointers));
	_cleanup_free_ Otlp__Line *lines = calloc(n + 1, sizeof(*lines));

	if (!pointers || !lines)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		otlp__line__init(&lines[i]);
		lines[i].function_index = place->lines[i].function;
		lines[i].line = place->lines[i].line;
		lines[i].column = place->lines[i].column;
		pointers[i] = &lines[i];
	}
	location.mapping_index = place->mapping;
	location.address = place->address;
	location.n_lines = n;
	location.lines = pointers;
	location.n_attribute_indices = place->frame_type > 0;
	location.attribute_indices = &place->frame_type;
	part.n_location_table = 1;
	part.location_table = locations;
	return put(d, &part);
}

static int put_stack(struct otlp_dictionary *d, const int32_t *locations, size_t n)
{
	Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
	Otlp__Stack stack = OTLP__STACK__INIT, *stacks[] = { &stack };

	stack.n_location_indices = n;
	stack.location_indices = (int32_t *)locations; /* only read */
	part.n_stack_table = 1;
	part.stack_table = stacks;
	return put(d, &part);
}

/* Each table's zero value. */
static int put_zeros(struct otlp_dictionary *d)
{
	static const uint8_t no_ids[24];
	struct attribute attribute = { 0 };
	struct binary binary = { 0 };
	struct function function = { 0 };
	struct place place = { 0 };
	int32_t number;
	bool is_new;
	int err = put_string(d, "", &number);

	if (err < 0 || add(&d->attributes, &attribute, sizeof(attribute), &number, &is_new) < 0 ||
	    add(&d->links, no_ids, sizeof(no_ids), &number, &is_new) < 0 ||
	    add(&d->mappings, &binary, sizeof(binary), &number, &is_new) < 0 ||
	    add(&d->functions, &function, sizeof(function), &number, &is_new) < 0 ||
	    add(&d->locations, &place, sizeof(place), &number, &is_new) < 0 ||
	    add(&d->stacks, "", 0, &number, &is_new) < 0)
		return -ENOMEM;
	err = put_attribute(d, &attribute);
	if (err == 0)
		err = put_link(d, NULL);
	if (err == 0)
		err = put_mapping(d, &binary);
	if (err == 0)
		err = put_function(d, &function);
	if (err == 0)
		err = put_location(d, &place, 0);
	return err == 0 ? put_stack(d, NULL, 0) : err;
}

int otlp_dictionary_init(struct otlp_dictionary *d, bool keeps_linker_names)
{
	int err;

	*d = (struct otlp_dictionary){ .keeps_linker_names = keeps_linker_names };
	err = put_zeros(d);
	if (err < 0)
		otlp_dictionary_done(d);
	return err;
}

void otlp_dictionary_done(struct otlp_dictionary *d)
{
	string_table_done(&d->strings);
	string_table_done(&d->texts);
	element_table_done(&d->mappings);
	element_table_done(&d->locations);
	element_table_done(&d->functions);
	element_table_done(&d->links);
	element_table_done(&d->attributes);
	element_table_done(&d->stacks);
	bytes_done(&d->packed);
}

int otlp_attribute(struct otlp_dictionary *d, const char *key, const struct label *label,
		   int32_t *ret)
{
	struct attribute a = { .number = label->text ? 0 : label->number };
	bool is_new;
	int err = otlp_string(d, key, &a.key);

	if (err == 0 && label->text) {
		a.has_text = 1;
		a.is_decimal = label->is_decimal;
		err = add_text(d, label->text, &a.text);
	} else if (err == 0 && *label->unit) {
		err = otlp_string(d, label->unit, &a.unit);
	}
	if (err == 0)
		err = add(&d->attributes, &a, sizeof(a), ret, &is_new);
	return err == 0 && is_new ? put_attribute(d, &a) : err;
}

int otlp_link(struct otlp_dictionary *d, const uint8_t trace_id[16], const uint8_t span_id[8],
	      int32_t *ret)
{
	uint8_t ids[24];
	bool is_new;
	int err;

	memcpy(ids, trace_id, 16);
	memcpy(ids + 16, span_id, 8);
	err = add(&d->links, ids, sizeof(ids), ret, &is_new);
	return err == 0 && is_new ? put_link(d, ids) : err;
}

static int add_id(struct otlp_dictionary *d, const char *key, const char *id, struct binary *b)
{
	const struct label label = { .text = id, .unit = "" };

	return *id ? otlp_attribute(d, key, &label, &b->attributes[b->n_attributes++]) : 0;
}

int otlp_mapping(struct otlp_dictionary *d, const struct code_mapping *mapping, int32_t *ret)
{
	const struct module *module = mapping->module;
	struct binary b = { mapping->range.start, mapping->range.limit, mapping->range.offset };
	bool is_new;
	int err = otlp_string(d, module ? module->path : CODE_MAPPING_KERNEL, &b.file);

	if (err == 0 && module)
		err = add_id(d, "process.executable.build_id.gnu", module->build_id, &b);
	if (err == 0)
		err = add_id(d, "process.executable.build_id.htlhash", mapping->hash, &b);
	if (err == 0)
		err = add(&d->mappings, &b, sizeof(b), ret, &is_new);
	return err == 0 && is_new ? put_mapping(d, &b) : err;
}

static int put_path(struct otlp_dictionary *d, const char *dir, const char *file, int32_t *ret)
{
	_cleanup_free_ char *made = NULL;
	const char *path = file ? text_path(dir, file, &made) : NULL;

	if (!path)
		return file ? -ENOMEM : 0;
	return otlp_string(d, path, ret);
}

static int add_function(struct otlp_dictionary *d, const struct symbolized_frame *symbolized,
			int32_t *ret)
{
	struct function f = { 0 };
	bool is_new;
	int err = otlp_string(d, symbolized->name, &f.name);

	if (err == 0)
		err = put_path(d, symbolized->dir, symbolized->file, &f.file);
	if (d->keeps_linker_names && symbolized->is_named)
		f.linker_name = f.name;
	if (err == 0)
		err = add(&d->functions, &f, sizeof(f), ret, &is_new);
	return err == 0 && is_new ? put_function(d, &f) : err;
}

/* Words of the semantic conventions. Of other code in no file nobody can tell whose it is. */
static const char *frame_type(const struct symbolized_frame *symbolized, uint64_t address)
{
	if (symbolized->kind == SYMBOLIZED_KERNEL)
		return frame_kind_otel_word(FRAME_KERNEL);
	if (symbolized->kind != SYMBOLIZED_USER)
		return NULL;
	if (symbolized->language >= FRAME_FIRST_LANGUAGE)
		return frame_kind_otel_word(symbolized->language);
	if (!symbolized->module)
		return NULL;
	return location_cache_is_go(&symbolized->module->locations, address) ?
		       "go" :
		       frame_kind_otel_word(FRAME_NATIVE);
}

static int add_frame_type(struct otlp_dictionary *d, const struct symbolized_frame *symbolized,
			  uint64_t address, int32_t *ret)
{
	const struct label label = { .text = frame_type(symbolized, address), .unit = "" };

	return label.text ? otlp_attribute(d, "profile.frame.type", &label, ret) : 0;
}

int otlp_location(struct otlp_dictionary *d, const struct symbolized_frame *symbolized, size_t n,
		  int32_t mapping, int32_t *ret, size_t *ret_n)
{
	_cleanup_free_ struct place *place = NULL;
	size_t n_lines, size;
	bool is_new;
	int err;

	n = symbolized_n_functions(symbolized, n);
	*ret_n = n;
	n_lines = symbolized_has_name(symbolized, n) ? n : 0;
	size = sizeof(*place) + n_lines * sizeof(place->lines[0]);
	place = calloc(1, size);
	if (!place)
		return -ENOMEM;
	place->address = symbolized_code_address(symbolized);
	place->mapping = mapping;
	err = add_frame_type(d, symbolized, place->address, &place->frame_type);
	for (size_t i = 0; err == 0 && i < n_lines; i++) {
		place->lines[i].line = symbolized[i].line;
		place->lines[i].column = symbolized[i].column;
		err = add_function(d, &symbolized[i], &place->lines[i].function);
	}
	if (err == 0)
		err = add(&d->locations, place, size, ret, &is_new);
	return err == 0 && is_new ? put_location(d, place, n_lines) : err;
}

int otlp_stack(struct otlp_dictionary *d, const int32_t *locations, size_t n, int32_t *ret)
{
	bool is_new;
	int err = add(&d->stacks, locations, n * sizeof(*locations), ret, &is_new);

	return err == 0 && is_new ? put_stack(d, locations, n) : err;
}
