// SPDX-License-Identifier: Apache-2.0
#include "sandbox/process_context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "limits/limits.h"
#include "process_context.pb-c.h"

#define KEY_MAP "threadlocal.attribute_key_map"

static bool is_control(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f;
}

static void copy_text(const char *text, char *to, size_t size)
{
	if (strlen(text) >= size)
		return;
	for (size_t i = 0; text[i] != '\0'; i++)
		to[i] = (char)(is_control(text[i]) ? '?' : text[i]);
	to[strlen(text)] = '\0';
}

/* A later map has the keys of an earlier one, and more. */
static void take_keys(const Context__Array *array, struct process_context *ret)
{
	for (size_t i = 0; i < array->n_values && i < PROCESS_CONTEXT_MAX_KEYS; i++) {
		ret->keys[i][0] = '\0';
		copy_text(array->values[i]->string_value, ret->keys[i], sizeof(ret->keys[i]));
		if (i >= ret->n_keys)
			ret->n_keys = (uint32_t)i + 1;
	}
}

static void take(const Context__KeyValue *attribute, struct process_context *ret)
{
	const struct {
		const char *key;
		char *to;
	} texts[] = {
		{ "service.name", ret->service_name },
		{ "service.namespace", ret->service_namespace },
		{ "service.instance.id", ret->service_instance_id },
		{ "deployment.environment.name", ret->environment },
	};

	if (!attribute->value)
		return;
	if (strcmp(attribute->key, KEY_MAP) == 0 && attribute->value->array_value)
		take_keys(attribute->value->array_value, ret);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (strcmp(attribute->key, texts[i].key) == 0)
			copy_text(attribute->value->string_value, texts[i].to,
				  PROCESS_CONTEXT_TEXT_SIZE);
}

int process_context_parse(const void *bytes, size_t size, struct process_context *ret)
{
	Context__ProcessContext *context = context__process_context__unpack(NULL, size, bytes);

	*ret = (struct process_context){ 0 };
	if (!context)
		return -EBADMSG;
	for (size_t i = 0; context->resource && i < context->resource->n_attributes; i++)
		take(context->resource->attributes[i], ret);
	for (size_t i = 0; i < context->n_attributes; i++)
		take(context->attributes[i], ret);
	context__process_context__free_unpacked(context, NULL);
	return 0;
}

int process_context_read(int fd, struct process_context *ret)
{
	_cleanup_free_ uint8_t *bytes = malloc(PROCESS_CONTEXT_MAX_SIZE + 1);
	size_t have = 0;

	*ret = (struct process_context){ 0 };
	if (!bytes)
		return -ENOMEM;
	while (have <= PROCESS_CONTEXT_MAX_SIZE) {
		ssize_t n =
			pread(fd, bytes + have, PROCESS_CONTEXT_MAX_SIZE + 1 - have, (off_t)have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -EBADMSG;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return have > PROCESS_CONTEXT_MAX_SIZE ? -EFBIG : process_context_parse(bytes, have, ret);
}

static bool is_sound(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '\0')
			return true;
		if (is_control(text[i]))
			return false;
	}
	return false;
}

bool process_context_is_sound(const struct process_context *c)
{
	if (c->n_keys > PROCESS_CONTEXT_MAX_KEYS)
		return false;
	for (size_t i = 0; i < c->n_keys; i++)
		if (!is_sound(c->keys[i], sizeof(c->keys[i])))
			return false;
	return is_sound(c->service_name, sizeof(c->service_name)) &&
	       is_sound(c->service_namespace, sizeof(c->service_namespace)) &&
	       is_sound(c->service_instance_id, sizeof(c->service_instance_id)) &&
	       is_sound(c->environment, sizeof(c->environment));
}
