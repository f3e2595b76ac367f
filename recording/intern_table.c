// SPDX-License-Identifier: Apache-2.0
#include "recording/intern_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "limits/limits.h"
#include "symbols/jit.h"
#include "symbols/jit_index.h"
#include "symbols/module_file.h"

struct interned_record {
	size_t size;
	uint8_t bytes[];
};

void intern_table_init(struct intern_table *t, const struct recording_options *options)
{
	*t = (struct intern_table){ .options = options };
}

void intern_table_forget(struct intern_table *t)
{
	for (size_t tag = 0; tag < RECORDING_N_TAGS; tag++) {
		for (size_t i = 0; i < t->records[tag].n; i++)
			free(t->records[tag].items[i]);
		t->records[tag].n = 0;
	}
	t->n_modules = t->n_functions = t->n_compiled = 0;
	t->memory = 0;
}

static void interned_module_free(struct interned_module *m)
{
	module_free(m->module);
	free(m);
}

static void function_free(struct interned_function *f)
{
	free(f->name);
	free(f->module);
	free(f);
}

void intern_table_done(struct intern_table *t)
{
	struct interned_module *m, *next_module;
	struct interned_function *f, *next_function;
	struct interned_compiled *c, *next_compiled;

	intern_table_forget(t);
	for (size_t i = 0; i < RECORDING_N_TAGS; i++)
		free(t->records[i].items);
	HASH_ITER(hh, t->all_modules, m, next_module) {
		HASH_DEL(t->all_modules, m);
		interned_module_free(m);
	}
	HASH_ITER(hh, t->all_functions, f, next_function) {
		HASH_DEL(t->all_functions, f);
		function_free(f);
	}
	HASH_ITER(hh, t->all_compiled, c, next_compiled) {
		HASH_DEL(t->all_compiled, c);
		free(c);
	}
	module_free(t->compiled_module);
	free(t->modules);
	free(t->functions);
	free(t->compiled);
}

/* Finds the file of a module, or reports that there is none. */
static int open_module(struct intern_table *t, struct module *module)
{
	struct module_file file = {
		.names = t->options->names,
		.path = module->path,
		.build_id = module->build_id,
		.size = module->size,
		.written = module->written,
	};
	int fd = -1, err = -ENOENT;

	if (t->options->symbols && strcmp(module->path, "[vdso]") == 0) {
		err = module_file_copy_vdso(module->build_id, &module->memory,
					    &module->memory_size);
	} else if (t->options->symbols) {
		err = module_file_open(&file, t->options->root, &fd);
	}
	if (err == -ENOMEM)
		return err;
	if (fd >= 0)
		module_set_file(module, fd);
	if (err == 0)
		return 0;
	module->symtab_tried = module->no_debug = true;
	if (t->options->symbols && t->options->missing)
		t->options->missing(t->options->arg, module, err);
	return 0;
}

/* In the form of struct module. */
static bool is_build_id(const char *text)
{
	size_t size = strspn(text, "0123456789abcdef");

	return text[size] == '\0' && size <= 40;
}

/* Makes the module; its file is still to be found. */
static int make_module(struct intern_table *t, struct view *v, struct module **ret)
{
	_cleanup_free_ char *path = view_new_text(v), *build_id = view_new_text(v);
	struct module *module;

	if (!path || !build_id)
		return -ENOMEM;
	if (!is_build_id(build_id))
		return -EBADMSG;
	module = *ret = module_new(t->options->names, path, build_id, -1);
	if (!module)
		return -ENOMEM;
	module->size = view_signed(v);
	module->written.tv_sec = view_signed(v);
	module->written.tv_nsec = view_signed(v);
	return v->failed ? -EBADMSG : 0;
}

static int keep_module(struct intern_table *t, const struct view *record,
		       struct interned_module **ret)
{
	size_t size = (size_t)(record->end - record->pos);
	struct interned_module *m = calloc(1, sizeof(*m) + size);
	struct view v = *record;
	int err;

	if (!m)
		return -ENOMEM;
	m->size = size;
	memcpy(m->record, record->pos, size);
	err = make_module(t, &v, &m->module);
	if (err == 0)
		err = open_module(t, m->module);
	if (err == 0) {
		HASH_ADD(hh, t->all_modules, record, m->size, m);
		err = HASH_IS_ADDED(hh, m) ? 0 : -ENOMEM;
	}
	if (err < 0) {
		interned_module_free(m);
		return err;
	}
	t->kept += sizeof(*m) + 2 * size;
	*ret = m;
	return 0;
}

static int read_module(struct intern_table *t, const struct view *record)
{
	struct interned_module *m;
	int err = 0;

	HASH_FIND(hh, t->all_modules, record->pos, (size_t)(record->end - record->pos), m);
	if (!m)
		err = keep_module(t, record, &m);
	if (err < 0)
		return err;
	if (array_reserve(t->modules, t->n_modules, t->modules_size) < 0)
		return -ENOMEM;
	t->modules[t->n_modules++] = m;
	t->memory += sizeof(m);
	return 0;
}

