// SPDX-License-Identifier: Apache-2.0
#include "formats/pprof_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/text.h"

/* What a string takes at most besides its bytes: the field's number and its length. */
#define STRING_HEAD 5

/* A function of a file. The report has each string once, so their addresses are compared. */
struct pprof_function {
	UT_hash_handle hh;
	struct pprof_function_key {
		const char *name;
		const char *file, *dir;
	} key;
	uint64_t id;
};

struct pprof_location {
	UT_hash_handle hh;
	struct pprof_location_key {
		uint64_t mapping;
		uint64_t address;
		/* In no file: marks have no address, and processes number their code alike */
		struct pprof_function_key function;
		uint64_t line;
	} key;
	uint64_t id;
};

int pprof_writer_init(struct pprof_writer *writer, const struct names_options *options, FILE *to)
{
	uint32_t number;
	int err;

	*writer = (struct pprof_writer){ .options = options };
	err = gzip_init(&writer->gzip, to);
	if (err < 0)
		return err;
	err = string_table_add(&writer->strings, "", &number);
	if (err < 0)
		pprof_writer_done(writer);
	return err;
}

void pprof_writer_done(struct pprof_writer *writer)
{
	struct pprof_function *f, *next_function;
	struct pprof_location *l, *next_location;

	HASH_ITER(hh, writer->functions, f, next_function) {
		HASH_DEL(writer->functions, f);
		free(f);
	}
	HASH_ITER(hh, writer->locations, l, next_location) {
		HASH_DEL(writer->locations, l);
		free(l);
	}
	string_table_done(&writer->strings);
	gzip_done(&writer->gzip);
}

/* The target of protobuf-c's packing. */
struct sink {
	ProtobufCBuffer base;
	struct pprof_writer *writer;
};

static void sink_append(ProtobufCBuffer *buffer, size_t size, const uint8_t *data)
{
	struct pprof_writer *writer = ((struct sink *)buffer)->writer;

	writer->size += size;
	if (writer->err == 0)
		writer->err = gzip_write(&writer->gzip, data, size);
}

int pprof_writer_put(struct pprof_writer *writer, const Pprof__Profile *profile)
{
	struct sink sink = { { sink_append }, writer };

	writer->err = 0;
	(void)protobuf_c_message_pack_to_buffer(&profile->base, &sink.base);
	return writer->err;
}

int pprof_writer_string(struct pprof_writer *writer, const char *text, int64_t *ret)
{
	_cleanup_free_ char *copy = strdup(text);
	size_t before = writer->strings.n;
	uint32_t number;
	int err;

	if (!copy)
		return -ENOMEM;
	text_make_plain(copy);
	err = string_table_add(&writer->strings, copy, &number);
	if (err < 0)
		return err;
	if (writer->strings.n > before)
		writer->size += strlen(copy) + STRING_HEAD;
	*ret = number;
	return 0;
}

/* Adds the path of a source file, as far as it is known. */
static int put_path(struct pprof_writer *writer, const char *dir, const char *file, int64_t *ret)
{
	_cleanup_free_ char *made = NULL;
	const char *path = file ? text_path(dir, file, &made) : NULL;

	if (!path)
		return file ? -ENOMEM : 0;
	return pprof_writer_string(writer, path, ret);
}

/*
 * system_name is the linker's name. It stays empty if it is not known: readers demangle a name that
 * is in both fields, and cut off what is in angle brackets (pprof, internal/symbolizer,
 * demangleSingleFunction()).
 */
static int write_function(struct pprof_writer *writer, const struct pprof_function *f)
{
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	Pprof__Function function = PPROF__FUNCTION__INIT, *functions[] = { &function };
	int err = pprof_writer_string(writer, f->key.name, &function.name);

	if (err == 0)
		err = put_path(writer, f->key.dir, f->key.file, &function.filename);
	if (err < 0)
		return err;
	function.id = f->id;
	if (writer->options->demangle == NAMES_DEMANGLE_NONE)
		function.system_name = function.name;
	profile.n_function = 1;
	profile.function = functions;
	return pprof_writer_put(writer, &profile);
}

static struct pprof_function_key function_key(const struct symbolized_frame *symbolized)
{
	return (struct pprof_function_key){ symbolized->name, symbolized->file, symbolized->dir };
}

static int add_function(struct pprof_writer *writer, const struct symbolized_frame *symbolized,
			uint64_t *ret)
{
	struct pprof_function_key key = function_key(symbolized);
	struct pprof_function *f;

	HASH_FIND(hh, writer->functions, &key, sizeof(key), f);
	if (f) {
		*ret = f->id;
		return 0;
	}
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->key = key;
	f->id = HASH_COUNT(writer->functions) + 1;
	HASH_ADD(hh, writer->functions, key, sizeof(f->key), f);
	if (!HASH_IS_ADDED(hh, f)) {
		free(f);
		return -ENOMEM;
	}
	*ret = f->id;
	return write_function(writer, f);
}

