// SPDX-License-Identifier: Apache-2.0
#include "tables/go_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "limits/limits.h"
#include "tables/x86_64/go_labels.h"
#include "tables/x86_64/go_switch.h"

/* The kinds of functions with rules of their own. */
enum go_kind {
	GO_NONE,
	GO_ROOT,
	GO_RETURN, /* where it has loaded rsp: its own way back */
	GO_WHOLE,  /* the same, in the whole function */
	GO_MCALL,
	GO_MORESTACK,
	GO_CLONE,
	GO_INJECTED, /* called by a signal handler, not by the code that it returns to */
	GO_SIGRETURN,
};

static const struct {
	const char *name;
	enum go_kind kind;
} names[] = {
	{ "runtime.goexit", GO_ROOT },
	{ "runtime.mstart", GO_ROOT },
	{ "runtime.rt0_go", GO_ROOT },
	{ "runtime.mcall", GO_MCALL },
	{ "runtime.morestack", GO_MORESTACK },
	{ "runtime.clone", GO_CLONE },
	{ "runtime.asyncPreempt", GO_INJECTED },
	{ "runtime.sigpanic", GO_INJECTED },
	{ "runtime.sigpanic0", GO_INJECTED },
	{ "runtime.debugCallV2", GO_INJECTED },
	{ "runtime.sigreturn__sigaction", GO_SIGRETURN },
	{ "runtime.sigreturn", GO_SIGRETURN },
	{ "crosscall2", GO_WHOLE },
	{ "runtime.sigtramp", GO_WHOLE },
	{ "runtime.sigprofNonGoWrapper", GO_WHOLE },
	{ "runtime.racecallbackthunk", GO_WHOLE },
	{ "_rt0_amd64_lib", GO_WHOLE },
	{ "syscall.rawVforkSyscall", GO_WHOLE },
};

/* State while the rules are made. */
struct maker {
	struct go_rules *to;
	struct rule_set *set;
	struct go_code code;
	uint64_t done, end;     /* end of the rules so far, and of the current function */
	struct go_switch found; /* what several functions show together */
};

static enum go_kind kind_of(const struct pclntab *t, const struct pclntab_function *f)
{
	/*
	 * Since Go 1.18, every assembly function has a flag, and functions that are injected have
	 * an id.
	 */
	if (t->layout != PCLNTAB_GO_1_16 && f->flags == 0 && f->id == 0)
		return GO_NONE;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(f->name, names[i].name) == 0)
			return names[i].kind;
	/* Go 1.16 has no flags. */
	if (t->layout == PCLNTAB_GO_1_16 && go_switch_is_named(f->name))
		return GO_RETURN;
	return f->flags & PCLNTAB_SP_WRITE ? GO_RETURN : GO_NONE;
}

static int add(struct maker *m, uint64_t start, uint64_t end, int number)
{
	struct go_rules *to = m->to;
	struct go_rule *last = to->n > 0 ? &to->rules[to->n - 1] : NULL;

	if (number < 0)
		return number;
	/* A damaged table may have any range for a function. */
	start = start > m->done ? start : m->done;
	end = end < m->end ? end : m->end;
	if (start >= end)
		return 0;
	m->done = end;
	if (last && last->end == start && last->number == number) {
		last->end = end;
		return 0;
	}
	if (to->n == GO_MAX_RULES)
		return -ENOSPC;
	if (array_reserve(to->rules, to->n, to->size) < 0)
		return -ENOMEM;
	to->rules[to->n++] = (struct go_rule){ start, end, (uint16_t)number };
	return 0;
}

static int root_number(struct maker *m)
{
	const struct dp_rule root = rule_root();

	return rule_set_add(m->set, &root, NULL, NULL);
}

/* The walk has no way back and knows nothing below. */
static int left_number(struct maker *m)
{
	static const struct dp_rule left = { .cfa = DP_CFA_NONE, .why = DP_GOROUTINE_LEFT };

	return rule_set_add(m->set, &left, NULL, NULL);
}

