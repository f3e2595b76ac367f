// SPDX-License-Identifier: Apache-2.0
/* Functions in memory, as PHP 8.2 has them; and in memory that lies. */
#include <stdlib.h>

#include "runtimes/tests/memory_fixture.h"

#define FUNCTION (PLACE + 0x000)
#define CLASS (PLACE + 0x200)
#define NAME (PLACE + 0x300)
#define CLASS_NAME (PLACE + 0x400)
#define FILE_NAME (PLACE + 0x500)
#define INSTRUCTIONS (PLACE + 0x1000)
#define LONG_NAME (PLACE + 0x2000)
#define LONG_CLASS_NAME (PLACE + 0x2200)
#define N_INSTRUCTIONS 4

/* The layout of 8.2: layouts.h. */
static const struct dp_runtime_image image = {
	.chain = { .native = 1,
		   .tags = { 8, 88 },
		   .file = 153,
		   .hash = 8,
		   .fleeting = 1 << 22 | 1 << 26 },
	.php = { .api = 20220829,
		 .function = 8,
		 .scope = 16,
		 .file = 152,
		 .first_line = 160,
		 .instructions = 88,
		 .n_instructions = 80,
		 .instruction_size = 32,
		 .line = 24,
		 .class_name = 8,
		 .string_size = 16,
		 .string_text = 24 },
};

static struct dp_runtime_frame frame;
static struct runtime_code *code;

/* Of "/a/b.php" (zend_inline_hash_func(), Zend/zend_string.h) */
#define FILE_HASH UINT64_C(0x801ae4e37b455f1c)

static void put_string(uint64_t at, const char *text)
{
	put_word(at + 16, strlen(text));
	put(at + 24, text, strlen(text));
}

static void begin(void)
{
	put_word(FUNCTION, 2);
	put_word(FUNCTION + 8, NAME);
	put_word(FUNCTION + 16, CLASS);
	put_word(FUNCTION + 80, N_INSTRUCTIONS);
	put_word(FUNCTION + 88, INSTRUCTIONS);
	put_word(FUNCTION + 152, FILE_NAME);
	put_word(FUNCTION + 160, 30);
	put_word(CLASS + 8, CLASS_NAME);
	put_string(NAME, "run");
	put_string(CLASS_NAME, "A\\B");
	put_string(FILE_NAME, "/a/b.php");
	for (uint32_t i = 0; i < N_INSTRUCTIONS; i++)
		put_half(INSTRUCTIONS + i * 32 + 24, 31 + i);
	frame = (struct dp_runtime_frame){ FUNCTION, INSTRUCTIONS, chain_tag(NAME, INSTRUCTIONS) };
}

static void end(void)
{
	free(code);
}

TestSuite(php, .init = begin, .fini = end);

static int read_code(void)
{
	free(code);
	code = NULL;
	return runtime_php.read(&image, &frame, &memory, &code);
}

static unsigned int line_at(uint64_t position)
{
	frame.position = position | DP_RUNTIME_ENTRY;
	cr_assert_eq(read_code(), 0);
	return runtime_php.line(&image, code, &frame);
}

Test(php, reads_names)
{
	cr_assert_eq(read_code(), 0);
	cr_assert_str_eq(code->function, "A\\B::run");
	cr_assert_str_eq(code->file, "/a/b.php");
	put_word(FUNCTION + 16, 0);
	cr_assert_eq(read_code(), 0);
	cr_assert_str_eq(code->function, "run");
	put_word(FUNCTION + 8, 0);
	frame.tag = chain_tag(0, INSTRUCTIONS);
	cr_assert_eq(read_code(), 0);
	cr_assert_str_eq(code->function, "<main>");
}

Test(php, reads_lines)
{
	cr_assert_eq(line_at(INSTRUCTIONS), 31);
	cr_assert_eq(line_at(INSTRUCTIONS + 3 * 32), 34);
	/* What is not one of its instructions was there before it began. */
	cr_assert_eq(line_at(INSTRUCTIONS + 4 * 32), 30);
	cr_assert_eq(line_at(INSTRUCTIONS + 8), 30);
	cr_assert_eq(line_at(0), 30);
}

Test(php, native_functions_have_no_file)
{
	put_word(FUNCTION, 1);
	cr_assert_eq(line_at(INSTRUCTIONS), 0);
	cr_assert_str_eq(code->function, "A\\B::run");
	cr_assert_str_eq(code->file, "");
}

