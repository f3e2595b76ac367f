// SPDX-License-Identifier: Apache-2.0
#include "tables/x86_64/go_labels.h"

#include <errno.h>

#include "base/cleanup.h"

/* The first Go version whose labels are a list (runtime/pprof/label.go). */
#define GO_LIST_MINOR 24

static enum dp_labels_form form_of(const struct pclntab *t, unsigned int minor)
{
	/* Up to Go 1.19, the table's layout gives the version. */
	if (t->layout != PCLNTAB_GO_1_20)
		return DP_LABELS_GO_MAP;
	if (minor == 0)
		return DP_LABELS_NONE;
	return minor < GO_LIST_MINOR ? DP_LABELS_GO_MAP : DP_LABELS_GO_LIST;
}

/*
 * True for the goroutine's struct g: in r14 by the ABI, or, up to Go 1.16, in a word of the thread.
 */
static bool is_goroutine(const struct sum_parts *parts, const struct sum *s)
{
	struct sum r14 = sum_register(DP_R14), address;

	if (sum_is_equal(s, &r14))
		return true;
	if (!sum_is_word(parts, s, &address))
		return false;
	for (size_t i = 0; i < address.n_terms; i++)
		if (address.terms[i].part == DP_THREAD_BASE)
			return true;
	return false;
}

/*
 * Offset of the labels in a struct g: where runtime_setProfLabel() puts its argument, which is in
 * rax, or, up to Go 1.16, on the stack.
 */
static int find_place(struct go_code *code, const struct pclntab_function *f, int64_t *ret)
{
	_cleanup_(go_code_function_done) struct go_code_function function = { 0 };
	struct sum rax = sum_register(DP_RAX), eight = sum_number(8);
	struct sum rsp = sum_register(DP_RSP), on_stack = sum_add(&rsp, &eight, 1), place;
	int err = go_code_read(code, f, &function);

	if (err < 0)
		return err;
	if (!return_path_left(&function.path, &rax, false, &place) &&
	    !return_path_left(&function.path, &on_stack, true, &place))
		return -ENOENT;
	*ret = place.number;
	place.number = 0;
	return is_goroutine(&function.path.parts, &place) ? 0 : -ENOENT;
}

/*
 * The program runs for a thread, not for a frame, whose registers would be a callee's or caller's.
 */
static bool is_of_thread(const struct rule_program *program)
{
	for (uint64_t i = 0; i < program->n_ops; i++) {
		const struct dp_op *op = &program->ops[i];

		if (op->code == DP_OP_REGISTER && op->arg != DP_THREAD_BASE && op->arg != DP_BIAS)
			return false;
	}
	return true;
}

int go_labels_find(struct go_labels *ret, struct go_code *code, const struct go_switch *found,
		   unsigned int minor)
{
	struct sum_parts parts = found->parts;
	struct sum labels = found->goroutine;
	int err;

	*ret = (struct go_labels){ .form = form_of(code->table, minor) };
	if (ret->form == DP_LABELS_NONE || !found->has_goroutine || !found->set_labels.name)
		return -ENOENT;
	err = find_place(code, &found->set_labels, &labels.number);
	if (err < 0)
		return err;
	labels = sum_word(&parts, &labels);
	return sum_compile(&parts, &labels, 0, &ret->program) && is_of_thread(&ret->program) ?
		       0 :
		       -ENOENT;
}
