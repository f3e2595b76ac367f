// SPDX-License-Identifier: Apache-2.0
#include "cli/listing.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "log/log.h"
#include "symbols/module.h"

/* A file, a character that sorts before all others, and the line with this many digits. */
#define LINE_KEY "%s\1%010u"

/* Where objdump has the file. */
#define OBJDUMP_FD 3

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
		line->path = path;
		path = NULL;
	}
	*ret = line->number;
	return 0;
}

static int add_instruction(struct listing *listing, uint64_t address, const char *text)
{
	const struct source_location *locations;
	struct instruction *instruction;

	if (array_reserve(listing->instructions, listing->n, listing->size) < 0)
		return -ENOMEM;
	instruction = &listing->instructions[listing->n];
	*instruction =
		(struct instruction){ .address = address, .text = strdup(text), .line = SIZE_MAX };
	if (!instruction->text)
		return -ENOMEM;
	text_make_plain(instruction->text);
	listing->n++;
	if (module_find_locations(listing->module, address, true, &locations) == 0 ||
	    !locations[0].file || locations[0].line == 0)
		return 0;
	return add_line(listing, &locations[0], &instruction->line);
}

/* objdump's lines of instructions are `  401136:<tab>ret`. */
static int read_instructions(struct listing *listing, FILE *from)
{
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	int err = 0;

	while (err == 0 && getline(&line, &size, from) > 0) {
		uint64_t address;
		char *end;

		errno = 0;
		address = strtoull(line, &end, 16);
		if (errno || end == line || end[0] != ':' || end[1] != '\t')
			continue;
		end[strcspn(end, "\n")] = '\0';
		err = add_instruction(listing, address, end + 2);
	}
	return err;
}

/*
 * With its output in a pipe. It gets the file as a descriptor, since that of a profiler with
 * capabilities, which is not dumpable, is closed to others in /proc. 0 or negative errno: -ENOENT
 * if there is no objdump.
 */
static int start_objdump(const struct listing *listing, FILE **ret, pid_t *ret_pid)
{
	_cleanup_free_ char *begin = NULL, *end = NULL, *path = NULL;
	_cleanup_close_ int file = -1;
	char *arguments[] = { (char *)"objdump",
			      (char *)"-dw",
			      (char *)"--no-show-raw-insn",
			      NULL,
			      NULL,
			      NULL,
			      NULL };
	posix_spawn_file_actions_t actions;
	int fds[2], err;

	if (asprintf(&begin, "--start-address=0x%" PRIx64, listing->start) < 0 ||
	    asprintf(&end, "--stop-address=0x%" PRIx64, listing->end) < 0 ||
	    asprintf(&path, "/proc/self/fd/%d", OBJDUMP_FD) < 0)
		return -ENOMEM;
	/* One that is there already would be closed. */
	file = fcntl(listing->module->fd, F_DUPFD_CLOEXEC, OBJDUMP_FD + 1);
	if (file < 0)
		return -errno;
	arguments[3] = begin;
	arguments[4] = end;
	arguments[5] = path;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	err = posix_spawn_file_actions_init(&actions);
	if (err == 0) {
		err = posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
		if (err == 0)
			err = posix_spawn_file_actions_adddup2(&actions, file, OBJDUMP_FD);
		if (err == 0)
			err = posix_spawnp(ret_pid, arguments[0], &actions, NULL, arguments,
					   environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	close(fds[1]);
	*ret = err == 0 ? fdopen(fds[0], "r") : NULL;
	if (!*ret)
		close(fds[0]);
	return -err;
}

/* The file that was recorded, which is open, whatever lies at its path by now. */
static int disassemble(struct listing *listing)
{
	int status = 0, err;
	pid_t pid;
	FILE *from = NULL;

	err = start_objdump(listing, &from, &pid);
	if (err == -ENOENT)
		log_error("there is no objdump, which disassembles: install binutils");
	if (err < 0)
		return err;
	err = from ? read_instructions(listing, from) : -ENOMEM;
	if (from)
		fclose(from);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (err == 0 && (status != 0 || listing->n == 0)) {
		log_error("objdump cannot disassemble %s from 0x%" PRIx64 " on",
			  listing->module->path, listing->start);
		return -EINVAL;
	}
	return err;
}

/* The one that an address is in: a call precedes the address that it returns to. NULL: none. */
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
	return first > 0 ? &listing->instructions[first - 1] : NULL;
}

/* By the names that objdump gives such instructions, whatever the architecture. */
static bool is_system_call(const struct instruction *instruction)
{
	static const char *const names[] = { "syscall", "svc", "ecall" };
	size_t size = strcspn(instruction->text, " \t");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (size == strlen(names[i]) && memcmp(instruction->text, names[i], size) == 0)
			return true;
	return false;
}

static void add(struct listing *listing, struct instruction *instruction, uint64_t value)
{
	if (!instruction)
		return;
	instruction->value += value;
	if (instruction->line != SIZE_MAX)
		listing->numbered[instruction->line]->value += value;
}

static void add_up(struct listing *listing, struct annotation *annotation)
{
	for (struct annotation_site *site = annotation->sites; site; site = site->hh.next) {
		struct instruction *at, *before;

		if (site->key.module != listing->module || !is_in_function(listing, site->code))
			continue;
		site->is_listed = true;
		listing->value += site->value;
		at = find_instruction(listing, site->code);
		before = find_instruction(listing, site->key.address - 1);
		/* In a system call, a thread is behind the instruction that waits. */
		if (!before || !is_system_call(before))
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
		log_error("%s cannot be disassembled: its file is not there as it was recorded "
			  "(build id %s)",
			  module->path, module->build_id[0] ? module->build_id : "none");
		skip_others(annotation, module, false);
		return -ESTALE;
	}
	err = module_find_start(module, site->code, &ret->start);
	if (err < 0) {
		log_error("it is not known where %s begins in %s", annotation->function,
			  module->path);
		skip_others(annotation, module, true);
		return err;
	}
	find_end(ret, site->code);
	err = disassemble(ret);
	add_up(ret, annotation);
	HASH_SORT(ret->lines, line_compare);
	return err;
}
