// SPDX-License-Identifier: Apache-2.0
#include "runtimes/memory.h"

#include "runtimes/tests/memory_fixture.h"

Test(memory, texts_are_cut)
{
	char text[RUNTIME_NAME_SIZE];

	put(PLACE, "name and more", 13);
	cr_assert_eq(memory_text(&memory, PLACE, 4, text), 0);
	cr_assert_str_eq(text, "name");
	cr_assert_eq(memory_text(&memory, PLACE, 0, text), 0);
	cr_assert_str_eq(text, "");
	memset(bytes, 'x', sizeof(bytes));
	cr_assert_eq(memory_text(&memory, PLACE, UINT64_MAX, text), 0);
	cr_assert_eq(strlen(text), RUNTIME_NAME_SIZE - 1);
	cr_assert_eq(memory_text(&memory, 8, 4, text), -EFAULT);
	cr_assert_str_eq(text, "");
}

Test(memory, tags_tell_functions_apart)
{
	struct dp_chain chain = { .tags = { 8, 24 } };
	struct dp_runtime_frame frame = { .code = PLACE, .tag = chain_tag(5, 6) };

	put_word(PLACE + 8, 5);
	put_word(PLACE + 24, 6);
	cr_assert_eq(memory_check_tag(&memory, &chain, &frame), 0);
	put_word(PLACE + 24, 7);
	cr_assert_eq(memory_check_tag(&memory, &chain, &frame), -ESTALE);
	chain.tagged = 32 + 1;
	put_word(PLACE + 32, PLACE + 0x100);
	put_word(PLACE + 0x108, 5);
	put_word(PLACE + 0x118, 6);
	cr_assert_eq(memory_check_tag(&memory, &chain, &frame), 0);
	put_word(PLACE + 32, 8);
	cr_assert_eq(memory_check_tag(&memory, &chain, &frame), -EFAULT);
}
