// SPDX-License-Identifier: Apache-2.0
#include "kernel/trace_record.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "kernel/kernel_types.h"

#define WORD 8 /* bytes of an argument */
#define HIDDEN WORD

static int add(struct trace_record *r, const struct trace_field *field)
{
	if (array_reserve(r->fields, r->n, r->size) < 0)
		return -ENOMEM;
	r->fields[r->n++] = *field;
	return 0;
}

static void keep_name(struct trace_field *f, const char *name, size_t length)
{
	snprintf(f->name, sizeof(f->name), "%.*s", (int)length, name);
}

static bool begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Splits a declaration in C, such as "char comm[16]" or "const char * filename", into its parts. */
static void read_declaration(const char *text, size_t length, struct trace_field *f)
{
	bool is_array = length > 0 && text[length - 1] == ']';
	size_t end = length, start;

	while (is_array && end > 0 && text[end] != '[')
		end--;
	for (start = end; start > 0 && text[start - 1] != ' ' && text[start - 1] != '*';)
		start--;
	keep_name(f, text + start, end - start);
	if (begins_with(text, "__data_loc char[]"))
		f->kind = TRACE_FIELD_LOCATED;
	else if (begins_with(text, "__data_loc") || begins_with(text, "__rel_loc"))
		f->kind = TRACE_FIELD_OTHER;
	else if (is_array)
		f->kind = begins_with(text, "char ") ? TRACE_FIELD_TEXT : TRACE_FIELD_OTHER;
	else if (memchr(text, '*', length))
		f->kind = TRACE_FIELD_POINTER;
	else
		f->kind = TRACE_FIELD_NUMBER;
}

static bool is_whole(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* Its registers are wider than what is in them, which perf does not say. */
static void narrow(const char *declaration, struct trace_field *f)
{
	bool is_int = begins_with(declaration, "int ");

	if (f->kind != TRACE_FIELD_NUMBER ||
	    (!is_int && !begins_with(declaration, "unsigned int ")))
		return;
	f->size = 4;
	f->is_signed = is_int;
}

/* "	field:int dfd;	offset:16;	size:8;	signed:0;" False: it is none. */
static bool read_format_line(const char *line, bool is_syscall, struct trace_field *ret)
{
	const char *text = strstr(line, "field:");
	const char *end = text ? strchr(text, ';') : NULL;
	unsigned int is_signed;

	*ret = (struct trace_field){ 0 };
	if (!end || sscanf(end, "; offset:%u; size:%u; signed:%u", &ret->offset, &ret->size,
			   &is_signed) != 3)
		return false;
	text += strlen("field:");
	ret->is_signed = is_signed;
	read_declaration(text, (size_t)(end - text), ret);
	if (is_syscall)
		narrow(text, ret);
	if (ret->kind <= TRACE_FIELD_POINTER && !is_whole(ret->size))
		ret->kind = TRACE_FIELD_OTHER;
	if (ret->kind == TRACE_FIELD_LOCATED && is_syscall)
		ret->kind = TRACE_FIELD_OTHER;
	return ret->offset >= HIDDEN && ret->name[0];
}

int trace_record_read(FILE *format, bool is_syscall, struct trace_record *ret)
{
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	int err = 0;

	*ret = (struct trace_record){ .is_syscall = is_syscall };
	while (err == 0 && getline(&line, &size, format) > 0) {
		struct trace_field field;

		if (read_format_line(line, is_syscall, &field))
			err = add(ret, &field);
	}
	return err < 0 ? err : ferror(format) ? -EIO : 0;
}

/* Of a module, whose types are elsewhere: they may be anything. */
static int add_arguments(struct trace_record *r)
{
	int err = 0;

	r->is_numbered = true;
	for (uint32_t i = 0; err == 0 && i < TRACE_MAX_ARGUMENTS; i++) {
		struct trace_field field = { .kind = TRACE_FIELD_NUMBER,
					     .offset = i * WORD,
					     .size = WORD,
					     .is_signed = true };

		snprintf(field.name, sizeof(field.name), "arg%u", i + 1);
		err = add(r, &field);
	}
	return err;
}

const struct btf_type *trace_type(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = btf ? btf__type_by_id(btf, id) : NULL;

	while (t && (btf_is_mod(t) || btf_is_typedef(t)))
		t = btf__type_by_id(btf, t->type);
	return t;
}

static bool is_char(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = trace_type(btf, id);

	return t && btf_is_int(t) && t->size == 1 &&
	       strcmp(btf__name_by_offset(btf, t->name_off), "char") == 0;
}

void trace_type_describe(const struct btf *btf, uint32_t id, struct trace_field *f)
{
	const struct btf_type *t = trace_type(btf, id);

	f->type = id;
	f->kind = TRACE_FIELD_OTHER;
	f->size = WORD;
	if (!t)
		return;
	if (btf_is_ptr(t)) {
		f->kind = TRACE_FIELD_POINTER;
	} else if (btf_is_int(t) || btf_is_any_enum(t)) {
		f->size = t->size;
		f->kind = is_whole(t->size) ? TRACE_FIELD_NUMBER : TRACE_FIELD_OTHER;
		f->is_signed =
			btf_is_int(t) ? btf_int_encoding(t) & BTF_INT_SIGNED : btf_is_enum(t);
	} else if (btf_is_composite(t)) {
		f->size = t->size;
	} else if (btf_is_array(t) && is_char(btf, btf_array(t)->type)) {
		f->size = btf_array(t)->nelems;
		f->kind = TRACE_FIELD_TEXT;
	}
}

static const struct btf_type *find_function(const struct btf *btf, const char *name)
{
	int id = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) : 0;
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	t = t ? btf__type_by_id(btf, t->type) : NULL;
	return t && btf_is_func_proto(t) ? t : NULL;
}