/* The rule by which the function itself gets back from an instruction. */
static int return_number(struct maker *m, struct return_path *path, size_t i)
{
	struct rule_programs programs;
	struct dp_saves saves;
	struct dp_rule rule;

	if (return_path_rule(path, i, &rule, &saves, &programs) != RETURN_FOUND)
		return RULE_SET_REFUSED;
	return rule_set_add(m->set, &rule, &saves, &programs);
}

static int goroutine_number(struct maker *m)
{
	struct rule_programs programs;
	struct dp_rule rule;

	if (!go_switch_goroutine_rule(&m->found, &rule, &programs))
		return left_number(m);
	return rule_set_add(m->set, &rule, NULL, &programs);
}

/* The rule for what is below rsp + depth on the thread's own stack: mcall(), newstack(). */
static int thread_number(struct maker *m, int64_t depth)
{
	struct rule_programs programs;
	struct dp_rule rule;

	if (!go_switch_thread_rule(&m->found, depth, &rule, &programs))
		return left_number(m);
	return rule_set_add(m->set, &rule, NULL, &programs);
}

static int callback_number(struct maker *m)
{
	struct rule_programs programs;
	struct dp_rule rule;

	if (!go_switch_callback_rule(&m->found, &rule, &programs))
		return left_number(m);
	return rule_set_add(m->set, &rule, NULL, &programs);
}

/* The same by the distance from rsp to the value that it was first loaded with. */
static int thread_number_at(struct maker *m, const struct return_path *path,
			    const struct return_point *point)
{
	int64_t distance;

	if (!return_path_depth(path, &point->sp, &distance))
		return left_number(m);
	return thread_number(m, distance);
}

/* From the system call on: for the new thread only if rax is 0; behind the return, always. */
static int add_clone(struct maker *m, struct go_code_function *f)
{
	struct dp_rule rule = rule_clone(0);
	const struct instruction *in = f->path.instructions;
	size_t call = 0, ret;
	int32_t depth;
	int err;

	while (call < f->path.n && in[call].kind != INSTRUCTION_SYSTEM_CALL)
		call++;
	ret = call;
	while (ret < f->path.n && in[ret].kind != INSTRUCTION_RETURN)
		ret++;
	if (ret == f->path.n || go_code_depth(&m->code, &f->f, in[call].start, &depth) < 0)
		return 0;
	rule.cfa_offset = depth + 8;
	err = add(m, in[call].start, in[ret].end, rule_set_add(m->set, &rule, NULL, NULL));
	return err < 0 ? err : add(m, in[ret].end, f->end, root_number(m));
}

/*
 * No call ends at its return address, which is therefore exact. The frame's depth is the linker's.
 */
static int add_injected(struct maker *m, const struct pclntab_function *f)
{
	struct dp_rule rule = { .cfa = DP_CFA_REGISTER,
				.cfa_reg = DP_RSP,
				.lands = DP_LANDS,
				.ra = { .kind = DP_WHERE_CFA, .offset = -8 },
				.fp = { .kind = DP_WHERE_UNKNOWN } };
	struct pclntab_values values;
	int err = 0;

	pclntab_values_init(&values, m->code.table, f, f->sp);
	while (err == 0 && pclntab_values_next(&values) && values.last.end <= f->next) {
		if (values.last.value < 0 || values.last.value > INT32_MAX - 8)
			return 0;
		rule.cfa_offset = (int32_t)values.last.value + 8;
		err = add(m, values.last.start, values.last.end,
			  rule_set_add(m->set, &rule, NULL, NULL));
	}
	return err;
}

/*
 * It is returned to, not called: the byte before it is looked up, which belongs to a gap
 * (known_code.h).
 */
static int add_sigreturn(struct maker *m, const struct pclntab_function *f)
{
	struct dp_rule rule = rule_signal(DP_SIGCONTEXT_AT);

	return add(m, f->start, pclntab_function_end(m->code.table, f),
		   rule_set_add(m->set, &rule, NULL, NULL));
}

static int number_of(struct maker *m, enum go_kind kind, struct go_code_function *f, size_t i)
{
	switch (kind) {
	case GO_MCALL:
		return thread_number_at(m, &f->path, &f->points[i]);
	case GO_MORESTACK:
		return goroutine_number(m);
	default:
		if (m->found.callback.end != 0 &&
		    f->path.instructions[i].start == m->found.callback.start)
			return callback_number(m);
		return return_number(m, &f->path, i);
	}
}

