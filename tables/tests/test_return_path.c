// SPDX-License-Identifier: Apache-2.0
/*
 * Following a function's instructions to its return: the resulting rule, or none where paths
 * differ.
 */
#include <criterion/criterion.h>

#include "base/array.h"
#include "tables/x86_64/return_path.h"
#include "tables/tests/code.h"

#define START UINT64_C(0x1000)

static struct return_path path;
static struct rule_set set;

static void set_up(const char *hex)
{
	static uint8_t bytes[1024];
	size_t n = assemble(hex, bytes, sizeof(bytes));

	cr_assert(return_path_init(&path, bytes, START, START + n, 10000) == 0);
	cr_assert(rule_set_init(&set) == 0);
}

static void tear_down(void)
{
	return_path_done(&path);
	rule_set_done(&set);
}

/* The result before the instruction at a distance from the start. */
static enum return_found find(uint64_t at, const char **ret)
{
	struct rule_programs programs;
	struct dp_saves saves;
	struct dp_rule rule;
	enum return_found found;
	size_t i = 0;

	while (i < path.n && path.instructions[i].start != START + at)
		i++;
	cr_assert(i < path.n, "no instruction starts at %lu", at);
	found = return_path_rule(&path, i, &rule, &saves, &programs);
	if (found == RETURN_FOUND)
		*ret = print_rule(&set, (uint16_t)rule_set_add(&set, &rule, &saves, &programs));
	return found;
}

#define SAVED(rbx, r12) " rbx=" rbx " r12=" r12 " r13=s r14=s r15=s"
#define SAME SAVED("s", "s")

static const struct {
	const char *code;
	struct {
		uint64_t at;
		const char *rule;
	} rules[6];
} functions[] = {
	/* push %rbp; mov %rsp,%rbp; push %rbx; sub $8,%rsp; call; lea -8(%rbp),%rsp; pop %rbx; leave... */
	{ "55 4889e5 53 4883ec08 e800000000 488d65f8 5b 5d c3",
	  { { 0, "rsp+8 ra=c-8 fp=s" SAME },
	    { 1, "rsp+10 ra=c-8 fp=c-10" SAME },
	    { 5, "switch:exp(rbp+10) ra=c-8 fp=c-10" SAVED("c-18", "s") },
	    { 14, "switch:exp(rbp+10) ra=c-8 fp=c-10" SAVED("c-18", "s") },
	    { 18, "rsp+18 ra=c-8 fp=c-10" SAVED("c-18", "s") },
	    { 20, "rsp+8 ra=c-8 fp=s" SAME } } },
	/* mov %rsp,%r12; and $-16,%rsp; call *%rax; mov %r12,%rsp; ret: a stack that is aligned */
	{ "4989e4 4883e4f0 ffd0 4c89e4 c3",
	  { { 0, "rsp+8 ra=c-8 fp=s" SAVED("s", "unknown") },
	    { 3, "switch:exp(r12+8) ra=c-8 fp=s" SAME },
	    { 7, "switch:exp(r12+8) ra=c-8 fp=s" SAME },
	    { 12, "rsp+8 ra=c-8 fp=s" SAME } } },
	/* mov %fs:-8,%rax; mov 0x30(%rax),%rax; mov 0x38(%rax),%rsp; pop %rbp; ret */
	{ "64488b0425f8ffffff 488b4030 488b6038 5d c3",
	  { { 0, "switch:exp(fs_base-8,deref,+30,deref,+38,deref,+10) ra=c-8 fp=c-10" SAME },
	    { 9, "switch:exp(rax+30,deref,+38,deref,+10) ra=c-8 fp=c-10" SAME },
	    { 17, "rsp+10 ra=c-8 fp=c-10" SAME } } },
	/* mov 0x100(%rip),%rcx; mov %fs:(%rcx),%rsp; ret: a place that the dynamic linker knows */
	{ "488b0d00010000 64488b21 c3",
	  { { 0, "switch:exp(fs_base+0,bias+1107,deref,plus,deref,+8) ra=c-8 fp=s" SAME } } },
	/* mov %rdi,8(%rsp); mov 8(%rdi),%rdi; sub %rdx,%rdi; mov %rdi,(%rsp); call;
	   mov 8(%rsp),%rdi; mov 8(%rdi),%rsi; sub (%rsp),%rsi; mov %rsi,%rsp; ret */
	{ "48897c2408 488b7f08 4829d7 48893c24 e800000000 488b7c2408 488b7708 482b3424 4889f4 c3",
	  { { 0, "switch:exp(rdx+8) ra=c-8 fp=s" SAME },
	    { 16, "switch:exp(rsp+8,deref,+8,deref,rsp+0,deref,-8,minus) ra=c-8 fp=s" SAME },
	    { 34, "switch:exp(rsi+8) ra=c-8 fp=s" SAME } } },
	/* mov (%rbx),%rsp; mov 8(%rbx),%rbx; jmp *%rbx: it goes on where no call was */
	{ "488b23 488b5b08 ffe3",
	  { { 0, "switch:exp(rbx+0,deref) ra=exp(cfa,rbx+8,deref) fp=s" SAVED("unknown", "s") },
	    { 3, "rsp+0 ra=exp(cfa,rbx+8,deref) fp=s" SAVED("unknown", "s") },
	    { 7, "rsp+0 ra=exp(cfa,rbx+0) fp=s" SAME } } },
	/* sub $24,%rsp; test; je 1f; movq $1,8(%rsp); 1: add $24,%rsp; ret: both ways are the same */
	{ "4883ec18 4885c0 7409 48c744240801000000 4883c418 c3",
	  { { 4, "rsp+20 ra=c-8 fp=s" SAME }, { 9, "rsp+20 ra=c-8 fp=s" SAME } } },
	/* push %rbx; 1: dec %rcx; add $8,%rdx; jne 1b; pop %rbx; ret: a loop */
	{ "53 48ffc9 4883c208 75f7 5b c3",
	  { { 0, "rsp+8 ra=c-8 fp=s" SAME },
	    { 1, "rsp+10 ra=c-8 fp=s" SAVED("c-10", "s") },
	    { 8, "rsp+10 ra=c-8 fp=s" SAVED("c-10", "s") } } },
	/* sub $8,%rsp; add $8,%rsp; jmp out of it */
	{ "4883ec08 4883c408 e900100000",
	  { { 4, "rsp+10 ra=c-8 fp=s" SAME }, { 8, "rsp+8 ra=c-8 fp=s" SAME } } },
};

