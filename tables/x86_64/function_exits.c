// SPDX-License-Identifier: Apache-2.0
#include "tables/function_exits.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "tables/x86_64/instruction.h"

/* Instructions that are decoded together. */
#define BATCH 256

struct exits {
	uint64_t start, size;
	bool *begins;  /* does an instruction, at each byte? */
	bool *targets; /* is it jumped to? */
	struct function_exit *found;
	size_t n, room;
};

/* Is it in the code? An exit's target is not. */
static bool is_within(const struct exits *x, uint64_t address)
{
	return address - x->start < x->size;
}

/*
 * A jump through memory relative to the program counter goes through a slot of a linker, as -fno-plt has it. A
 * table of places to continue at would need an index.
 */
static bool leaves(const struct exits *x, const struct instruction *in)
{
	if (in->kind == INSTRUCTION_RETURN)
		return true;
	if ((in->kind != INSTRUCTION_JUMP && in->kind != INSTRUCTION_BRANCH) ||
	    in->from.kind != OPERAND_ADDRESS)
		return false;
	return in->from.size > 0 || !is_within(x, (uint64_t)in->from.number);
}

static int take(struct exits *x, const struct instruction *in)
{
	bool jumps = (in->kind == INSTRUCTION_JUMP || in->kind == INSTRUCTION_BRANCH) &&
		     in->from.kind == OPERAND_ADDRESS && in->from.size == 0;
	uint64_t to = jumps ? (uint64_t)in->from.number : 0;

	x->begins[in->start - x->start] = true;
	if (jumps && is_within(x, to))
		x->targets[to - x->start] = true;
	if (!leaves(x, in))
		return 0;
	if (array_reserve(x->found, x->n, x->room) < 0)
		return -ENOMEM;
	x->found[x->n++] = (struct function_exit){
		.at = in->start,
		.to = to,
		.returns = in->kind == INSTRUCTION_RETURN,
		.may_stay = in->kind == INSTRUCTION_BRANCH,
	};
	return 0;
}

static int decode(struct exits *x, const uint8_t *code)
{
	struct instruction batch[BATCH];
	size_t done = 0, n = BATCH;
	int err = 0;

	while (err == 0 && n == BATCH) {
		n = instructions_decode(code + done, x->start + done, x->start + x->size, batch,
					BATCH);
		for (size_t i = 0; err == 0 && i < n; i++) {
			err = take(x, &batch[i]);
			done = batch[i].end - x->start;
		}
	}
	return err == 0 && done < x->size ? -EBADMSG : err;
}

static int check(const struct exits *x)
{
	for (size_t i = 0; i < x->size; i++)
		if (x->targets[i] && !x->begins[i])
			return -EBADMSG;
	return 0;
}

int function_exits_find(const uint8_t *code, uint64_t address, size_t size,
			struct function_exit **ret, size_t *ret_n)
{
	_cleanup_free_ bool *begins = calloc(size + 1, sizeof(*begins));
	_cleanup_free_ bool *targets = calloc(size + 1, sizeof(*targets));
	struct exits x = { .start = address, .size = size, .begins = begins, .targets = targets };
	int err = begins && targets ? decode(&x, code) : -ENOMEM;

	if (err == 0)
		err = check(&x);
	if (err < 0) {
		free(x.found);
		x.found = NULL;
		x.n = 0;
	}
	*ret = x.found;
	*ret_n = x.n;
	return err;
}

size_t function_next_instruction(const uint8_t *code, uint64_t address, size_t size, size_t at)
{
	struct instruction batch[BATCH];
	size_t done = 0, n = BATCH;

	while (n == BATCH) {
		n = instructions_decode(code + done, address + done, address + size, batch, BATCH);
		for (size_t i = 0; i < n; i++) {
			if (batch[i].start - address >= at)
				return batch[i].start - address;
			done = batch[i].end - address;
		}
	}
	return size;
}
