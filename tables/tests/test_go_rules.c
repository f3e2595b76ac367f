// SPDX-License-Identifier: Apache-2.0
/* Rules for functions of Go's runtime, from synthetic code, and none without a proof. */
#include <criterion/criterion.h>

#include "base/array.h"
#include "tables/go_rules.h"
#include "tables/tests/code.h"

#define TEXT UINT64_C(0x400000)
#define ALIGNMENT 64

/*
 * A program of functions in the order of their addresses, each at a multiple of ALIGNMENT, and its
 * table, of Go 1.20 (go/pclntab.h).
 */
struct function {
	const char *name;
	uint8_t flags, id;
	const char *code;
	const char *depths; /* zigzag change and length, in hex, as in the table */
};

static uint8_t code[4096], table[8192];
static struct pclntab pclntab;
static struct code_range range;
static struct rule_set set;
static struct go_rules rules;

static void put(uint64_t at, uint64_t value, size_t size)
{
	memcpy(table + at, &value, size);
}

#define HEADER_SIZE 72
#define NAMES UINT64_C(0x100)
#define VALUES UINT64_C(0x800)
#define FUNCTIONS UINT64_C(0x1000)
#define RECORD_SIZE 48

static void make(const struct function *functions, size_t n)
{
	static const uint8_t magic[] = { 0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8 };
	const uint64_t words[] = { n, 0, TEXT, NAMES, 0, 0, VALUES, FUNCTIONS };
	uint64_t name = NAMES, value = VALUES + 1, record = 8 * n + 8;

	memset(table, 0, sizeof(table));
	memset(code, 0xcc, sizeof(code));
	memcpy(table, magic, sizeof(magic));
	memcpy(table + sizeof(magic), words, sizeof(words));
	for (size_t i = 0; i < n; i++, record += RECORD_SIZE) {
		const struct function *f = &functions[i];
		uint64_t at = FUNCTIONS + record;

		assemble(f->code, code + i * ALIGNMENT, ALIGNMENT);
		put(FUNCTIONS + 8 * i, i * ALIGNMENT, 4);
		put(FUNCTIONS + 8 * i + 4, record, 4);
		put(at, i * ALIGNMENT, 4);
		put(at + 4, name - NAMES, 4);
		put(at + 16, value - VALUES, 4);
		put(at + 40, f->id, 1);
		put(at + 41, f->flags, 1);
		strcpy((char *)table + name, f->name);
		name += strlen(f->name) + 1;
		value += assemble(f->depths, table + value, 64) + 1;
	}
	put(FUNCTIONS + 8 * n, n * ALIGNMENT, 4);
	cr_assert(pclntab_init(&pclntab, table, sizeof(table), 0) == 0);
	range = (struct code_range){ TEXT, n * ALIGNMENT, code };
	cr_assert(rule_set_init(&set) == 0);
	cr_assert(go_rules_init(&rules, &pclntab, 26, &range, 1, &set) == 0);
}

static void done(void)
{
	go_rules_done(&rules);
	rule_set_done(&set);
}

/* The rule at a distance from a function's start; "" if it has none of its own there. */
static const char *rule_at(size_t function, uint64_t distance)
{
	uint64_t address = TEXT + function * ALIGNMENT + distance;
	const struct go_rule *r = go_rules_find(&rules, address);

	return r && r->start <= address ? print_rule(&set, r->number) : "";
}

#define ASM PCLNTAB_ASM
#define SWITCHES (PCLNTAB_ASM | PCLNTAB_SP_WRITE)
#define TOP (PCLNTAB_ASM | PCLNTAB_TOP_FRAME)
#define REST " rbx=s r12=s r13=s r14=s r15=s"
#define ROOT "rsp+8 ra=u fp=s" REST

/* Depth 0 in all of a function. */
#define FLAT "02 40"

static void expect(size_t function, uint64_t distance, const char *rule)
{
	const char *is = rule_at(function, distance);

	cr_expect_str_eq(is, rule, "%zu+%lu: %s, not %s", function, distance, is, rule);
}

