// SPDX-License-Identifier: Apache-2.0
/* Functions and statements in memory, as Perl 5.36 has them; and in memory that lies. */
#include <stdlib.h>

#include "runtimes/tests/memory_fixture.h"

#define CV (PLACE + 0x000)
#define CV_BODY (PLACE + 0x080)
#define GV (PLACE + 0x100)
#define GV_BODY (PLACE + 0x180)
#define PACKAGE (PLACE + 0x200)
#define PACKAGE_BODY (PLACE + 0x280)
#define NAME (PLACE + 0x300)
#define PACKAGE_NAME (PLACE + 0x400)
#define OTHER_NAME (PLACE + 0x500)
#define STATEMENT (PLACE + 0x600)
#define FILE_NAME (PLACE + 0x700)
#define FILE_GV (PLACE + 0x800)
#define END (PLACE + sizeof(bytes))

#define NAMED 0x8000

/* The layout of 5.36: layouts.h. */
static struct dp_runtime_image image = {
	.perl = { .is_threaded = 1,
		  .package = 32,
		  .name = 56,
		  .flags = 92,
		  .gv_name = 32,
		  .gv_package = 40,
		  .line = 36,
		  .file = 48,
		  .sequence = 60,
		  .is_named = NAMED },
	.perl_names = { .version = 5 << 8 | 36,
			.package_name = 32,
			.package_names = 60,
			.size = 4,
			.text = 8,
			.is_utf8 = 1 },
};

static struct dp_runtime_frame frame;
static struct runtime_code *code;

static void put_hek(uint64_t at, const char *text, uint8_t flags)
{
	size_t size = strlen(text);

	put_half(at, 0x1234);
	put_half(at + 4, (uint32_t)size);
	put(at + 8, text, size + 1);
	put(at + 8 + size + 1, &flags, 1);
}

static void set_tag(uint32_t name, uint32_t statement)
{
	frame.tag = (uint64_t)name << 32 | statement;
}

static void begin(void)
{
	put_word(CV, CV_BODY);
	put_word(CV_BODY + 32, PACKAGE);
	put_word(CV_BODY + 56, NAME);
	put_half(CV_BODY + 92, NAMED);
	put_word(GV, GV_BODY);
	put_word(GV_BODY + 32, NAME);
	put_word(GV_BODY + 40, PACKAGE);
	put_word(PACKAGE, PACKAGE_BODY);
	put_word(PACKAGE_BODY + 32, PACKAGE_NAME);
	put_hek(NAME, "run", 0);
	put_hek(PACKAGE_NAME, "A::B", 0);
	put_half(STATEMENT + 36, 31);
	put_word(STATEMENT + 48, FILE_NAME);
	put_half(STATEMENT + 60, 7);
	put(FILE_NAME, "/a/b.pl", 8);
	frame = (struct dp_runtime_frame){ GV | DP_PERL_GV, STATEMENT };
	set_tag(perl_check(NAME, PACKAGE), perl_check(31ULL << 32 | 7, FILE_NAME));
}

static void end(void)
{
	free(code);
	image.perl.is_threaded = 1;
}

TestSuite(perl, .init = begin, .fini = end);

static int read_code(void)
{
	free(code);
	code = NULL;
	return runtime_perl.read(&image, &frame, &memory, &code);
}

static void expect(const char *function, const char *file, unsigned int line)
{
	cr_assert_eq(read_code(), 0);
	cr_assert_str_eq(code->function, function);
	cr_assert_str_eq(code->file, file);
	cr_assert_eq(runtime_perl.line(&image, code, &frame), line);
}

Test(perl, reads_names_and_lines)
{
	expect("A::B::run", "/a/b.pl", 31);
	frame.position |= DP_RUNTIME_ENTRY | DP_PERL_IDLE;
	expect("A::B::run", "/a/b.pl", 31);
}

Test(perl, names_may_be_elsewhere)
{
	frame.code = CV | DP_PERL_CV;
	expect("A::B::run", "/a/b.pl", 31);
	/* It has been given a variable since. */
	put_half(CV_BODY + 92, 0);
	put_word(CV_BODY + 56, GV);
	expect("A::B::run", "/a/b.pl", 31);
	frame.code = NAME | DP_PERL_HEK;
	set_tag(perl_check(0x1234 | 3ULL << 32, 0), (uint32_t)frame.tag);
	expect("run", "/a/b.pl", 31);
}

Test(perl, some_code_has_no_name)
{
	frame.code = DP_PERL_EVAL;
	expect("(eval)", "/a/b.pl", 31);
	frame.code = DP_PERL_MAIN;
	expect("<main>", "/a/b.pl", 31);
	frame.code = DP_PERL_NAMELESS;
	expect("(unknown)", "/a/b.pl", 31);
	frame.code = DP_N_PERL_CODES;
	cr_assert_eq(read_code(), -ESTALE);
}

Test(perl, packages_have_any_number_of_names)
{
	put_half(PACKAGE_BODY + 60, (uint32_t)-2);
	put_word(PACKAGE_BODY + 32, OTHER_NAME);
	put_word(OTHER_NAME, PACKAGE_NAME);
	expect("A::B::run", "/a/b.pl", 31);
	put_word(OTHER_NAME, 0);
	expect("__ANON__::run", "/a/b.pl", 31);
	put_word(GV_BODY + 40, 0);
	set_tag(perl_check(NAME, 0), (uint32_t)frame.tag);
	expect("__ANON__::run", "/a/b.pl", 31);
}

