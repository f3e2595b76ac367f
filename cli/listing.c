// SPDX-License-Identifier: Apache-2.0
#include "cli/listing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/sum.h"
#include "base/text.h"
#include "log/log.h"
#include "sandbox/parsers.h"
#include "symbols/module.h"
#include "tables/disassembly.h"

/* A file, a character that sorts before all others, and the line with this many digits. */
#define LINE_KEY "%s\1%010u"

/* Nobody reads a longer one; whose file it is could make it as long as memory lasts. */
#define MAX_BYTES (UINT64_C(128) << 20)

/* So long is no function. */
#define MAX_SIZE (UINT64_C(1) << 26)

void listing_done(struct listing *listing)
{
	struct listed_line *line, *next;

	for (size_t i = 0; i < listing->n; i++)
		free(listing->instructions[i].text);
	free(listing->instructions);
	free(listing->numbered);
	HASH_ITER(hh, listing->lines, line, next) {
		HASH_DEL(listing->lines, line);
		free(line->path);
		free(line);
	}
}

static bool is_in_function(const struct listing *listing, uint64_t address)
{
	uint64_t start;

	return module_find_start(listing->module, address, &start) == 0 && start == listing->start;
}

/* A function is in one piece, so its end is where addresses stop being in it. */
static void find_end(struct listing *listing, uint64_t inside)
{
	uint64_t outside = inside + 1;

	while (is_in_function(listing, outside) && outside - inside < MAX_SIZE)
		outside += outside - listing->start;
	while (outside - inside > 1) {
		uint64_t middle = inside + (outside - inside) / 2;

		if (is_in_function(listing, middle))
			inside = middle;
		else
			outside = middle;
	}
	listing->end = outside;
}

static int add_line(struct listing *listing, const struct source_location *location, size_t *ret)
{
	_cleanup_free_ char *path = NULL, *key = NULL;
	struct listed_line *line;
	size_t size;

	if (location->file[0] == '/' || !location->dir)
		path = strdup(location->file);
	else if (asprintf(&path, "%s/%s", location->dir, location->file) < 0)
		path = NULL;
	if (!path || asprintf(&key, LINE_KEY, path, location->line) < 0) {
		key = NULL;
		return -ENOMEM;
	}
	size = strlen(key) + 1;
	HASH_FIND(hh, listing->lines, key, size, line);
	if (!line) {
		if (array_reserve(listing->numbered, listing->n_lines, listing->lines_size) < 0)
			return -ENOMEM;
		line = calloc(1, sizeof(*line) + size);
		if (!line)
			return -ENOMEM;
		memcpy(line->key, key, size);
		line->key_size = size;
		line->line = location->line;
		line->number = listing->n_lines;
		HASH_ADD(hh, listing->lines, key, size, line);
		if (!HASH_IS_ADDED(hh, line)) {
			free(line);
			return -ENOMEM;
		}
		listing->numbered[listing->n_lines++] = line;
		listing->n_bytes += sizeof(*line) + size + strlen(path);
		line->path = path;
		path = NULL;
	}
	*ret = line->number;
	return 0;
}

/* A jump's or call's target is called by the function that it is in, which may be another one. */
static char *name_target(struct listing *listing, const struct code_line *line)
{
	const struct source_location *locations;
	size_t n = module_find_locations(listing->module, line->target, false, &locations);
	_cleanup_free_ char *function = NULL;
	uint64_t start;
	char *text;
	int size;

	if (n == 0 || !locations[n - 1].function)
		return strdup(line->text);
	/* It lives until the next look-up. */
	function = strdup(locations[n - 1].function);
	if (!function)
		return NULL;
	if (module_find_start(listing->module, line->target, &start) == 0 && line->target > start)
		size = asprintf(&text, "%s <%s+0x%" PRIx64 ">", line->text, function,
				line->target - start);
	else
		size = asprintf(&text, "%s <%s>", line->text, function);
	return size < 0 ? NULL : text;
}

static int add_instruction(struct listing *listing, const struct code_line *line)
{
	const struct source_location *locations;
	struct instruction *instruction;

	if (array_reserve(listing->instructions, listing->n, listing->size) < 0)
		return -ENOMEM;
	instruction = &listing->instructions[listing->n];
	*instruction = (struct instruction){
		.address = line->address,
		.is_system_call = line->is_system_call,
		.text = line->is_branch ? name_target(listing, line) : strdup(line->text),
		.line = SIZE_MAX,
	};
	if (!instruction->text)
		return -ENOMEM;
	text_make_plain(instruction->text);
	listing->n++;
	listing->n_bytes += sizeof(*instruction) + strlen(instruction->text);
	if (module_find_locations(listing->module, line->address, true, &locations) == 0 ||
	    !locations[0].file || locations[0].line == 0)
		return 0;
	return add_line(listing, &locations[0], &instruction->line);
}