static int keep_function(struct intern_table *t, const struct view *record,
			 struct interned_function **ret)
{
	size_t size = (size_t)(record->end - record->pos);
	struct interned_function *f = calloc(1, sizeof(*f) + size);
	struct view v = *record;

	if (!f)
		return -ENOMEM;
	f->size = size;
	memcpy(f->record, record->pos, size);
	f->start = view_number(&v);
	f->name = view_new_text(&v);
	f->module = view_new_text(&v);
	if (!f->name || !f->module || v.failed)
		goto failed;
	HASH_ADD(hh, t->all_functions, record, f->size, f);
	if (!HASH_IS_ADDED(hh, f))
		goto failed;
	t->kept += sizeof(*f) + 2 * size;
	*ret = f;
	return 0;
failed:
	function_free(f);
	return v.failed ? -EBADMSG : -ENOMEM;
}

static int read_function(struct intern_table *t, const struct view *record)
{
	struct interned_function *f;
	int err = 0;

	HASH_FIND(hh, t->all_functions, record->pos, (size_t)(record->end - record->pos), f);
	if (!f)
		err = keep_function(t, record, &f);
	if (err < 0)
		return err;
	if (array_reserve(t->functions, t->n_functions, t->functions_size) < 0)
		return -ENOMEM;
	t->functions[t->n_functions++] = f;
	t->memory += sizeof(f);
	return 0;
}

/* Makes the module of all JIT code, as profiling does. */
static int make_compiled_module(struct intern_table *t)
{
	if (t->compiled_module)
		return 0;
	t->compiled_module = module_new_jit(t->options->names);
	if (!t->compiled_module)
		return -ENOMEM;
	t->compiled_module->symtab_tried = t->compiled_module->no_debug = true;
	return 0;
}

static int keep_compiled(struct intern_table *t, const struct view *record,
			 struct interned_compiled **ret)
{
	size_t size = (size_t)(record->end - record->pos);
	struct interned_compiled *c = calloc(1, sizeof(*c) + size);
	struct view v = *record;
	_cleanup_free_ char *function = view_new_text(&v), *file = view_new_text(&v);
	struct source_location location = { .function = function, .file = file };
	int err = c && function && file ? make_compiled_module(t) : -ENOMEM;

	location.line = (unsigned int)view_below(&v, UINT32_MAX);
	if (!view_is_empty(&v))
		location.column = (unsigned int)view_below(&v, UINT32_MAX);
	if (err == 0 && v.failed)
		err = -EBADMSG;
	if (err == 0)
		err = jit_add(t->compiled_module->jit, &location, &c->located);
	if (err < 0) {
		free(c);
		return err == -E2BIG ? -EBADMSG : err;
	}
	c->size = size;
	memcpy(c->record, record->pos, size);
	HASH_ADD(hh, t->all_compiled, record, c->size, c);
	if (!HASH_IS_ADDED(hh, c)) {
		free(c);
		return -ENOMEM;
	}
	t->kept += sizeof(*c) + 2 * size + sizeof(struct jit_code);
	*ret = c;
	return 0;
}

static int read_compiled(struct intern_table *t, const struct view *record)
{
	struct interned_compiled *c;
	int err = 0;

	HASH_FIND(hh, t->all_compiled, record->pos, (size_t)(record->end - record->pos), c);
	if (!c)
		err = keep_compiled(t, record, &c);
	if (err < 0)
		return err;
	if (array_reserve(t->compiled, t->n_compiled, t->compiled_size) < 0)
		return -ENOMEM;
	t->compiled[t->n_compiled++] = c;
	t->memory += sizeof(c);
	return 0;
}

static int read_other(struct intern_table *t, enum recording_tag tag, const struct view *record)
{
	struct interned_records *records = &t->records[tag];
	size_t size = (size_t)(record->end - record->pos);
	struct interned_record *interned;

	if (array_reserve(records->items, records->n, records->size) < 0)
		return -ENOMEM;
	interned = malloc(sizeof(*interned) + size);
	if (!interned)
		return -ENOMEM;
	interned->size = size;
	if (size > 0)
		memcpy(interned->bytes, record->pos, size);
	records->items[records->n++] = interned;
	t->memory += sizeof(*interned) + sizeof(interned) + size;
	return 0;
}

int intern_table_add(struct intern_table *t, enum recording_tag tag, const struct view *record)
{
	int err;

	if (tag == RECORDING_MODULE)
		err = read_module(t, record);
	else if (tag == RECORDING_FUNCTION)
		err = read_function(t, record);
	else if (tag == RECORDING_COMPILED)
		err = read_compiled(t, record);
	else
		err = read_other(t, tag, record);
	return err == 0 && (t->memory > INTERN_MAX_MEMORY || t->kept > INTERN_MAX_KEPT) ? -EBADMSG :
											  err;
}

struct view intern_table_find(const struct intern_table *t, enum recording_tag tag, uint64_t number,
			      struct view *v)
{
	const struct interned_records *records = &t->records[tag];
	const struct interned_record *interned;

	if (number >= records->n) {
		v->failed = true;
		return (struct view){ .pos = v->end, .end = v->end };
	}
	interned = records->items[number];
	return (struct view){ .pos = interned->bytes, .end = interned->bytes + interned->size };
}