Test(perl, names_are_latin_1_or_utf_8)
{
	put_hek(NAME, "\xfc", 0);
	expect("A::B::\xc3\xbc", "/a/b.pl", 31);
	put_hek(NAME, "\xc4\x80", 1);
	expect("A::B::\xc4\x80", "/a/b.pl", 31);
}

Test(perl, another_function_at_the_same_address_is_not_named)
{
	put_word(GV_BODY + 32, OTHER_NAME);
	cr_assert_eq(read_code(), -ESTALE);
	put_word(GV_BODY + 32, NAME);
	put_word(GV_BODY + 40, PACKAGE + 8);
	cr_assert_eq(read_code(), -ESTALE);
	frame.code = CV | DP_PERL_CV;
	put_word(CV_BODY + 32, PACKAGE + 8);
	cr_assert_eq(read_code(), -ESTALE);
	frame.code = NAME | DP_PERL_HEK;
	cr_assert_eq(read_code(), -ESTALE);
}

Test(perl, a_statement_that_is_gone_has_no_line)
{
	put_half(STATEMENT + 36, 32);
	expect("A::B::run", "", 0);
	put_half(STATEMENT + 36, 31);
	put_half(STATEMENT + 60, 8);
	expect("A::B::run", "", 0);
	put_half(STATEMENT + 60, 7);
	put_word(STATEMENT + 48, FILE_NAME + 1);
	expect("A::B::run", "", 0);
	frame.position = 8;
	expect("A::B::run", "", 0);
	frame.position = DP_RUNTIME_ENTRY;
	expect("A::B::run", "", 0);
}

static uint64_t changed;

static void change(void *arg)
{
	put_word(changed, 0);
}

Test(perl, what_changes_while_it_is_read_is_not_believed)
{
	const struct runtime_memory changing = { read_bytes, NULL, change };

	changed = GV_BODY + 40;
	cr_assert_eq(runtime_perl.read(&image, &frame, &changing, &code), -ESTALE);
	frame.code = DP_PERL_MAIN;
	changed = STATEMENT + 48;
	cr_assert_eq(runtime_perl.read(&image, &frame, &changing, &code), 0);
	cr_assert_str_eq(code->file, "");
	cr_assert_eq(code->first_line, 0);
}

Test(perl, without_threads_a_variable_has_the_file)
{
	image.perl.is_threaded = 0;
	put_word(STATEMENT + 48, FILE_GV);
	put_word(FILE_GV, FILE_GV + 0x20);
	put_word(FILE_GV + 0x20 + 32, OTHER_NAME);
	put_hek(OTHER_NAME, "_</c/d.pl", 0);
	set_tag((uint32_t)(frame.tag >> 32), perl_check(31ULL << 32 | 7, FILE_GV));
	expect("A::B::run", "/c/d.pl", 31);
}

Test(perl, a_file_may_end_with_its_memory)
{
	uint64_t file = END - 6;

	put(file, "/z.pl", 6);
	put_word(STATEMENT + 48, file);
	set_tag((uint32_t)(frame.tag >> 32), perl_check(31ULL << 32 | 7, file));
	expect("A::B::run", "/z.pl", 31);
	/* Without an end, it is none. */
	put(file, "/z.pl/", 6);
	expect("A::B::run", "", 0);
}

Test(perl, long_names_are_cut)
{
	memset(bytes + 0x1000, 'x', 2 * RUNTIME_NAME_SIZE);
	put_half(PLACE + 0x1000, 0x1234);
	put_half(PLACE + 0x1004, 2 * RUNTIME_NAME_SIZE - 16);
	put_word(GV_BODY + 32, PLACE + 0x1000);
	set_tag(perl_check(PLACE + 0x1000, PACKAGE), (uint32_t)frame.tag);
	cr_assert_eq(read_code(), 0);
	cr_assert_eq(strlen(code->function), RUNTIME_NAME_SIZE - 1);
	put_word(PACKAGE_BODY + 32, PLACE + 0x1000);
	cr_assert_eq(read_code(), 0);
	cr_assert_eq(strlen(code->function), RUNTIME_NAME_SIZE - 1);
	/* Each of its characters takes two. */
	memset(bytes + 0x1008, 0xfc, 2 * RUNTIME_NAME_SIZE - 16);
	put_half(PLACE + 0x1008 + 2 * RUNTIME_NAME_SIZE - 16, 0);
	cr_assert_eq(read_code(), 0);
	cr_assert_leq(strlen(code->function), RUNTIME_NAME_SIZE - 1);
}

Test(perl, what_is_no_function_is_not_named)
{
	put_half(NAME + 4, (uint32_t)-2);
	cr_assert_eq(read_code(), -ESTALE);
	put_half(NAME + 4, UINT32_MAX >> 1);
	cr_assert_eq(read_code(), -EFAULT);
	put_word(PACKAGE, 8);
	put_hek(NAME, "run", 0);
	cr_assert_eq(read_code(), -EFAULT);
	put_word(GV, 8);
	cr_assert_eq(read_code(), -EFAULT);
	frame.code = CV | DP_PERL_CV;
	put_word(CV, 8);
	cr_assert_eq(read_code(), -EFAULT);
	frame.code = 8 | DP_PERL_HEK;
	cr_assert_eq(read_code(), -EFAULT);
}