static bool is_full(const struct listing *listing)
{
	return listing->n_bytes > MAX_BYTES;
}

static int add_instructions(struct listing *listing, const struct code_line *lines, size_t n)
{
	int err = 0;

	/* A reader that is another process is asked about all at once. */
	for (size_t i = 0; i < n; i++) {
		module_want(listing->module, lines[i].address, true);
		if (lines[i].is_branch)
			module_want(listing->module, lines[i].target, false);
	}
	for (size_t i = 0; i < n && err == 0 && !is_full(listing); i++)
		err = add_instruction(listing, &lines[i]);
	return err;
}

static void cut_off(struct listing *listing, const char *function)
{
	uint64_t last = listing->instructions[listing->n - 1].address;

	log_warning("%s in %s is too long: what follows 0x%" PRIx64 " is left out", function,
		    listing->module->path, last);
	listing->end = last + 1;
}

/* The file that was recorded, which is open, whatever lies at its path by now; piece by piece. */
static int read_code(struct listing *listing, const char *function)
{
	uint64_t at = listing->start;
	int err = 0;

	while (err == 0 && at < listing->end && !is_full(listing)) {
		_cleanup_free_ struct code_line *lines = NULL;
		size_t n = 0;

		err = module_disassemble(listing->module, at, listing->end, &lines, &n);
		/* What has read them may say anything. */
		if (err == 0 && (n == 0 || lines[0].address != at))
			err = -EPROTO;
		if (err == 0)
			err = add_instructions(listing, lines, n);
		if (err == 0)
			at = lines[n - 1].address + lines[n - 1].size;
	}
	if (err == 0 && is_full(listing))
		cut_off(listing, function);
	/* Behind its code, there may be none. */
	if (err == -ENODATA && listing->n > 0)
		return 0;
	if (err < 0)
		log_error("cannot disassemble %s from 0x%" PRIx64 " on: %s", listing->module->path,
			  at, err == -ENODATA ? "no code is there" : parsers_explain(err));
	return err;
}

/*
 * The one that an address is in: a call precedes the address that it returns to. NULL: none, or it is not
 * listed.
 */
static struct instruction *find_instruction(const struct listing *listing, uint64_t code)
{
	size_t first = 0, end = listing->n;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (listing->instructions[middle].address <= code)
			first = middle + 1;
		else
			end = middle;
	}
	return first > 0 && code < listing->end ? &listing->instructions[first - 1] : NULL;
}

static void add(struct listing *listing, struct instruction *instruction, uint64_t value)
{
	if (!instruction)
		return;
	sum_increase(&instruction->value, value);
	if (instruction->line != SIZE_MAX)
		sum_increase(&listing->numbered[instruction->line]->value, value);
}

static void add_up(struct listing *listing, struct annotation *annotation)
{
	for (struct annotation_site *site = annotation->sites; site; site = site->hh.next) {
		struct instruction *at, *before;

		if (site->key.module != listing->module || !is_in_function(listing, site->code))
			continue;
		site->is_listed = true;
		sum_increase(&listing->value, site->value);
		at = find_instruction(listing, site->code);
		before = find_instruction(listing, site->key.address - 1);
		/* In a system call, a thread is behind the instruction that waits. */
		if (!before || !before->is_system_call)
			before = at;
		add(listing, before, site->blocked);
		add(listing, at, site->value - site->blocked);
	}
}

static int line_compare(struct listed_line *a, struct listed_line *b)
{
	return strcmp(a->key, b->key);
}

/* So that the same is not said of each. */
static void skip_others(struct annotation *annotation, struct module *module, bool has_file)
{
	for (struct annotation_site *site = annotation->sites; site; site = site->hh.next) {
		uint64_t start;

		if (site->key.module == module &&
		    (!has_file || module_find_start(module, site->code, &start) < 0))
			site->is_listed = true;
	}
}

int listing_make(struct annotation *annotation, const struct annotation_site *site,
		 struct listing *ret)
{
	struct module *module = site->key.module;
	int err;

	*ret = (struct listing){ .module = module };
	if (module->fd < 0 || !module_has_file(module)) {
		log_error("cannot disassemble %s: the recorded file is not there (build id %s)",
			  module->path, module->build_id[0] ? module->build_id : "none");
		skip_others(annotation, module, false);
		return -ESTALE;
	}
	err = module_find_start(module, site->code, &ret->start);
	if (err < 0) {
		log_error("cannot find the start of %s in %s", annotation->function, module->path);
		skip_others(annotation, module, true);
		return err;
	}
	find_end(ret, site->code);
	err = read_code(ret, annotation->function);
	add_up(ret, annotation);
	HASH_SORT(ret->lines, line_compare);
	return err;
}
