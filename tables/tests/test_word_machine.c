// SPDX-License-Identifier: Apache-2.0
/* FDEs executed on one-word rules, compared with cfi/machine on rows. */
#include <criterion/criterion.h>

#define ASSEMBLER_SIZE 8192
#include "cfi/index.h"
#include "cfi/machine.h"
#include "cfi/tests/assembler.h"
#include "tables/rule_word.h"
#include "tables/word_machine.h"

/* Both machines on the one FDE of a section, from 0x1000 to 0x3000. */
struct fixture {
	struct assembler a;
	struct cfi_section section;
	struct cfi_index index;
	size_t fde;
};

static struct fixture f;

static void begin(void)
{
	f.a.size = 0;
	f.fde = fde_begin(&f.a, put_cie(&f.a), 0x1000, 0x2000);
}

/*
 * Runs both: while the word machine answers, it agrees with the rows, over the same spans. Returns
 * how far it came.
 */
static uint64_t compare(void)
{
	const struct cfi_fde *fde;
	struct rule_word expected = { 0 };
	struct cfi_machine rows;
	struct word_machine words;
	struct cfi_span span;
	uint64_t initial, done;

	record_end(&f.a, f.fde);
	f.section = assembled(&f.a);
	cr_assert(cfi_index_init(&f.index, &f.section) == 0 && f.index.n_fdes == 1);
	fde = f.index.fdes;
	cr_assert(word_machine_init_cie(&f.index.cies[0], &initial));
	cr_assert(word_machine_init(&words, &f.section, fde, initial));
	cfi_machine_init(&rows, &f.section, &f.index.cies[0], fde);
	for (done = fde->start; done < fde->end; done = span.end) {
		enum word_step step = word_machine_next(&words);

		if (step == WORD_STEP_OTHER)
			break;
		cr_assert(cfi_machine_next(&rows, &span) == CFI_STEP_ROW);
		cr_assert(span.start == done);
		rule_word_update(&expected, &rows.row, CFI_CHANGED_ALL);
		cr_assert(expected.odd == 0, "no word expresses the row at %lx", done);
		cr_assert(words.word == expected.word, "%lx: %lx, not %lx", done, words.word,
			  expected.word);
		if (step == WORD_STEP_END)
			cr_assert(span.end == fde->end);
		else
			cr_assert(words.pc == span.end ||
				  (words.pc > fde->end && span.end == fde->end));
	}
	cfi_index_done(&f.index);
	return done;
}

static void put(const uint8_t *bytes, size_t n)
{
	put_bytes(&f.a, bytes, n);
}

#define PUT(...) put((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

Test(word_machine, follows_a_function_as_gcc_writes_it)
{
	begin();
	PUT(0x41, 0x0e, 0x10, 0x86, 0x02);       /* push rbp */
	PUT(0x41, 0x0e, 0x18, 0x83, 0x03);       /* push rbx */
	PUT(0x44, 0x0e, 0x90, 0x02);             /* sub 0xf8, rsp */
	PUT(0x02, 0x80, 0x0a, 0x0e, 0x18);       /* remember, add */
	PUT(0x41, 0x0e, 0x10, 0x41, 0x0e, 0x08); /* pop, pop */
	PUT(0x41, 0x0b);                         /* restore */
	cr_assert(compare() == 0x3000);
}

Test(word_machine, follows_a_frame_pointer)
{
	begin();
	PUT(0x41, 0x0e, 0x10, 0x86, 0x02, 0x43, 0x0d, 0x06);
	PUT(0x45, 0x83, 0x03, 0x8c, 0x04, 0x8f, 0x07);
	PUT(0x03, 0x00, 0x01, 0xc3, 0xc6, 0x0c, 0x07, 0x08);
	cr_assert(compare() == 0x3000);
}

/* What does not fit, or is not a whole instruction, is left to cfi_machine. */
Test(word_machine, leaves_what_it_does_not_know)
{
	static const struct {
		uint8_t bytes[4];
		size_t n;
	} odd[] = {
		{ { 0x86, 0x40 }, 2 },       /* 64 words below the CFA */
		{ { 0x86, 0x00 }, 2 },       /* at the CFA */
		{ { 0x86, 0x82, 0x01 }, 3 }, /* two bytes of operand */
		{ { 0x0e, 0x0c }, 2 },       /* half a word */
		{ { 0x0d, 0x03 }, 2 },       /* CFA from rbx */
		{ { 0x0c, 0x05, 0x08 }, 3 }, /* CFA from rdi */
		{ { 0x90, 0x02 }, 2 },       /* return address elsewhere */
		{ { 0x87, 0x02 }, 2 },       /* stack pointer saved */
		{ { 0x80, 0x09 }, 2 },       /* rax saved, and then */
		{ { 0x81, 0x08 }, 2 },       /* rdx, where a handler is landed in */
		{ { 0x07, 0x10 }, 2 },       /* no return address */
		{ { 0x0b }, 1 },             /* nothing was remembered */
		{ { 0x3c }, 1 },             /* no such opcode */
	};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		begin();
		PUT(0x41, 0x0e, 0x10, 0x41);
		put(odd[i].bytes, odd[i].n);
		PUT(0x41, 0x0e, 0x08, 0x41, 0x0e, 0x10, 0x41, 0x00, 0x00, 0x00, 0x00);
		cr_assert(compare() == 0x1002, "number %zu", i);
	}
}