Test(go_rules, knows_the_roots)
{
	static const struct function functions[] = {
		{ "runtime.goexit", TOP, 8, "90 e800000000 90", "02 07" },
		{ "runtime.mstart", TOP, 14, "e800000000 c3", "02 06" },
		{ "runtime.rt0_go", TOP, 16, "90 90", "02 02" },
		/* A function called by C returns to it, although Go's own traces end there. */
		{ "runtime.sigtramp", TOP, 0, "55 90 5d c3", "02 01 10 02 0f 01" },
		{ "main.main", 0, 0, "c3", "02 01" },
	};

	make(functions, ARRAY_SIZE(functions));
	for (size_t i = 0; i < 3; i++)
		expect(i, 0, ROOT);
	expect(0, 6, ROOT);
	expect(0, 7, "");
	expect(3, 0, "rsp+8 ra=c-8 fp=s" REST);
	expect(3, 1, "rsp+10 ra=c-8 fp=c-10" REST);
	expect(4, 0, "");
	done();
}

/* mov %fs:-8,%rax; mov 0x30(%rax),%rbx; mov 0xb8(%rbx),%rax; mov 0x38(%rax),%rsp; ret */
#define BACK "64488b0425f8ffffff 488b5830 488b83b8000000 488b6038 c3"

Test(go_rules, follows_what_a_function_does_itself)
{
	static const struct function functions[] = {
		/* mov 0x38(%rdx),%rsp; call *%rdi; and back */
		{ "runtime.systemstack", SWITCHES, 21, "90 488b6238 ffd7" BACK, FLAT },
		/* of anybody: mov %rsp,%rbx; and $-16,%rsp; call *%rax; mov %rbx,%rsp; ret */
		{ "example.call", SWITCHES, 0, "4889e3 4883e4f0 ffd0 4889dc c3", FLAT },
		/* its caller never sees it again: call *%rax; ud2 */
		{ "runtime.switchToCrashStack0", SWITCHES, 0, "488b20 ffd0 0f0b", FLAT },
		/* a wrapper is written in Go */
		{ "runtime.systemstack", 0, 23, "c3", "02 01" },
	};

	make(functions, ARRAY_SIZE(functions));
	expect(0, 0, "");
	expect(0, 5,
	       "switch:exp(fs_base-8,deref,+30,deref,+b8,deref,+38,deref,+8) ra=c-8 fp=s"
	       " rbx=unknown r12=s r13=s r14=s r15=s");
	expect(0, 31, "rsp+8 ra=c-8 fp=s" REST);
	expect(1, 3, "");
	expect(1, 7, "switch:exp(rbx+8) ra=c-8 fp=s" REST);
	expect(2, 0, "");
	expect(2, 3, "none ra=s fp=s" REST);
	expect(3, 0, "");
	done();
}

/* Writes a call there: e8, and the distance to another function. */
static void call(size_t from, uint64_t at, size_t to)
{
	uint8_t *bytes = code + from * ALIGNMENT + at;
	int32_t distance =
		(int32_t)((int64_t)(to * ALIGNMENT) - (int64_t)(from * ALIGNMENT + at + 5));

	*bytes = 0xe8;
	memcpy(bytes + 1, &distance, sizeof(distance));
	go_rules_done(&rules);
	cr_assert(go_rules_init(&rules, &pclntab, 26, &range, 1, &set) == 0);
}

/* sub $16,%rsp; call; add $16,%rsp; ret */
#define CALLER "4883ec10 e800000000 4883c410 c3"
#define CALLER_DEPTHS "02 04 20 09 1f 01"

enum { MCALL, MSTART, MSTART0, MSTART1, MORESTACK, NEWSTACK, PREEMPT, SYSTEMSTACK, SET_LABELS };