Test(return_path, goes_where_the_function_goes)
{
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		set_up(functions[i].code);
		for (size_t k = 0; k < 6 && functions[i].rules[k].rule; k++) {
			uint64_t at = functions[i].rules[k].at;
			const char *rule = "";

			cr_assert(find(at, &rule) == RETURN_FOUND, "%zu at %lu", i, at);
			cr_expect_str_eq(rule, functions[i].rules[k].rule, "%zu at %lu: %s, not %s",
					 i, at, rule, functions[i].rules[k].rule);
		}
		tear_down();
	}
}

/* Where a function stores an argument. */
Test(return_path, says_where_a_value_is_left)
{
	static const struct {
		const char *code;
		bool is_word; /* at rsp + 8, else in rax */
		bool is_left; /* at r14 + 0x160 */
	} cases[] = {
		/* mov %rax,0x160(%r14); ret */
		{ "49898660010000 c3", false, true },
		/* mov 8(%rsp),%rcx; mov %rcx,0x160(%r14); ret */
		{ "488b4c2408 49898e60010000 c3", true, true },
		/* 1: cmp 0x10(%r14),%rsp; jbe 2f; mov %rax,0x160(%r14); ret;
		   2: mov %rax,8(%rsp); call; mov 8(%rsp),%rax; jmp 1b */
		{ "493b6610 7608 49898660010000 c3 4889442408 e800000000 488b442408 ebe1", false,
		  true },
		/* mov %rax,(%rsp); call; mov (%rsp),%rcx; mov %rcx,(%r11); mov %rcx,0x160(%r14);
		   ret: the call says where else it is to be, for a moment */
		{ "48890424 e800000000 488b0c24 49890b 49898e60010000 c3", false, true },
		/* mov %rbx,0x160(%r14); ret: something else */
		{ "49899e60010000 c3", false, false },
		/* mov %eax,0x160(%r14); ret: half of it */
		{ "41898660010000 c3", false, false },
		/* mov %rax,0x160(%r14); xor %ecx,%ecx; mov %rcx,0x160(%r14); ret: not at the end */
		{ "49898660010000 31c9 49898e60010000 c3", false, false },
		/* test; je 1f; mov %rax,0x160(%r14); ret; 1: mov %rax,0x168(%r14); ret */
		{ "4885c0 7408 49898660010000 c3 49898668010000 c3", false, false },
		/* mov %rax,-8(%rsp); ret: on the stack */
		{ "48894424f8 c3", false, false },
		/* mov %rax,0x160(%r14); ud2 */
		{ "49898660010000 0f0b", false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sum rax = sum_register(DP_RAX), rsp = sum_register(DP_REG_SP);
		struct sum eight = sum_number(8), on_stack = sum_add(&rsp, &eight, 1);
		struct sum r14 = sum_register(DP_R14), address;
		bool is_left;

		set_up(cases[i].code);
		is_left = return_path_left(&path, cases[i].is_word ? &on_stack : &rax,
					   cases[i].is_word, &address);
		cr_expect(is_left == cases[i].is_left, "%zu", i);
		r14.number = 0x160;
		cr_expect(!is_left || sum_is_equal(&address, &r14), "%zu", i);
		tear_down();
	}
}

/* What cannot be determined must not be guessed. */
Test(return_path, finds_none_where_none_is_certain)
{
	static const struct {
		const char *code;
		enum return_found found;
	} none[] = {
		/* call; ud2 */
		{ "e800000000 0f0b", RETURN_NEVER },
		/* 1: jmp 1b */
		{ "ebfe", RETURN_NEVER },
		/* it runs out of the function */
		{ "90 90", RETURN_NEVER },
		/* test; je 1f; push %rbx; 1: ret: one way or the other */
		{ "4885c0 7401 53 c3", RETURN_UNCLEAR },
		/* 1: push %rax; dec %rcx; jne 1b; ret: nobody knows how often */
		{ "50 48ffc9 75fa c3", RETURN_UNCLEAR },
		/* imul %rcx,%rsp; ret */
		{ "480fafe1 c3", RETURN_UNCLEAR },
		/* mov (%rax,%rcx,8),%rsp; ret: not a register and a number */
		{ "488b24c8 c3", RETURN_UNCLEAR },
		/* mov %eax,8(%rsp); mov 8(%rsp),%rsp; ret: half of a word */
		{ "89442408 488b642408 c3", RETURN_UNCLEAR },
		/* mov %rbx,8(%rsp); movups %xmm0,(%rsp); mov 8(%rsp),%rsp; ret: its other half */
		{ "48895c2408 0f110424 488b642408 c3", RETURN_UNCLEAR },
		/* mov %rax,8(%rsp); mov %rax,4(%rsp); mov 8(%rsp),%rsp; ret: a word that is half of two */
		{ "4889442408 4889442404 488b642408 c3", RETURN_UNCLEAR },
		/* call; mov %rax,%rsp; ret: what it has returned */
		{ "e800000000 4889c4 c3", RETURN_UNCLEAR },
	};

	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		const char *rule = "";
		enum return_found found;

		set_up(none[i].code);
		found = find(0, &rule);
		cr_assert(found == none[i].found, "%zu: %d, %s", i, found, rule);
		tear_down();
	}
}

