// SPDX-License-Identifier: Apache-2.0
#include "probes/trace_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/tracefs.h"

#define GLOB_CHARACTERS "*?[]!"

void trace_parts_done(struct trace_parts *parts)
{
	free(parts->system);
	free(parts->name);
}

static bool is_glob(const char *text)
{
	return strpbrk(text, GLOB_CHARACTERS);
}

/* Functions of the kernel may have suffixes, such as ".isra.0". */
static bool is_function(const char *text, bool with_offset)
{
	size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.");
	char *end = (char *)text + n;

	if (n > 0 && with_offset && text[n] == '+' && text[n + 1] >= '0' && text[n + 1] <= '9')
		strtoul(text + n + 1, &end, 0);
	return n > 0 && *end == '\0';
}

static int check_names(const struct trace_parts *p, enum tracer_kind kind, char *why)
{
	if (kind == TRACER_FENTRY || kind == TRACER_KPROBE) {
		if (is_function(p->name, kind == TRACER_KPROBE))
			return 0;
		snprintf(why, ARGUMENTS_WHY_SIZE, "expected the name of a function%s",
			 kind == TRACER_KPROBE ? ", or FUNCTION+N" : "");
		return -EINVAL;
	}
	if (p->is_glob && p->system)
		return 0;
	if ((!p->system || tracefs_is_name(p->system)) && tracefs_is_name(p->name))
		return 0;
	snprintf(why, ARGUMENTS_WHY_SIZE, "expected %s",
		 p->system ? "SYSTEM:NAME" : "the name of one tracepoint");
	return -EINVAL;
}

int trace_parts_split(const char *argument, enum tracer_kind kind, struct trace_parts *ret,
		      char ret_why[ARGUMENTS_WHY_SIZE])
{
	const char *values = strchr(argument, '('), *name = argument;
	size_t length = values ? (size_t)(values - argument) : strlen(argument);
	const char *colon = memchr(argument, ':', length);
	int err;

	*ret = (struct trace_parts){ 0 };
	ret_why[0] = '\0';
	if (kind == TRACER_TRACEPOINT) {
		if (!colon) {
			snprintf(ret_why, ARGUMENTS_WHY_SIZE, "expected SYSTEM:NAME");
			return -EINVAL;
		}
		name = colon + 1;
		ret->system = strndup(argument, (size_t)(colon - argument));
	}
	ret->name = strndup(name, length - (size_t)(name - argument));
	if (!ret->name || (kind == TRACER_TRACEPOINT && !ret->system))
		return -ENOMEM;
	ret->is_glob = is_glob(ret->name) || (ret->system && is_glob(ret->system));
	err = check_names(ret, kind, ret_why);
	if (err < 0 || !values)
		return err;
	if (kind != TRACER_KPROBE || !strchr(ret->name, '+'))
		return arguments_parse(values, PROBE_KERNEL, &ret->arguments, ret_why);
	snprintf(
		ret_why, ARGUMENTS_WHY_SIZE,
		"within a function, no values can be read: its arguments are known where it begins");
	return -EINVAL;
}
