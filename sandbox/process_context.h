/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_PROCESS_CONTEXT_H
#define DP_SANDBOX_PROCESS_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limits/limits.h"

/*
 * What a process publishes about itself, for readers of its memory (OpenTelemetry's OTEP 4719): its service, and
 * the names of attribute keys of its threads (OTEP 4947). None of it need be true.
 */
#define PROCESS_CONTEXT_TEXT_SIZE 256
#define PROCESS_CONTEXT_KEY_SIZE 64

/* Texts without control characters; "": not said, or too long. */
struct process_context {
	char service_name[PROCESS_CONTEXT_TEXT_SIZE];
	char service_namespace[PROCESS_CONTEXT_TEXT_SIZE];
	char service_instance_id[PROCESS_CONTEXT_TEXT_SIZE];
	char environment[PROCESS_CONTEXT_TEXT_SIZE]; /* deployment.environment.name */
	uint32_t n_keys;
	char keys[PROCESS_CONTEXT_MAX_KEYS][PROCESS_CONTEXT_KEY_SIZE];
};

/* Without the keys that it does not have. */
static inline size_t process_context_size(const struct process_context *context)
{
	return offsetof(struct process_context, keys) + context->n_keys * sizeof(context->keys[0]);
}

/* Reads what was published (process_context.proto). 0, or -EBADMSG: it is nothing of this kind. */
int process_context_parse(const void *bytes, size_t size, struct process_context *ret);

/* The same of a file, which the caller keeps; also -EFBIG above PROCESS_CONTEXT_MAX_SIZE, or -ENOMEM. */
int process_context_read(int fd, struct process_context *ret);

/* Whether this is a possible result of process_context_read(). */
bool process_context_is_sound(const struct process_context *context);

#endif