/* Writes n words to the stack, of which the last one is the next stack pointer. */
static enum return_found find_after_writing(unsigned int n)
{
	char hex[64 * 20] = "";
	const char *rule = "";
	enum return_found found;

	/* mov %rax,8*i(%rsp); mov 8*i(%rsp),%rsp; ret */
	for (unsigned int i = 0; i < n; i++)
		sprintf(hex + strlen(hex), "48898424%02x%02x0000 ", 8 * i & 0xff, 8 * i >> 8);
	sprintf(hex + strlen(hex), "488ba424%02x%02x0000 c3", 8 * (n - 1) & 0xff, 8 * (n - 1) >> 8);
	set_up(hex);
	found = find(0, &rule);
	if (found == RETURN_FOUND)
		cr_assert_str_eq(rule, "switch:exp(rax+8) ra=c-8 fp=s" SAME);
	tear_down();
	return found;
}

/* A written word that is not stored must not be taken for its earlier contents. */
Test(return_path, finds_none_where_too_much_is_written)
{
	cr_assert_eq(find_after_writing(1), RETURN_FOUND);
	cr_assert_eq(find_after_writing(40), RETURN_FOUND);
	cr_assert_eq(find_after_writing(60), RETURN_UNCLEAR);
}

/* A search that reads many words leaves room for the next one. */
Test(return_path, searches_as_often_as_asked)
{
	const char *rule = "";

	/* mov 8(%rax),%rax; mov 0x10(%rax),%rax; and so on; mov %rax,%rsp; ret: each reads others */
	set_up("488b4008 488b4010 488b4018 488b4020 488b4028 488b4030 488b4038 488b4040"
	       "488b4048 488b4050 488b4058 488b4060 488b4068 4889c4 c3");
	for (uint64_t at = 0; at < 12 * 4; at += 4)
		find(at, &rule);
	cr_assert_eq(find(12 * 4, &rule), RETURN_FOUND);
	cr_assert_str_eq(rule, "switch:exp(rax+68,deref,+8) ra=c-8 fp=s" SAME);
	tear_down();
}

