// SPDX-License-Identifier: Apache-2.0
#include "profiler/label_probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/session.h"
#include "kernel/uprobe_places.h"
#include "log/log.h"
#include "profiler/event.h"
#include "profiler/probe_catalog.h"
#include "profiler/probe_file.h"
#include "profiler/probe_lists.h"
#include "profiler/probe_parts.h"
#include "profiler/profiler.h"
#include "sandbox/parsers.h"

#define KIND "label:"

static int split(const char *text, struct probe_parts *ret, char ret_why[ARGUMENTS_WHY_SIZE])
{
	int err;

	*ret = (struct probe_parts){ 0 };
	snprintf(ret_why, ARGUMENTS_WHY_SIZE, "it must be " KIND "PATH:NAME(VALUES)");
	if (strncmp(text, KIND, strlen(KIND)) != 0)
		return -EINVAL;
	text += strlen(KIND);
	err = probe_parts_split(text + strspn(text, " "), PROBE_CALL, ret, ret_why);
	if (err == 0 && ret->arguments.n == 0) {
		snprintf(ret_why, ARGUMENTS_WHY_SIZE, "there must be values: NAME(x=arg1)");
		err = -EINVAL;
	}
	if (err == 0 && ret->is_line) {
		snprintf(ret_why, ARGUMENTS_WHY_SIZE, "calls are of functions, not of a line");
		err = -EINVAL;
	}
	return err;
}

int label_probe_check(const char *text, char ret_why[ARGUMENTS_WHY_SIZE])
{
	_cleanup_(probe_parts_done) struct probe_parts parts;
	int err = split(text, &parts, ret_why);

	if (err == -EINVAL && ret_why[0] == '\0')
		snprintf(ret_why, ARGUMENTS_WHY_SIZE, "it must be " KIND "PATH:NAME(VALUES)");
	return err;
}

static void note_size(struct probed_code *code, const struct listed_function *f)
{
	for (size_t i = 0; i < code->n; i++)
		if (code->starts[i] == f->offset && f->size > code->places.of[i].size)
			code->places.of[i].size = f->size;
}

static void note_part(struct probed_code *code, const struct listed_function *f)
{
	for (size_t i = 0; i < code->n; i++) {
		if (code->starts[i] != f->of)
			continue;
		code->places.of[i].cold = (int64_t)(f->offset - f->of);
		code->places.of[i].cold_size = f->size;
	}
}

/* Functions have one part, rarely some. All are looked at for each frame. */
#define MAX_MAYBE 256

static int note_maybe(struct probed_code *code, const struct listed_function *f)
{
	struct code_extent *grown;

	if (code->n_maybe == MAX_MAYBE)
		return -E2BIG;
	grown = reallocarray(code->maybe, code->n_maybe + 1, sizeof(*code->maybe));
	if (!grown)
		return -ENOMEM;
	code->maybe = grown;
	code->maybe[code->n_maybe++] = (struct code_extent){ f->offset, f->size };
	return 0;
}

static int note(struct probed_code *code, const struct listed_function *f)
{
	switch (f->kind) {
	case LISTED_FUNCTION:
		note_size(code, f);
		return 0;
	case LISTED_PART:
		note_part(code, f);
		return 0;
	case LISTED_MAYBE_PART:
		return note_maybe(code, f);
	default:
		return 0;
	}
}

/* -ENODATA: where a function ends is not known; -E2BIG: there are too many parts. */
static int find_code(const struct uprobe_places *places, struct probed_code *ret)
{
	struct listed_function f;
	struct stat st;
	int err = 0;

	if (fstat(places->fd, &st) < 0)
		return -errno;
	*ret = (struct probed_code){ .device = st.st_dev, .inode = st.st_ino, .n = places->n };
	for (size_t i = 0; i < places->n; i++)
		ret->starts[i] = places->offsets[i];
	for (size_t at = 0; err == 0 && function_list_next(&places->functions, &at, &f);)
		err = note(ret, &f);
	for (size_t i = 0; err == 0 && i < places->n; i++)
		if (ret->places.of[i].size == 0)
			err = -ENODATA;
	return err;
}