static const struct function scheduler[] = {
	/* mov 0x38(%r14),%rsp; push %rax; call *%r12; pop %rax; jmp */
	[MCALL] = { "runtime.mcall", SWITCHES, 12, "498b6638 50 41ffd4 58 e900100000", FLAT },
	[MSTART] = { "runtime.mstart", TOP, 14, "e800000000 c3", "02 06" },
	[MSTART0] = { "runtime.mstart0", 0, 0, CALLER, CALLER_DEPTHS },
	[MSTART1] = { "runtime.mstart1", 0, 0, "c3", "02 01" },
	/* mov %fs:-8,%rdi; mov (%rsp),%rax; mov %rax,0x40(%rdi); lea 8(%rsp),%rax;
	   mov %rax,0x38(%rdi); mov 0x38(%rsi),%rsp; call; ud2 */
	[MORESTACK] = { "runtime.morestack", SWITCHES, 13,
			"64488b3c25f8ffffff 488b0424 48894740 488d442408 48894738 488b6638"
			" e800000000 0f0b",
			FLAT },
	[NEWSTACK] = { "runtime.newstack", 0, 0, CALLER, CALLER_DEPTHS },
	[PREEMPT] = { "runtime.gopreempt_m", 0, 0, "c3", "02 01" },
	[SYSTEMSTACK] = { "runtime.systemstack", SWITCHES, 21, "488b6238 ffd7" BACK, FLAT },
	/* mov %rax,0x160(%r14); ret */
	[SET_LABELS] = { "runtime/pprof.runtime_setProfLabel", 0, 0, "49898660010000 c3", "02 08" },
};

static void make_scheduler(void)
{
	make(scheduler, ARRAY_SIZE(scheduler));
	call(MSTART, 0, MSTART0);
	call(MSTART0, 4, MSTART1);
	call(MORESTACK, 30, NEWSTACK);
	call(NEWSTACK, 4, PREEMPT);
}

/* The frame of mstart0() is where its return address, 16 bytes up, is that of mstart()'s call. */
#define THREAD(depth)                                                                              \
	"switch:exp(rsp+" depth ") ra=exp(cfa,pick0,+10,deref,bias+400045,eq,bias+400089,mul) "    \
	"fp=unknown" REST

#define G "fs_base-8,deref,+30,deref,+b8,deref,"

Test(go_rules, finds_what_the_scheduler_leaves_behind)
{
	make_scheduler();
	expect(MCALL, 3, "");
	expect(MCALL, 4, THREAD("0"));
	expect(MCALL, 5, THREAD("8"));
	/* morestack() continues with the goroutine, unless newstack() gives the thread away. */
	expect(MORESTACK, 26, "");
	expect(MORESTACK, 30,
	       "switch:exp(" G "+38,deref) ra=exp(cfa," G "+40,deref) fp=unknown" REST);
	expect(NEWSTACK, 3, "");
	expect(NEWSTACK, 4, THREAD("18"));
	expect(NEWSTACK, 9, "");
	done();
}

/* Rebuilds the rules from the current contents of `code`. */
static void make_again(unsigned int minor)
{
	done();
	cr_assert(rule_set_init(&set) == 0);
	cr_assert(go_rules_init(&rules, &pclntab, minor, &range, 1, &set) == 0);
}

/* The program that finds labels, as the CFA of a rule would be printed. */
static const char *labels_text(void)
{
	struct dp_rule rule = { .cfa = DP_CFA_EXPRESSION, .ra = { .kind = DP_WHERE_UNDEFINED } };
	struct rule_programs programs = { 0 };
	uint64_t cells[1024];
	struct dp_rule full[64];
	struct dp_saves saves[16];

	cr_assert(set.program_cells <= ARRAY_SIZE(cells) && set.n_full <= ARRAY_SIZE(full) &&
		  set.n_saves <= ARRAY_SIZE(saves));
	rule_set_copy(&set, full, saves, cells);
	memcpy(&programs.of[RULE_PART_CFA], cells + rules.labels,
	       (cells[rules.labels] + 1) * sizeof(*cells));
	return print_rule(&set, (uint16_t)rule_set_add(&set, &rule, NULL, &programs));
}

