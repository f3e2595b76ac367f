// SPDX-License-Identifier: Apache-2.0
/* Names of methods that the interpreter executes. */
#include <stdlib.h>

#include "runtimes/hotspot/layout.h"
#include "runtimes/tests/memory_fixture.h"

/* Where a program's structures are. */
enum {
	METHOD = PLACE + 0x100,
	CONSTANT = PLACE + 0x200,
	POOL = PLACE + 0x300,
	CLASS = PLACE + 0x400,
	CLASS_NAME = PLACE + 0x500,
	NAME = PLACE + 0x600,
	POOL_SIZE = 0x80,
};

static struct hotspot_layout layout;
static int n_forgotten;

static void begin(void)
{
	n_forgotten = 0;
	for (size_t i = 0; i < HOTSPOT_N_MEMBERS; i++)
		layout.at[i] = i < HOTSPOT_N_NEEDED ? 0 : HOTSPOT_MISSING;
	layout.pool_size = POOL_SIZE;
	layout.at[HOTSPOT_CONST_NAME] = 8;
	layout.at[HOTSPOT_POOL_LENGTH] = 8;
	layout.at[HOTSPOT_SYMBOL_BODY] = 4;
	put_word(METHOD, CONSTANT);
	put_word(CONSTANT, POOL);
	put_half(CONSTANT + 8, 1);
	put_word(POOL, CLASS);
	put_half(POOL + 8, 2);
	put_word(POOL + POOL_SIZE + 8, NAME);
	put_word(CLASS, CLASS_NAME);
	put(CLASS_NAME, "\3\0\0\0a/B", 7);
	put(NAME, "\3\0\0\0run", 7);
}

TestSuite(hotspot_name, .init = begin);

/* From here on it is another method's, as after its class was unloaded. */
static void change(void *arg)
{
	n_forgotten++;
	if (arg)
		put_word(METHOD, CONSTANT + 0x40);
}

static int read_name(void *is_changed, char ret[RUNTIME_NAME_SIZE])
{
	const struct dp_runtime_frame frame = { .code = METHOD,
						.position = DP_HOTSPOT_INTERPRETED | 1,
						.tag = CONSTANT };
	const struct runtime_memory changing = { .read = read_bytes,
						 .arg = is_changed,
						 .forget = change };
	struct runtime_code *code = NULL;
	int err = runtime_hotspot.read(&layout, &frame, &changing, &code);

	if (err == 0)
		memcpy(ret, code->function, RUNTIME_NAME_SIZE);
	free(code);
	return err;
}

Test(hotspot_name, interpreted)
{
	char name[RUNTIME_NAME_SIZE];

	cr_assert_eq(read_name(NULL, name), 0);
	cr_assert_str_eq(name, "a.B.run");
	cr_assert_eq(n_forgotten, 1);
}

/* What was read before and after that need not belong together. */
Test(hotspot_name, of_a_method_that_changes_while_it_is_read)
{
	char name[RUNTIME_NAME_SIZE];

	cr_assert_eq(read_name(bytes, name), -ESTALE);
}

Test(hotspot_name, of_another_method)
{
	char name[RUNTIME_NAME_SIZE];

	put_word(METHOD, CONSTANT + 0x40);
	cr_assert_eq(read_name(NULL, name), -ESTALE);
}