/* A pointer to a function, by the name of its type. */
static const struct btf_type *find_pointer(const struct btf *btf, const char *name)
{
	int id = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF) : 0;
	const struct btf_type *t = id > 0 ? trace_type(btf, (uint32_t)id) : NULL;

	t = t && btf_is_ptr(t) ? trace_type(btf, t->type) : NULL;
	return t && btf_is_func_proto(t) ? t : NULL;
}

/* From the first one on. */
static int add_parameters(struct trace_record *r, const struct btf_type *t, uint32_t first)
{
	uint32_t offset = 0;
	int err = 0;

	r->is_numbered = true;
	for (uint32_t i = first; err == 0 && i < btf_vlen(t); i++) {
		const struct btf_param *p = &btf_params(t)[i];
		const char *name = btf__name_by_offset(r->btf, p->name_off);
		struct trace_field field = { .offset = offset };

		keep_name(&field, name, strlen(name));
		trace_type_describe(r->btf, p->type, &field);
		/* A structure of up to 16 bytes is passed as words. */
		offset += (field.size + WORD - 1) / WORD * WORD;
		err = add(r, &field);
	}
	return err;
}

int trace_record_of_function(const char *path, const char *function, struct trace_record *ret)
{
	const struct btf_type *t;

	*ret = (struct trace_record){ .btf = kernel_types_load(path) };
	t = find_function(ret->btf, function);
	return t ? add_parameters(ret, t, 0) : -ENOENT;
}

/* A context comes first in what a tracepoint calls: include/linux/tracepoint.h, __DECLARE_TRACE(). */
int trace_record_of_tracepoint(const char *path, const char *name, struct trace_record *ret)
{
	char function[TRACE_NAME_SIZE], type[TRACE_NAME_SIZE];
	const struct btf_type *t;

	*ret = (struct trace_record){ .btf = kernel_types_load(path) };
	snprintf(function, sizeof(function), "__traceiter_%s", name);
	snprintf(type, sizeof(type), "btf_trace_%s", name);
	t = find_function(ret->btf, function) ?: find_pointer(ret->btf, type);
	return t ? add_parameters(ret, t, 1) : add_arguments(ret);
}

/* One that is more than a word may be on the stack, and then those behind it are in other registers. */
void trace_record_use_registers(struct trace_record *r)
{
	static const uint32_t offsets[] = DP_ARGUMENT_OFFSETS;
	bool is_known = true;

	for (size_t i = 0; i < r->n; i++) {
		is_known &= r->fields[i].size <= WORD && i < ARRAY_SIZE(offsets);
		if (is_known)
			r->fields[i].offset = offsets[i];
		else
			r->fields[i].kind = TRACE_FIELD_NOWHERE;
	}
}

void trace_record_done(struct trace_record *r)
{
	free(r->fields);
	btf__free(r->btf);
	*r = (struct trace_record){ 0 };
}

const struct trace_field *trace_record_find(const struct trace_record *r, const char *name,
					    unsigned int number)
{
	if (number > 0)
		return r->is_numbered && number <= r->n ? &r->fields[number - 1] : NULL;
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->fields[i].name, name) == 0)
			return &r->fields[i];
	return NULL;
}

void trace_record_list(const struct trace_record *r, FILE *to)
{
	const char *separator = "";

	for (size_t i = 0; i < r->n; i++) {
		if (r->fields[i].kind >= TRACE_FIELD_OTHER || !r->fields[i].name[0])
			continue;
		fprintf(to, "%s%s", separator, r->fields[i].name);
		separator = ", ";
	}
}