/* Adds rules for each instruction: those after a switch, or all. */
static int add_instructions(struct maker *m, enum go_kind kind, struct go_code_function *f)
{
	const struct return_point *points = f->points;
	uint64_t end = f->f.start;
	int err = 0;

	for (size_t i = 0; i < f->path.n && err == 0; i++) {
		const struct instruction *in = &f->path.instructions[i];

		if (points[i].is_switched || kind == GO_WHOLE)
			err = add(m, in->start, in->end, number_of(m, kind, f, i));
		else if (!points[i].is_met && !f->is_whole)
			err = add(m, in->start, in->end, RULE_SET_REFUSED);
		end = in->end;
	}
	/* Unreadable instructions, and those beyond the limit, get no rule. */
	return err == 0 ? add(m, end, f->end, RULE_SET_REFUSED) : err;
}

static int add_function(struct maker *m, enum go_kind kind, const struct pclntab_function *f)
{
	_cleanup_(go_code_function_done) struct go_code_function function = { 0 };
	int err;

	if (kind == GO_ROOT)
		return add(m, f->start, pclntab_function_end(m->code.table, f), root_number(m));
	if (kind == GO_INJECTED)
		return add_injected(m, f);
	if (kind == GO_SIGRETURN)
		return add_sigreturn(m, f);
	err = go_code_read_points(&m->code, f, &function);
	if (err == -ENOENT)
		return 0;
	if (err < 0)
		return err;
	return kind == GO_CLONE ? add_clone(m, &function) : add_instructions(m, kind, &function);
}

/* newstack() has given the thread away at the calls that do not return. */
static int add_given(struct maker *m, const struct pclntab_function *f)
{
	int err = 0;

	for (size_t i = 0; i < m->found.n_given && err == 0; i++) {
		const struct go_given *given = &m->found.given[i];

		if (given->start >= f->start && given->end <= f->next)
			err = add(m, given->start, given->end, thread_number(m, given->depth));
	}
	return err;
}

static int make(struct maker *m)
{
	const struct pclntab *t = m->code.table;
	struct pclntab_function f;
	int err = go_switch_init(&m->found, &m->code);

	for (uint64_t i = 0; i < t->n_functions && err == 0; i++) {
		enum go_kind kind;

		/* Functions must be in ascending order; others are damaged. */
		if (pclntab_function(t, i, &f) < 0 || f.start < m->end)
			continue;
		m->end = f.next;
		kind = kind_of(t, &f);
		err = kind != GO_NONE ? add_function(m, kind, &f) : add_given(m, &f);
	}
	return err;
}

/* Adds the program for a goroutine's labels. Without room for it, they are not read. */
static int add_labels(struct maker *m, unsigned int minor)
{
	struct go_labels labels;
	int number, err = go_labels_find(&labels, &m->code, &m->found, minor);

	if (err < 0)
		return err == -ENOMEM ? err : 0;
	number = rule_set_add_program(m->set, &labels.program);
	if (number < 0)
		return number == -ENOMEM ? number : 0;
	m->to->labels = (uint32_t)number;
	m->to->labels_form = labels.form;
	return 0;
}

int go_rules_init(struct go_rules *ret, const struct pclntab *table, unsigned int minor,
		  const struct code_range *ranges, size_t n_ranges, struct rule_set *set)
{
	struct maker m = { .to = ret,
			   .set = set,
			   .code = { .table = table, .ranges = ranges, .n_ranges = n_ranges } };
	int err;

	*ret = (struct go_rules){ 0 };
	err = make(&m);
	return err == 0 ? add_labels(&m, minor) : err;
}

void go_rules_done(struct go_rules *rules)
{
	free(rules->rules);
	*rules = (struct go_rules){ 0 };
}

const struct go_rule *go_rules_find(const struct go_rules *rules, uint64_t address)
{
	size_t low = 0, high = rules->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rules->rules[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < rules->n ? &rules->rules[low] : NULL;
}