Test(go_rules, finds_where_labels_are)
{
	uint8_t *set_labels = code + SET_LABELS * ALIGNMENT;

	make_scheduler();
	cr_assert_eq(rules.labels_form, DP_LABELS_GO_LIST);
	cr_assert_str_eq(labels_text(), "exp(" G "+160,deref) ra=u fp=s" REST);
	make_again(23);
	cr_assert_eq(rules.labels_form, DP_LABELS_GO_MAP);
	/* The Go version is not known. */
	make_again(0);
	cr_assert_eq(rules.labels_form, DP_LABELS_NONE);
	/* mov %rax,0x160(%rsi); mov %rbx,0x160(%r14): not of a goroutine; not the labels. */
	memcpy(set_labels, (uint8_t[]){ 0x48, 0x89, 0x86 }, 3);
	make_again(26);
	cr_assert_eq(rules.labels_form, DP_LABELS_NONE);
	memcpy(set_labels, (uint8_t[]){ 0x49, 0x89, 0x9e }, 3);
	make_again(26);
	cr_assert_eq(rules.labels_form, DP_LABELS_NONE);
	done();
}

/* If functions disagree on where things are, there are no rules. */
Test(go_rules, guesses_nothing)
{
	static const char none[] = "none ra=s fp=s" REST;

	make_scheduler();
	/* morestack() puts rsp at 0x48, systemstack() reads it at 0x38. */
	code[MORESTACK * ALIGNMENT + 25] = 0x48;
	call(MSTART, 0, MSTART0);
	expect(MORESTACK, 30, none);
	expect(MCALL, 5, THREAD("8"));
	/* mstart() calls something else. */
	call(MSTART, 0, PREEMPT);
	expect(MCALL, 5, none);
	expect(NEWSTACK, 4, none);
	done();
}

Test(go_rules, knows_what_is_on_the_stack_without_a_call)
{
	static const struct function functions[] = {
		{ "runtime.asyncPreempt", ASM, 3, "55 90 5d c3", "02 01 10 02 0f 01" },
		/* mov $15,%rax; syscall; int3 */
		{ "runtime.sigreturn__sigaction", ASM, 0, "48c7c00f000000 0f05 cc", "02 0a" },
		/* mov $56,%eax; syscall; cmp $0,%rax; je; ret; and the new thread */
		{ "runtime.clone", SWITCHES, 0, "b838000000 0f05 4883f800 7401 c3 4889f4 ffd1",
		  FLAT },
	};

	make(functions, ARRAY_SIZE(functions));
	expect(0, 0, "rsp+8 ra=c-8 fp=unknown" REST);
	expect(0, 1, "rsp+10 ra=c-8 fp=unknown" REST);
	expect(1, 0, "*(rsp+a0)+0 ra=*(rsp+a8) fp=*(rsp+78)" REST);
	expect(1, 8, "*(rsp+a0)+0 ra=*(rsp+a8) fp=*(rsp+78)" REST);
	expect(2, 4, "");
	expect(2, 5, "clone(rsp+8) ra=c-8 fp=s" REST);
	expect(2, 13, "clone(rsp+8) ra=c-8 fp=s" REST);
	expect(2, 14, ROOT);
	done();
}

/* However damaged the table is, rules are inside the code that it gives. */
Test(go_rules, survives_damage)
{
	make_scheduler();
	for (size_t at = 0; at < FUNCTIONS + 8 * ARRAY_SIZE(scheduler) + 400; at++) {
		struct pclntab damaged;
		uint8_t byte = table[at];

		table[at] ^= 0xff;
		go_rules_done(&rules);
		if (pclntab_init(&damaged, table, sizeof(table), 0) == 0)
			cr_assert(go_rules_init(&rules, &damaged, 26, &range, 1, &set) == 0);
		for (size_t i = 1; i < rules.n; i++)
			cr_assert(rules.rules[i].start >= rules.rules[i - 1].end);
		table[at] = byte;
	}
	done();
}