/* Of a script, all but the name of its file may be gone. */
Test(php, scripts_are_known_by_their_files)
{
	frame = (struct dp_runtime_frame){ FILE_NAME | DP_CHAIN_FILE, 17 | DP_RUNTIME_ENTRY,
					   FILE_HASH };
	put_word(FILE_NAME + 8, FILE_HASH);
	cr_assert_eq(read_code(), 0);
	cr_assert_str_eq(code->function, "<main>");
	cr_assert_str_eq(code->file, "/a/b.php");
	cr_assert_eq(runtime_php.line(&image, code, &frame), 17);
	put_word(FILE_NAME + 8, 98);
	cr_assert_eq(read_code(), -ESTALE);
	/* What has overwritten the text may have left the hash. */
	put_word(FILE_NAME + 8, FILE_HASH);
	put_string(FILE_NAME, "/a/c.php");
	cr_assert_eq(read_code(), -ESTALE);
	frame.code = 8 | DP_CHAIN_FILE;
	cr_assert_eq(read_code(), -EFAULT);
}

/* As the kernel makes it. */
static uint64_t hash_of(const char *text)
{
	uint64_t words[DP_CHAIN_TEXT_WORDS] = { 0 }, hash = strlen(text);

	memcpy(words, text, strnlen(text, DP_CHAIN_TEXT_SIZE));
	for (size_t i = 0; i < DP_CHAIN_TEXT_WORDS; i++)
		hash = chain_hash(hash, words[i]);
	return hash;
}

#define EVALUATED "/a/b.php(12) : eval()'d code"
#define OTHER_EVALUATED "/a/b.php(13) : eval()'d code"

/* Its memory may have any other such code, with all the same addresses. */
Test(php, evaluated_code_is_known_by_its_text)
{
	put_string(FILE_NAME, EVALUATED);
	frame = (struct dp_runtime_frame){ FILE_NAME | DP_CHAIN_FILE | DP_CHAIN_TEXT,
					   17 | DP_RUNTIME_ENTRY, hash_of(EVALUATED) };
	cr_assert_eq(read_code(), 0);
	cr_assert_str_eq(code->function, "<main>");
	cr_assert_str_eq(code->file, EVALUATED);
	cr_assert_eq(runtime_php.line(&image, code, &frame), 17);
	/* It may have got a hash by now. */
	put_word(FILE_NAME + 8, FILE_HASH);
	cr_assert_eq(read_code(), 0);
	put_string(FILE_NAME, OTHER_EVALUATED);
	cr_assert_eq(read_code(), -ESTALE);
	frame.code = 0x18 | DP_CHAIN_FILE | DP_CHAIN_TEXT;
	cr_assert_eq(read_code(), -EFAULT);
}

/* Without what identifies it. */
Test(php, code_without_a_tag_is_not_named)
{
	frame.tag = 0;
	cr_assert_eq(read_code(), -ESTALE);
}

/* Another one may have all its addresses, but not what is shown of it. */
Test(php, closures_are_known_by_what_is_shown)
{
	frame.code |= DP_CHAIN_LINE;
	frame.position = 17 | DP_RUNTIME_ENTRY;
	frame.tag = chain_tag(FILE_HASH, chain_tag(hash_of("run"), hash_of("A\\B")));
	put_word(FILE_NAME + 8, FILE_HASH);
	cr_assert_eq(read_code(), 0);
	cr_assert_str_eq(code->function, "A\\B::run");
	cr_assert_str_eq(code->file, "/a/b.php");
	cr_assert_eq(runtime_php.line(&image, code, &frame), 17);
	put_word(FILE_NAME + 8, 98);
	cr_assert_eq(read_code(), -ESTALE);
	put_word(FILE_NAME + 8, FILE_HASH);
	put_string(NAME, "rum");
	cr_assert_eq(read_code(), -ESTALE);
	put_string(NAME, "run");
	put_string(CLASS_NAME, "A\\C");
	cr_assert_eq(read_code(), -ESTALE);
	put_word(FUNCTION + 16, 0);
	cr_assert_eq(read_code(), -ESTALE);
	frame.tag = chain_tag(FILE_HASH, chain_tag(hash_of("run"), 0));
	cr_assert_eq(read_code(), 0);
	cr_assert_str_eq(code->function, "run");
}

Test(php, evaluated_closures_are_known_by_their_files_text)
{
	put_string(FILE_NAME, EVALUATED);
	frame.code |= DP_CHAIN_LINE | DP_CHAIN_TEXT;
	frame.position = 17;
	frame.tag = chain_tag(hash_of(EVALUATED), chain_tag(hash_of("run"), hash_of("A\\B")));
	cr_assert_eq(read_code(), 0);
	cr_assert_str_eq(code->function, "A\\B::run");
	cr_assert_str_eq(code->file, EVALUATED);
	cr_assert_eq(runtime_php.line(&image, code, &frame), 17);
	put_string(FILE_NAME, OTHER_EVALUATED);
	cr_assert_eq(read_code(), -ESTALE);
}