/* An unusual CIE changes the meaning of all its functions' instructions. */
Test(word_machine, leaves_the_functions_of_an_unusual_cie)
{
	struct cfi_cie cie;
	uint64_t initial;

	begin();
	record_end(&f.a, f.fde);
	f.section = assembled(&f.a);
	cr_assert(cfi_index_init(&f.index, &f.section) == 0 && f.index.n_cies == 1);
	cie = f.index.cies[0];
	cr_assert(word_machine_init_cie(&cie, &initial));
	cie.code_factor = 4;
	cr_assert(!word_machine_init_cie(&cie, &initial));
	cie = f.index.cies[0];
	cie.data_factor = -4;
	cr_assert(!word_machine_init_cie(&cie, &initial));
	cie = f.index.cies[0];
	cie.signal = true;
	cr_assert(!word_machine_init_cie(&cie, &initial));
	cie = f.index.cies[0];
	cie.initial.cfa.kind = CFI_CFA_EXPRESSION;
	cr_assert(!word_machine_init_cie(&cie, &initial));
	cfi_index_done(&f.index);
}

/* Instructions that the record's end truncates anywhere. */
Test(word_machine, leaves_what_is_cut_short)
{
	static const uint8_t cut[] = { 0x0c, 0x0d, 0x0e, 0x86, 0x02, 0x03, 0x04, 0x2e };

	for (size_t i = 0; i < sizeof(cut); i++) {
		begin();
		PUT(0x41, 0x0e, 0x10, 0x43);
		while (f.a.size % 8 != 7) /* or nops would follow at the end of the record */
			PUT(0x00);
		PUT(cut[i]);
		cr_assert(compare() <= 0x1004, "opcode %x", cut[i]);
	}
}

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % n;
}

/* One of the instructions that most functions consist of. */
static void put_random(unsigned int *depth)
{
	static const uint8_t registers[] = { 2, 3, 6, 8, 12, 13, 14, 15, 17, 40 };

	switch (random_below(10)) {
	case 0:
	case 1:
	case 2:
		PUT((uint8_t)(0x40 | random_below(64)));
		return;
	case 3:
	case 4:
		put_u8(&f.a, 0x0e);
		put_uleb(&f.a, 8 * random_below(random_below(2) ? 10 : 2000));
		return;
	case 5:
	case 6:
		PUT((uint8_t)(0x80 | registers[random_below(sizeof(registers))]),
		    (uint8_t)(1 + random_below(63)));
		return;
	case 7:
		PUT((uint8_t)(0xc0 | registers[random_below(sizeof(registers))]));
		return;
	case 8:
		if (*depth > 0 && random_below(2) == 0) {
			PUT(0x0b);
			(*depth)--;
		} else if (*depth < WORD_MACHINE_MAX_REMEMBERED) {
			PUT(0x0a);
			(*depth)++;
		}
		return;
	default:
		if (random_below(2))
			PUT(0x0d, random_below(2) ? 6 : 7);
		else
			PUT(0x02, (uint8_t)random_below(256));
	}
}

Test(word_machine, says_what_rows_say)
{
	for (int i = 0; i < 20000; i++) {
		unsigned int depth = 0;

		begin();
		for (uint32_t n = random_below(60); n > 0; n--)
			put_random(&depth);
		cr_assert(compare() == 0x3000);
	}
}

/* Rows of functions that land in handlers are not words; a restored row is one again. */
Test(rule_word, takes_no_row_that_lands)
{
	struct cfi_row row = { .cfa = { .kind = CFI_CFA_REGISTER, .reg = CFI_RSP, .offset = 8 } };
	const uint32_t both = CFI_CHANGED(CFI_RAX) | CFI_CHANGED(CFI_RDX);
	struct rule_word word = { 0 };

	row.regs[CFI_RIP] = (struct cfi_rule){ .kind = CFI_RULE_OFFSET, .offset = -8 };
	row.regs[CFI_RAX] = (struct cfi_rule){ .kind = CFI_RULE_OFFSET, .offset = -72 };
	rule_word_update(&word, &row, CFI_CHANGED_ALL);
	cr_assert(word.odd == 0);
	row.regs[CFI_RDX] = (struct cfi_rule){ .kind = CFI_RULE_OFFSET, .offset = -64 };
	rule_word_update(&word, &row, CFI_CHANGED(CFI_RDX));
	cr_assert(word.odd == both);
	row.regs[CFI_RAX] = (struct cfi_rule){ .kind = CFI_RULE_UNSPECIFIED };
	rule_word_update(&word, &row, CFI_CHANGED(CFI_RAX));
	cr_assert(word.odd == 0);
}