/* Combines the properties of this location with those of its mapping. */
static void judge(struct code_mapping *mapping, const struct symbolized_frame *symbolized, size_t n)
{
	for (size_t i = 0; mapping && i < n; i++) {
		mapping->has_functions &= symbolized[i].is_named || symbolized[i].is_sought;
		mapping->has_files &= symbolized[i].file != NULL;
		mapping->has_lines &= symbolized[i].line > 0;
	}
}

static int make_lines(struct pprof_writer *writer, const struct symbolized_frame *symbolized,
		      size_t n, Pprof__Line *lines, Pprof__Line **pointers)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < n; i++) {
		pprof__line__init(&lines[i]);
		lines[i].line = symbolized[i].line;
		lines[i].column = symbolized[i].column;
		pointers[i] = &lines[i];
		err = add_function(writer, &symbolized[i], &lines[i].function_id);
	}
	return err;
}

static int write_location(struct pprof_writer *writer, const struct pprof_location *l,
			  const struct symbolized_frame *symbolized, size_t n)
{
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	Pprof__Location location = PPROF__LOCATION__INIT, *locations[] = { &location };
	_cleanup_free_ Pprof__Line **pointers = calloc(n, sizeof(*pointers));
	_cleanup_free_ Pprof__Line *lines = calloc(n, sizeof(*lines));
	int err;

	if (!pointers || !lines)
		return -ENOMEM;
	if (symbolized_has_name(symbolized, n)) {
		err = make_lines(writer, symbolized, n, lines, pointers);
		if (err < 0)
			return err;
		location.n_line = n;
		location.line = pointers;
	}
	location.id = l->id;
	location.mapping_id = l->key.mapping;
	location.address = l->key.address;
	profile.n_location = 1;
	profile.location = locations;
	return pprof_writer_put(writer, &profile);
}

int pprof_writer_location(struct pprof_writer *writer, const struct symbolized_frame *symbolized,
			  size_t n, struct code_mapping *mapping, uint64_t *ret, size_t *ret_n)
{
	struct pprof_location_key key = { .address = symbolized_code_address(symbolized) };
	struct pprof_location *l;

	n = symbolized_n_functions(symbolized, n);
	*ret_n = n;
	if (mapping) {
		key.mapping = mapping->number;
	} else {
		key.function = function_key(symbolized);
		key.line = symbolized->line;
	}
	HASH_FIND(hh, writer->locations, &key, sizeof(key), l);
	if (l) {
		*ret = l->id;
		return 0;
	}
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->key = key;
	l->id = HASH_COUNT(writer->locations) + 1;
	HASH_ADD(hh, writer->locations, key, sizeof(l->key), l);
	if (!HASH_IS_ADDED(hh, l)) {
		free(l);
		return -ENOMEM;
	}
	*ret = l->id;
	judge(mapping, symbolized, n);
	return write_location(writer, l, symbolized, n);
}

static int make_mapping(struct pprof_writer *writer, const struct code_mapping *m,
			Pprof__Mapping *ret)
{
	int err = pprof_writer_string(writer, m->module ? m->module->path : CODE_MAPPING_KERNEL,
				      &ret->filename);

	if (err == 0 && m->module)
		err = pprof_writer_string(writer, m->module->build_id, &ret->build_id);
	ret->id = m->number;
	ret->memory_start = m->range.start;
	ret->memory_limit = m->range.limit;
	ret->file_offset = m->range.offset;
	ret->has_functions = m->has_functions;
	ret->has_filenames = m->has_files;
	ret->has_line_numbers = m->has_lines;
	/* Lines come from debug information, which has the inlined functions too. */
	ret->has_inline_frames =
		m->has_functions && m->has_files && m->has_lines && !writer->options->no_inlines;
	return err;
}

static int write_mapping(struct pprof_writer *writer, const struct code_mapping *m)
{
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	Pprof__Mapping mapping = PPROF__MAPPING__INIT, *mappings[] = { &mapping };
	int err = make_mapping(writer, m, &mapping);

	if (err < 0)
		return err;
	profile.n_mapping = 1;
	profile.mapping = mappings;
	return pprof_writer_put(writer, &profile);
}

int pprof_writer_reserve(struct pprof_writer *writer, const struct code_mappings *mappings)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < mappings->n; i++) {
		Pprof__Profile profile = PPROF__PROFILE__INIT;
		Pprof__Mapping mapping = PPROF__MAPPING__INIT, *one[] = { &mapping };

		err = make_mapping(writer, mappings->mappings[i], &mapping);
		profile.n_mapping = 1;
		profile.mapping = one;
		/* They only get smaller: what all their locations have, fewer have. */
		writer->size += pprof__profile__get_packed_size(&profile);
	}
	return err;
}

int pprof_writer_finish(struct pprof_writer *writer, const struct code_mappings *mappings)
{
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	int err = 0;

	for (size_t i = 0; err == 0 && i < mappings->n; i++)
		err = write_mapping(writer, mappings->mappings[i]);
	if (err < 0)
		return err;
	profile.n_string_table = writer->strings.n;
	profile.string_table = (char **)writer->strings.strings; /* only read */
	err = pprof_writer_put(writer, &profile);
	return err == 0 ? gzip_finish(&writer->gzip) : err;
}