/* What is not in the tag is not shown: it may be another one's. */
Test(php, long_names_of_closures_are_shown_as_far_as_they_are_known)
{
	char name[DP_CHAIN_TEXT_SIZE + 3] = "", class_name[DP_CHAIN_TEXT_SIZE + 3] = "";

	memset(name, 'f', sizeof(name) - 1);
	memset(class_name, 'C', sizeof(class_name) - 1);
	frame.code |= DP_CHAIN_LINE;
	frame.tag = chain_tag(FILE_HASH, chain_tag(hash_of(name), hash_of(class_name)));
	put_word(FILE_NAME + 8, FILE_HASH);
	put_string(LONG_CLASS_NAME, class_name);
	put_word(CLASS + 8, LONG_CLASS_NAME);
	put_string(LONG_NAME, name);
	put_word(FUNCTION + 8, LONG_NAME);
	cr_assert_eq(read_code(), 0);
	cr_assert_eq(strspn(code->function, "C"), DP_CHAIN_TEXT_SIZE);
	cr_assert_eq(strspn(code->function + DP_CHAIN_TEXT_SIZE, ":"), 2);
	put_word(FUNCTION + 16, 0);
	frame.tag = chain_tag(FILE_HASH, chain_tag(hash_of(name), 0));
	cr_assert_eq(read_code(), 0);
	cr_assert_eq(strlen(code->function), DP_CHAIN_TEXT_SIZE);
	cr_assert_eq(strspn(code->function, "f"), DP_CHAIN_TEXT_SIZE);
	/* Another one's size, and its first bytes. */
	put_word(LONG_NAME + 16, sizeof(name));
	cr_assert_eq(read_code(), -ESTALE);
	name[DP_CHAIN_TEXT_SIZE - 1] = 'g';
	put_string(LONG_NAME, name);
	cr_assert_eq(read_code(), -ESTALE);
}

/* The kernel could not read the texts: those that a trait makes for several classes differ in that only. */
Test(php, closures_known_by_addresses_have_no_class)
{
	put_word(FUNCTION, 2 | 1ULL << (32 + 22));
	cr_assert_eq(line_at(INSTRUCTIONS + 32), 32);
	cr_assert_str_eq(code->function, "run");
	cr_assert_str_eq(code->file, "/a/b.php");
	/* Native code's is there. */
	put_word(FUNCTION, 1 | 1ULL << (32 + 22));
	cr_assert_eq(read_code(), 0);
	cr_assert_str_eq(code->function, "A\\B::run");
}

static void make_other(void *arg)
{
	(void)arg;
	put_word(FILE_NAME + 8, 0);
}

/* The hash is looked at after the text, in pages that have been read again. */
Test(php, another_file_in_its_place_is_not_named)
{
	const struct runtime_memory changing = { read_bytes, NULL, make_other };

	frame = (struct dp_runtime_frame){ FILE_NAME | DP_CHAIN_FILE, 17, FILE_HASH };
	put_word(FILE_NAME + 8, FILE_HASH);
	cr_assert_eq(runtime_php.read(&image, &frame, &changing, &code), -ESTALE);
}

Test(php, other_code_at_the_same_address_is_not_named)
{
	put_word(FUNCTION + 88, INSTRUCTIONS + 32);
	cr_assert_eq(read_code(), -ESTALE);
}

Test(php, long_names_are_cut)
{
	put_word(NAME + 16, UINT64_MAX);
	memset(bytes + (NAME - PLACE) + 24, 'x', 2 * RUNTIME_NAME_SIZE);
	put_word(FUNCTION + 16, 0);
	cr_assert_eq(read_code(), 0);
	cr_assert_eq(strlen(code->function), RUNTIME_NAME_SIZE - 1);
	put_word(FUNCTION + 16, CLASS);
	put_word(CLASS_NAME + 16, UINT64_MAX);
	cr_assert_eq(read_code(), 0);
	cr_assert_eq(strlen(code->function), RUNTIME_NAME_SIZE - 1);
}

Test(php, what_is_no_function_is_not_named)
{
	put_word(FUNCTION + 152, 8);
	cr_assert_eq(read_code(), -EFAULT);
	put_word(CLASS + 8, 8);
	cr_assert_eq(read_code(), -EFAULT);
	frame.code = 8;
	cr_assert_eq(read_code(), -EFAULT);
}
