// SPDX-License-Identifier: Apache-2.0
#include "formats/code_mappings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "bpf/arch.h"
#include "formats/file_hash.h"

struct code_mappings_binary {
	UT_hash_handle hh;
	const struct module *module;
	uint64_t count;     /* of events with code in it, once per frame */
	uint64_t own_count; /* of those in processes with its name */
	char hash[FILE_HASH_SIZE];
	size_t n;
	/* Its segments; the last mapping is for addresses outside of them. */
	struct code_mapping mappings[];
};

void code_mappings_done(struct code_mappings *list)
{
	struct code_mappings_binary *b, *next;

	HASH_ITER(hh, list->binaries, b, next) {
		HASH_DEL(list->binaries, b);
		free(b);
	}
	free(list->mappings);
	*list = (struct code_mappings){ 0 };
}

static struct code_mappings_binary *find_binary(const struct code_mappings *list,
						const struct module *module)
{
	struct code_mappings_binary *b;

	HASH_FIND_PTR(list->binaries, &module, b);
	return b;
}

/* A file that cannot be read any more has none: its addresses belong to the last mapping. */
static int read_pages(const struct module *module, struct code_pages **ret, size_t *ret_n)
{
	int err = module_find_pages(module, ret, ret_n);

	return err == -ENOMEM ? err : 0;
}

/* A file that was written to is not the one that ran. */
static void hash_file(const struct module *module, char ret[FILE_HASH_SIZE])
{
	if (module->fd < 0 || module_is_written_to(module) || file_hash(module->fd, ret) < 0)
		ret[0] = '\0';
}

/* module: NULL: the kernel. */
static int add_binary(struct code_mappings *list, const struct module *module)
{
	_cleanup_free_ struct code_pages *pages = NULL;
	struct code_mappings_binary *b;
	size_t n = 0;
	int err = 0;

	if (find_binary(list, module))
		return 0;
	if (module)
		err = read_pages(module, &pages, &n);
	if (err < 0)
		return err;
	b = calloc(1, sizeof(*b) + (n + 1) * sizeof(b->mappings[0]));
	if (!b)
		return -ENOMEM;
	b->module = module;
	b->n = n + 1;
	if (module && list->hashes)
		hash_file(module, b->hash);
	for (size_t i = 0; i < b->n; i++)
		b->mappings[i].hash = b->hash;
	for (size_t i = 0; i < n; i++)
		b->mappings[i].range = pages[i];
	if (!module)
		b->mappings[n].range = (struct code_pages){ DP_KERNEL_START, UINT64_MAX, 0 };
	HASH_ADD_PTR(list->binaries, module, b);
	if (!HASH_IS_ADDED(hh, b)) {
		free(b);
		return -ENOMEM;
	}
	return 0;
}

int code_mappings_add(struct code_mappings *list, const struct sample *sample)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < sample->n_user; i++)
		if (frame_is_in_binary(&sample->user[i]))
			err = add_binary(list, sample->user[i].module);
	return err;
}

static struct code_mapping *find_mapping(struct code_mappings_binary *b, uint64_t address)
{
	size_t i = 0;

	while (i < b->n - 1 &&
	       (address < b->mappings[i].range.start || address >= b->mappings[i].range.limit))
		i++;
	return &b->mappings[i];
}

bool code_mapping_is_called(const struct module *module, const char *comm)
{
	return module && *comm && strncmp(module->name, comm, strlen(comm)) == 0;
}

static int use(struct code_mappings *list, const struct module *module, uint64_t address,
	       const struct stack *stack)
{
	struct code_mappings_binary *b;
	struct code_mapping *m;
	int err = add_binary(list, module);

	if (err < 0)
		return err;
	b = find_binary(list, module);
	m = find_mapping(b, address);
	m->module = module;
	m->is_used = true;
	m->has_functions = m->has_files = m->has_lines = true; /* until a location without them
	                                                        * is found */
	if (address >= m->range.limit && address < UINT64_MAX)
		m->range.limit = address + 1;
	b->count += stack->count;
	if (code_mapping_is_called(module, stack->common.comm))
		b->own_count += stack->count;
	return 0;
}

int code_mappings_use(struct code_mappings *list, const struct stack *stack)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < stack->n_user; i++) {
		struct frame frame = stack_frame_unpack(&stack->user[i]);

		if (frame_is_in_binary(&frame) && frame.offset > 0)
			err = use(list, frame.module, frame.offset - !frame_is_exact(&frame),
				  stack);
	}
	for (size_t i = 0; err == 0 && i < stack->n_kernel; i++)
		err = use(list, NULL, stack->kernel[i] - (i > 0), stack);
	return err;
}

/* The binary with most samples, if none has the name of its processes. */
static struct code_mappings_binary *find_program(const struct code_mappings *list)
{
	struct code_mappings_binary *program = NULL;

	for (struct code_mappings_binary *b = list->binaries; b; b = b->hh.next)
		if (b->module &&
		    (!program || b->own_count > program->own_count ||
		     (b->own_count == program->own_count && b->count > program->count)))
			program = b;
	return program;
}

static int number_binary(struct code_mappings *list, size_t *size, struct code_mappings_binary *b)
{
	for (size_t i = 0; i < b->n; i++) {
		if (!b->mappings[i].is_used)
			continue;
		if (array_reserve(list->mappings, list->n, *size) < 0)
			return -ENOMEM;
		list->mappings[list->n] = &b->mappings[i];
		b->mappings[i].number = ++list->n;
	}
	return 0;
}

int code_mappings_number(struct code_mappings *list)
{
	struct code_mappings_binary *program = find_program(list);
	size_t size = 0;
	int err = 0;

	if (program)
		err = number_binary(list, &size, program);
	for (struct code_mappings_binary *b = list->binaries; err == 0 && b; b = b->hh.next)
		if (b != program)
			err = number_binary(list, &size, b);
	return err;
}

struct code_mapping *code_mappings_find(const struct code_mappings *list,
					const struct symbolized_frame *symbolized)
{
	struct code_mappings_binary *b;

	if (symbolized->address == 0 ||
	    (symbolized->kind == SYMBOLIZED_USER && !symbolized->module))
		return NULL;
	b = find_binary(list, symbolized->module);
	return b ? find_mapping(b, symbolized_code_address(symbolized)) : NULL;
}