static void find_build_id(struct parsers *parsers, int fd, char ret[ELF_BUILD_ID_SIZE])
{
	const struct parse_request request = { .kind = PARSE_FACTS, .fd = fd, .other = -1 };
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	clockid_t clock = 0;

	if (parsers_ask(parsers, &request, &clock, &result) == 0)
		memcpy(ret, result.facts.origin.build_id, ELF_BUILD_ID_SIZE);
}

static int measure(const struct probe_parts *parts, const struct uprobe_places *places,
		   struct probed_code *ret)
{
	int err = find_code(places, ret);

	if (err == -ENODATA)
		log_error("the symbol of %s in %s has no size", parts->name, parts->path);
	else if (err == -E2BIG)
		log_error("%s has more than %d parts of functions %s", parts->path, MAX_MAYBE,
			  parts->name);
	else if (err < 0)
		log_error("cannot read %s: %s", parts->path, strerror(-err));
	return err;
}

static int list_with_parts(void *parsers, int fd, const struct function_query *query,
			   struct function_list *ret)
{
	struct function_query wanted = *query;

	wanted.has_parts = true;
	return probe_catalog_list(parsers, fd, &wanted, ret);
}

static int find(struct parsers *parsers, const struct probe_parts *parts,
		struct uprobe_places *places, struct probe_lists *lists)
{
	const struct uprobe_reader reader = { probe_file_open, list_with_parts, parsers_explain,
					      parsers };
	int err = uprobe_places_find(parts->path, parts->name, &reader, places);

	if (err == 0 && places->n > DP_MAX_SPAN_PLACES) {
		log_error("%s has %zu functions %s; calls of at most %d can label samples",
			  parts->path, places->n, parts->name, DP_MAX_SPAN_PLACES);
		err = -E2BIG;
	}
	if (err == 0)
		err = probe_lists_make(parsers, &parts->arguments, places, lists);
	for (size_t i = 0; err == 0 && i < places->n; i++)
		places->cookies[i] = DP_SPAN_COOKIE(places->cookies[i], i);
	return err;
}

static int attach(struct session *session, struct parsers *parsers, const struct probe_parts *parts,
		  struct event_text *ret)
{
	_cleanup_uprobe_places_ struct uprobe_places places = UPROBE_PLACES_NONE;
	_cleanup_(probe_lists_done) struct probe_lists lists = { 0 };
	int err = find(parsers, parts, &places, &lists);

	if (err == 0)
		err = measure(parts, &places, &ret->code);
	if (err == 0)
		find_build_id(parsers, places.fd, ret->code.build_id);
	if (err == 0)
		err = session_set_arguments(session, lists.lists, lists.n);
	if (err == 0)
		err = session_label_calls(session, &places, &ret->code.places);
	if (err < 0)
		return err;
	ret->lists = steal_ptr(lists.forms);
	ret->n_lists = lists.n;
	return 0;
}

static int attach_text(struct session *session, struct parsers *parsers, const char *text,
		       struct event_text *ret)
{
	_cleanup_(probe_parts_done) struct probe_parts parts;
	char why[ARGUMENTS_WHY_SIZE];
	int err = split(text, &parts, why);

	if (err < 0) {
		log_error("--probe %s: %s", text, why);
		return err;
	}
	return attach(session, parsers, &parts, ret);
}

int label_probe_attach(struct session *session, struct parsers *parsers,
		       const struct profiler_options *o, struct event_text *ret,
		       struct value_labels *ret_labels)
{
	struct event_text probe = { 0 };
	int err = 0;

	if (o->label_probe)
		err = attach_text(session, parsers, o->label_probe, &probe);
	if (err == 0)
		err = o->event.source->attach(session, parsers, o, ret);
	if (o->label_probe) {
		ret->code = probe.code;
		ret->lists = probe.lists;
		ret->n_lists = probe.n_lists;
	}
	value_labels_init(ret_labels, ret->lists, ret->n_lists, o->value);
	ret_labels->code = o->label_probe ? &ret->code : NULL;
	return err;
}
