// SPDX-License-Identifier: Apache-2.0
/* What a process says of itself, as the specification has it encoded; and damaged, nested and too long. */
#include "sandbox/process_context.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"

static struct process_context context;

/* A message being written. */
struct message {
	uint8_t bytes[PROCESS_CONTEXT_MAX_SIZE + 1];
	size_t size;
};

static void put_varint(struct message *m, size_t value)
{
	for (; value >= 128; value >>= 7)
		m->bytes[m->size++] = (uint8_t)(value | 128);
	m->bytes[m->size++] = (uint8_t)value;
}

static void put(struct message *m, unsigned int number, const void *bytes, size_t size)
{
	put_varint(m, number << 3 | 2);
	put_varint(m, size);
	memcpy(m->bytes + m->size, bytes, size);
	m->size += size;
}

/* Puts a message into a field of another one, and empties it. */
static void wrap(struct message *to, unsigned int number, struct message *m)
{
	put(to, number, m->bytes, m->size);
	m->size = 0;
}

static struct message all, outer, inner, value;

/* KeyValue{key, AnyValue{string_value}} in field `number` of `to`. */
static void put_text(struct message *to, unsigned int number, const char *key, const char *text)
{
	put(&inner, 1, key, strlen(key));
	put(&value, 1, text, strlen(text));
	wrap(&inner, 2, &value);
	wrap(to, number, &inner);
}

static void put_keys(const char *const *keys, size_t n)
{
	struct message *values = calloc(1, sizeof(*values));

	for (size_t i = 0; i < n; i++) {
		put(&value, 1, keys[i % 3], strlen(keys[i % 3]));
		wrap(values, 1, &value);
	}
	put(&inner, 1, "threadlocal.attribute_key_map", 29);
	wrap(&value, 5, values);
	wrap(&inner, 2, &value);
	wrap(&all, 2, &inner);
	free(values);
}

static int parse(void)
{
	return process_context_parse(all.bytes, all.size, &context);
}

Test(process_context, has_a_service)
{
	put_text(&outer, 1, "service.name", "shop");
	put_text(&outer, 1, "service.namespace", "shops");
	put_text(&outer, 1, "service.instance.id", "627cc493");
	put_text(&outer, 1, "deployment.environment.name", "test");
	put_text(&outer, 1, "service.version", "7");
	wrap(&all, 1, &outer);
	cr_assert_eq(parse(), 0);
	cr_expect_str_eq(context.service_name, "shop");
	cr_expect_str_eq(context.service_namespace, "shops");
	cr_expect_str_eq(context.service_instance_id, "627cc493");
	cr_expect_str_eq(context.environment, "test");
	cr_expect_eq(context.n_keys, 0);
	cr_expect(process_context_is_sound(&context));
}

Test(process_context, has_names_of_keys)
{
	static const char *const keys[] = { "http.route", "user", "" };

	put_text(&all, 2, "threadlocal.schema_version", "tlsdesc_v1_dev");
	put_keys(keys, 3);
	cr_assert_eq(parse(), 0);
	cr_assert_eq(context.n_keys, 3);
	cr_expect_str_eq(context.keys[0], "http.route");
	cr_expect_str_eq(context.keys[1], "user");
	cr_expect_str_eq(context.keys[2], "");
	put_keys(keys, 300);
	cr_assert_eq(parse(), 0);
	cr_assert_eq(context.n_keys, PROCESS_CONTEXT_MAX_KEYS);
	cr_expect_str_eq(context.keys[255], "http.route");
	cr_expect(process_context_is_sound(&context));
}

Test(process_context, has_no_text_that_is_too_long_or_moves_the_cursor)
{
	char text[PROCESS_CONTEXT_TEXT_SIZE + 1] = "";
	const char *const keys[] = { text, "a\033[0m", "b" };

	memset(text, 'x', PROCESS_CONTEXT_TEXT_SIZE);
	put_text(&outer, 1, "service.name", text);
	put_text(&outer, 1, "service.namespace", text + 1);
	wrap(&all, 1, &outer);
	put_keys(keys, 3);
	cr_assert_eq(parse(), 0);
	cr_expect_str_eq(context.service_name, "");
	cr_expect_str_eq(context.service_namespace, text + 1);
	cr_expect_str_eq(context.keys[0], "");
	cr_expect_str_eq(context.keys[1], "a?[0m");
	cr_expect_str_eq(context.keys[2], "b");
}

/* Values in values, as deep as there is room: they are passed over. */
Test(process_context, may_be_deep)
{
	static struct message a, b;

	put(&a, 1, "x", 1);
	while (a.size < 30000) {
		wrap(&b, 1, &a);
		wrap(&a, 5, &b);
	}
	put(&inner, 1, "threadlocal.attribute_key_map", 29);
	wrap(&inner, 2, &a);
	wrap(&all, 2, &inner);
	cr_assert_eq(parse(), 0);
	cr_expect_eq(context.n_keys, 1);
	cr_expect_str_eq(context.keys[0], "");
}

Test(process_context, may_be_damaged)
{
	static const char *const keys[] = { "http.route", "user", "x" };
	size_t size;

	put_text(&outer, 1, "service.name", "shop");
	wrap(&all, 1, &outer);
	put_keys(keys, 3);
	size = all.size;
	for (all.size = 0; all.size < size; all.size++) {
		int err = parse();

		cr_assert(err == 0 || err == -EBADMSG);
		cr_assert(process_context_is_sound(&context));
	}
	all.size = size - 1;
	cr_expect_eq(parse(), -EBADMSG);
}

Test(process_context, is_in_a_file_of_bounded_size)
{
	_cleanup_close_ int fd = memfd_create("context", MFD_CLOEXEC);

	put_text(&outer, 1, "service.name", "shop");
	wrap(&all, 1, &outer);
	cr_assert_eq(write(fd, all.bytes, all.size), (ssize_t)all.size);
	cr_assert_eq(process_context_read(fd, &context), 0);
	cr_expect_str_eq(context.service_name, "shop");
	cr_assert_eq(ftruncate(fd, PROCESS_CONTEXT_MAX_SIZE + 1), 0);
	cr_expect_eq(process_context_read(fd, &context), -EFBIG);
	cr_expect_eq(process_context_read(-1, &context), -EBADMSG);
}

Test(process_context, is_sound_if_it_has_texts)
{
	context.n_keys = PROCESS_CONTEXT_MAX_KEYS;
	cr_assert(process_context_is_sound(&context));
	context.n_keys++;
	cr_expect(!process_context_is_sound(&context));
	context.n_keys = 1;
	context.keys[0][0] = '\n';
	cr_expect(!process_context_is_sound(&context));
	memset(context.keys[0], 'x', sizeof(context.keys[0]));
	cr_expect(!process_context_is_sound(&context));
	context.keys[0][5] = '\0';
	cr_expect(process_context_is_sound(&context));
	memset(context.environment, 'x', sizeof(context.environment));
	cr_expect(!process_context_is_sound(&context));
}