/* Both ways of a branch continue; only after rsp is loaded it is another stack. */
Test(return_path, tells_where_the_stack_is_another_one)
{
	/* push %rbp; test; je 1f; mov (%rsi),%rsp; push %rax; 1: nop; mov %rbp,%rsp */
	static const bool switched[] = { false, false, false, false, true, true, true };
	struct return_point points[16] = { 0 };
	int64_t depth;

	set_up("55 4885c0 7404 488b26 50 90 4889ec");
	cr_assert(path.n == ARRAY_SIZE(switched));
	return_path_points(&path, points);
	for (size_t i = 0; i < path.n; i++)
		cr_assert(points[i].is_switched == switched[i], "%zu", i);
	cr_assert(return_path_depth(&path, &points[4].sp, &depth) && depth == 0);
	cr_assert(return_path_depth(&path, &points[6].sp, &depth) && depth == 8);
	cr_assert(!return_path_depth(&path, &points[3].sp, &depth));
	tear_down();
}

Test(return_path, remembers_what_was_written_before)
{
	/* mov (%rsp),%rax; mov %rax,0x40(%rdi); lea 8(%rsp),%rax; mov %rax,0x38(%rdi); mov (%rsi),%rsp; ret */
	struct return_point points[16] = { 0 };
	struct sum rsp = sum_register(DP_REG_SP), eight = sum_number(8), rdi = sum_register(DP_RDI);
	struct sum word, above, address;
	int64_t distance;

	set_up("488b0424 48894740 488d442408 48894738 488b26 c3");
	return_path_points(&path, points);
	word = sum_word(&path.parts, &rsp);
	above = sum_add(&rsp, &eight, 1);
	cr_assert(return_path_written(&path, &word, &address));
	cr_assert(sum_distance(&address, &rdi, &distance) && distance == 0x40);
	cr_assert(return_path_written(&path, &above, &address));
	cr_assert(sum_distance(&address, &rdi, &distance) && distance == 0x38);
	cr_assert(!return_path_written(&path, &eight, &address));
	tear_down();
}

/* However long paths are, and however many, the search ends soon. */
Test(return_path, ends, .timeout = 10)
{
	static uint8_t bytes[64 << 10];
	static const uint8_t diamond[] = { 0x48, 0x01, 0xc8, 0x74, 0x01, 0x50 }; /* add; je; push */
	struct return_values values;

	for (size_t i = 0; i + sizeof(diamond) <= sizeof(bytes); i += sizeof(diamond))
		memcpy(bytes + i, diamond, sizeof(diamond));
	cr_assert(return_path_init(&path, bytes, START, START + sizeof(bytes), 400000) == 0);
	for (size_t i = 0; i < path.n; i++)
		cr_assert(return_path_find(&path, i, &values) != RETURN_FOUND);
	return_path_done(&path);
}
