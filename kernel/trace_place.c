// SPDX-License-Identifier: Apache-2.0
#include "kernel/trace_place.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "kernel/kernel_types.h"

/* What a field's or a member's name ends at: "->" or ".". */
#define SEPARATORS "-."

static int fail(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fail(char *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, TRACE_WHY_SIZE, format, args);
	va_end(args);
	return -EINVAL;
}

static int say_no_field(const struct trace_record *record, const char *name, char *why)
{
	_cleanup_free_ char *list = NULL;
	size_t size;
	FILE *to = open_memstream(&list, &size);

	if (to) {
		trace_record_list(record, to);
		fclose(to);
	}
	return fail(why, "there is no %s, but %s", name, list && *list ? list : "nothing");
}

static int find_field(const struct trace_record *record, const char *path, unsigned int number,
		      const struct trace_field **ret, char *why)
{
	char name[TRACE_NAME_SIZE];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(path, SEPARATORS), path);
	*ret = number > 0 ? trace_record_find(record, "", number) : NULL;
	if (!*ret)
		*ret = trace_record_find(record, name, 0);
	return *ret ? 0 : say_no_field(record, name, why);
}

/* What is at the end of the place is a pointer: goes on where that points to. */
static int follow_pointer(const struct btf_type **t, const struct btf *btf,
			  struct trace_place *place, char *why)
{
	if (!*t || !btf_is_ptr(*t))
		return fail(why, btf ? "what is in front of '->' is no pointer" :
				       "tracefs does not tell what fields point to");
	if (place->n == DP_MAX_DEREFS)
		return fail(why, "it takes too many dereferences");
	place->offsets[place->n++] = 0;
	*t = trace_type(btf, (*t)->type);
	return 0;
}

static int follow(const struct btf *btf, const char *at, struct trace_place *place, char *why)
{
	while (*at) {
		const char *name = at + (*at == '-' ? 2 : 1);
		const struct btf_type *t = trace_type(btf, place->value.type);
		struct kernel_member member;
		char text[TRACE_NAME_SIZE];
		int err = *at == '-' ? follow_pointer(&t, btf, place, why) : 0;

		if (err < 0)
			return err;
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(name, SEPARATORS), name);
		if (!t || !btf_is_composite(t))
			return fail(why, "what has the member %s is no known struct", text);
		if (!kernel_types_member(btf, t, text, &member))
			return fail(why, "there is no member %s in %s", text,
				    btf__name_by_offset(btf, t->name_off));
		if (member.is_bits)
			return fail(why, "%s is not of whole bytes", text);
		place->offsets[place->n - 1] += (int32_t)member.offset;
		trace_type_describe(btf, member.type, &place->value);
		at = name + strcspn(name, SEPARATORS);
	}
	return 0;
}

int trace_place_find(const struct trace_record *record, const char *path, unsigned int number,
		     struct trace_place *ret, char ret_why[TRACE_WHY_SIZE])
{
	const struct trace_field *field;
	int err = find_field(record, path, number, &field, ret_why);

	if (err < 0)
		return err;
	if (field->kind == TRACE_FIELD_NOWHERE)
		return fail(ret_why,
			    "%s is not in a register, as the first arguments are, up to %zu words",
			    field->name, ARRAY_SIZE((uint32_t[])DP_ARGUMENT_OFFSETS));
	*ret = (struct trace_place){ .offsets = { (int32_t)field->offset },
				     .n = 1,
				     .value = *field };
	return follow(record->btf, path + strcspn(path, SEPARATORS), ret, ret_why);
}
