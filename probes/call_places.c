// SPDX-License-Identifier: Apache-2.0
#include "probes/call_places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/uprobe_places.h"
#include "limits/limits.h"
#include "log/log.h"
#include "probes/probe_lists.h"
#include "probes/probe_parts.h"
#include "samples/probed_code.h"
#include "sandbox/parsers.h"

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

static int note_maybe(struct probed_code *code, const struct listed_function *f)
{
	struct code_extent *grown;

	if (code->n_maybe == PROBE_MAX_PARTS)
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

/* Before which address a probe may not have been hit. */
static int note_start(int fd, uint64_t offset, struct dp_span_place *place)
{
	uint8_t byte = 0;

	if (pread(fd, &byte, 1, (off_t)offset) < 0)
		return -errno;
	place->begun = DP_PROBED_FROM(byte);
	return 0;
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
	for (size_t i = 0; err == 0 && i < places->n; i++) {
		ret->starts[i] = places->offsets[i];
		err = note_start(places->fd, places->offsets[i], &ret->places.of[i]);
	}
	for (size_t at = 0; err == 0 && function_list_next(&places->functions, &at, &f);)
		err = note(ret, &f);
	for (size_t i = 0; err == 0 && i < places->n; i++)
		if (ret->places.of[i].size == 0)
			err = -ENODATA;
	return err;
}

/* Is code at an offset of the file Go's? */
static bool is_go(const struct elf_facts *facts, uint64_t offset)
{
	for (size_t i = 0; i < facts->n_segments; i++) {
		const struct elf_segment *s = &facts->segments[i];
		uint64_t address = s->address + (offset - s->offset);

		if (offset - s->offset < s->file_size && address >= facts->go_start &&
		    address < facts->go_end)
			return true;
	}
	return false;
}

/* Go's runtime frees the old stack when it has moved one, and gets the memory of new ones from there. */
#define GO_FREES "runtime.stackfree"

static int add_more(struct uprobe_places *places, uint64_t offset)
{
	uint64_t *offsets = reallocarray(places->offsets, places->n + 1, sizeof(*offsets));
	uint64_t *cookies = reallocarray(places->cookies, places->n + 1, sizeof(*cookies));

	places->offsets = offsets ?: places->offsets;
	places->cookies = cookies ?: places->cookies;
	if (!offsets || !cookies)
		return -ENOMEM;
	offsets[places->n] = offset;
	cookies[places->n] = DP_SPAN_COOKIE_MOVES;
	places->n_more = 1;
	return 0;
}

/* Has this place probed as well: calls that are kept may have moved. */
static int add_moves(const struct uprobe_reader *reader, const struct probe_parts *parts,
		     struct uprobe_places *places)
{
	const struct function_query query = { .pattern = GO_FREES };
	struct function_list found = { 0 };
	struct listed_function f;
	size_t at = 0;
	int err = reader->list(reader->arg, places->fd, &query, &found);

	if (err == 0)
		err = function_list_next(&found, &at, &f) ? add_more(places, f.offset) : -ENOENT;
	if (err < 0)
		log_error(
			"cannot distinguish calls of %s in %s: Go moves stacks, and the program has "
			"no " GO_FREES "()",
			parts->name, parts->path);
	function_list_done(&found);
	return err;
}

/* What else is to be known of the file. */
static int find_facts(struct parsers *parsers, const struct uprobe_reader *reader,
		      const struct probe_parts *parts, bool has_ends, struct uprobe_places *places,
		      char ret_build_id[ELF_BUILD_ID_SIZE])
{
	const struct parse_request request = {
		.kind = PARSE_FACTS, .fd = places->fd, .other = -1, .user = reader->user
	};
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	clockid_t clock = 0;
	int err = parsers_ask(parsers, &request, &clock, &result);

	if (err < 0) {
		log_error("cannot read %s: %s", parts->path, strerror(-err));
		return err;
	}
	memcpy(ret_build_id, result.facts.origin.build_id, ELF_BUILD_ID_SIZE);
	for (size_t i = 0; i < places->n; i++) {
		if (!is_go(&result.facts, places->offsets[i]))
			continue;
		if (!has_ends)
			return add_moves(reader, parts, places);
		log_error(
			"cannot follow calls of %s in %s to their end: it is a Go function, and Go moves "
			"stacks; `--probe label:' works",
			parts->name, parts->path);
		return -EOPNOTSUPP;
	}
	return 0;
}

static int measure(const struct probe_parts *parts, const struct uprobe_places *places,
		   struct probed_code *ret)
{
	int err = find_code(places, ret);

	if (err == -ENODATA)
		log_error("the symbol of %s in %s has no size", parts->name, parts->path);
	else if (err == -E2BIG)
		log_error("%s has more than %d parts of functions %s", parts->path, PROBE_MAX_PARTS,
			  parts->name);
	else if (err < 0)
		log_error("cannot read %s: %s", parts->path, strerror(-err));
	return err;
}

/* Lists what the caller's reader does, with more of it. */
struct call_reader {
	const struct uprobe_reader *base;
	bool has_ends;
};

static int open_file(void *arg, const char *path)
{
	const struct call_reader *r = arg;

	return r->base->open(r->base->arg, path);
}

static int list_with_parts(void *arg, int fd, const struct function_query *query,
			   struct function_list *ret)
{
	const struct call_reader *r = arg;
	struct function_query wanted = *query;

	wanted.has_parts = true;
	wanted.has_ends = r->has_ends;
	return r->base->list(r->base->arg, fd, &wanted, ret);
}

static int find_places(const struct uprobe_reader *base, const struct probe_parts *parts,
		       bool has_ends, struct uprobe_places *ret)
{
	struct call_reader with_parts = { base, has_ends };
	const struct uprobe_reader reader = { open_file, list_with_parts, base->explain,
					      &with_parts, base->user };
	int err = uprobe_places_find(parts->path, parts->name, &reader, ret);

	if (err == 0 && ret->n > DP_MAX_SPAN_PLACES) {
		log_error("%s has %zu functions called %s; calls of at most %d can label samples",
			  parts->path, ret->n, parts->name, DP_MAX_SPAN_PLACES);
		err = -E2BIG;
	}
	return err;
}

int call_places_find(struct parsers *parsers, const struct uprobe_reader *reader,
		     const struct probe_parts *parts, bool has_ends, struct uprobe_places *ret,
		     struct probe_lists *ret_lists, struct probed_code *ret_code)
{
	int err = find_places(reader, parts, has_ends, ret);

	*ret_lists = (struct probe_lists){ 0 };
	if (err == 0 && parts->arguments.n > 0)
		err = probe_lists_make(parsers, reader->user, &parts->arguments, ret, ret_lists);
	if (err == 0 && !ret->cookies)
		ret->cookies = calloc(ret->n, sizeof(*ret->cookies));
	if (err == 0 && !ret->cookies)
		err = -ENOMEM;
	if (err == 0)
		err = measure(parts, ret, ret_code);
	if (err == 0)
		err = find_facts(parsers, reader, parts, has_ends, ret, ret_code->build_id);
	return err;
}

/* Functions have several symbols, which list the same. */
static bool has_end(const struct call_ends *e, uint64_t offset)
{
	for (size_t i = 0; i < e->places.n; i++)
		if (e->places.offsets[i] == offset)
			return true;
	return false;
}

static int take_ends(const struct uprobe_places *places, size_t of, struct call_ends *e)
{
	struct listed_function f;
	size_t n = e->places.n;

	for (size_t at = 0; function_list_next(&places->functions, &at, &f);) {
		if (f.kind != LISTED_EXIT || f.of != places->offsets[of] || has_end(e, f.offset))
			continue;
		if (e->places.n == UPROBE_MAX_PLACES)
			return -E2BIG;
		e->places.offsets[e->places.n] = f.offset;
		e->places.cookies[e->places.n++] = places->cookies[of];
	}
	return e->places.n > n ? 0 : -ENODATA;
}

int call_ends_find(const struct probe_parts *parts, const struct uprobe_places *places,
		   struct call_ends *ret)
{
	int err = 0;

	ret->places = *places;
	ret->places.n = ret->places.n_more = 0;
	ret->places.offsets = calloc(UPROBE_MAX_PLACES, sizeof(*ret->places.offsets));
	ret->places.cookies = calloc(UPROBE_MAX_PLACES, sizeof(*ret->places.cookies));
	if (!ret->places.offsets || !ret->places.cookies)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < places->n; i++)
		err = take_ends(places, i, ret);
	if (err == -ENODATA)
		log_error(
			"cannot find where %s in %s returns; `--probe label:' does not need to know",
			parts->name, parts->path);
	else if (err == -E2BIG)
		log_error(
			"calls of %s in %s return at too many places; at most %d can be sampled at once",
			parts->name, parts->path, UPROBE_MAX_PLACES);
	else
		log_debug("calls of %s return at %zu places", parts->name, ret->places.n);
	return err;
}

void call_ends_done(struct call_ends *ends)
{
	free(ends->places.offsets);
	free(ends->places.cookies);
}
