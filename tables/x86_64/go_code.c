// SPDX-License-Identifier: Apache-2.0
#include "tables/x86_64/go_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "limits/limits.h"

static const uint8_t *code_at(const struct go_code *code, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < code->n_ranges; i++) {
		const struct code_range *r = &code->ranges[i];

		if (start >= r->address && start - r->address < r->size && end >= start &&
		    end - r->address <= r->size)
			return r->bytes + (start - r->address);
	}
	return NULL;
}

int go_code_read(struct go_code *code, const struct pclntab_function *f,
		 struct go_code_function *ret)
{
	uint64_t end = pclntab_function_end(code->table, f);
	const uint8_t *bytes;
	size_t max_steps;

	if (end - f->start > GO_MAX_CODE)
		end = f->start + GO_MAX_CODE;
	bytes = code_at(code, f->start, end);
	if (!bytes || end == f->start)
		return -ENOENT;
	ret->f = *f;
	ret->end = end;
	ret->code = code;
	max_steps = code->n_steps < GO_MAX_FILE_STEPS ? GO_MAX_FILE_STEPS - code->n_steps : 0;
	return return_path_init(&ret->path, bytes, f->start, end,
				max_steps < GO_MAX_STEPS ? max_steps : GO_MAX_STEPS);
}

int go_code_read_points(struct go_code *code, const struct pclntab_function *f,
			struct go_code_function *ret)
{
	int err = go_code_read(code, f, ret);

	if (err < 0)
		return err;
	ret->points = calloc(ret->path.n + 1, sizeof(*ret->points));
	if (!ret->points)
		return -ENOMEM;
	ret->is_whole = return_path_points(&ret->path, ret->points);
	return 0;
}

void go_code_function_done(struct go_code_function *f)
{
	free(f->points);
	if (f->code)
		f->code->n_steps += f->path.n_steps;
	return_path_done(&f->path);
}

/* Target of a direct call or jump; 0: it is neither. */
static uint64_t target_of(const struct instruction *in)
{
	if ((in->kind != INSTRUCTION_CALL && in->kind != INSTRUCTION_JUMP) ||
	    in->from.kind != OPERAND_ADDRESS || in->from.size != 0)
		return 0;
	return (uint64_t)in->from.number;
}

int go_code_find_call(const struct go_code *code, const struct go_code_function *caller,
		      const char *callee, const struct instruction **ret_call,
		      struct pclntab_function *ret_callee)
{
	for (size_t i = 0; i < caller->path.n; i++) {
		const struct instruction *in = &caller->path.instructions[i];
		uint64_t target = target_of(in);
		struct pclntab_function f;

		if (target == 0 || pclntab_find(code->table, target, &f) < 0 || f.start != target ||
		    strcmp(f.name, callee) != 0)
			continue;
		*ret_call = in;
		if (ret_callee)
			*ret_callee = f;
		return 0;
	}
	return -ENOENT;
}

int go_code_depth(const struct go_code *code, const struct pclntab_function *f, uint64_t address,
		  int32_t *ret)
{
	struct pclntab_values values;

	pclntab_values_init(&values, code->table, f, f->sp);
	while (pclntab_values_next(&values)) {
		if (address < values.last.start || address >= values.last.end)
			continue;
		if (values.last.value < 0 || values.last.value > INT32_MAX - 8)
			return -ENOENT;
		*ret = (int32_t)values.last.value;
		return 0;
	}
	return -ENOENT;
}
