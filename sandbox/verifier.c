// SPDX-License-Identifier: Apache-2.0
#include "sandbox/verifier.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/write_all.h"
#include "sandbox/message.h"

enum { STACK_FD, RESULT_FD };

static int read_all(int fd, void *ret, size_t size, off_t at)
{
	char *to = ret;

	while (size > 0) {
		ssize_t n = pread(fd, to, size, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPROTO;
		to += n;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static int walk(struct second_walk *w, const struct verifier_request *r,
		const int fds[MESSAGE_MAX_FDS], struct verifier_reply *ret)
{
	const size_t mappings_size = r->n_mappings * sizeof(struct second_mapping);
	const size_t parts_size = r->n_parts * sizeof(struct second_part);
	_cleanup_free_ char *values = malloc(mappings_size + parts_size + r->n_bytes + 1);
	_cleanup_free_ struct second_frame *frames = calloc(r->max_frames + 1, sizeof(*frames));
	struct second_stack stack = {
		.maps = r->number,
		.pid = (pid_t)r->pid,
		.tid = (pid_t)r->tid,
		.regs = r->regs,
		.n_mappings = r->n_mappings,
		.n_parts = r->n_parts,
		.n_bytes = r->n_bytes,
	};
	struct second_result result;
	int err;

	if (!values || !frames)
		return -ENOMEM;
	err = read_all(fds[STACK_FD], values, mappings_size + parts_size + r->n_bytes, 0);
	if (err < 0)
		return err;
	stack.mappings = (const void *)values;
	stack.parts = (const void *)(values + mappings_size);
	stack.bytes = (const uint8_t *)values + mappings_size + parts_size;
	err = second_walk_run(w, &stack, r->max_frames, frames, &result);
	if (err < 0)
		return err;
	ret->n_frames = (uint32_t)result.n_frames;
	ret->is_beyond_copy = result.is_beyond_copy;
	memcpy(ret->end, result.end, sizeof(ret->end));
	return write_all(fds[RESULT_FD], frames, result.n_frames * sizeof(*frames));
}

static int answer(struct second_walk *w, const struct verifier_request *request,
		  const int fds[MESSAGE_MAX_FDS], struct verifier_reply *ret)
{
	switch (request->kind) {
	case VERIFIER_FILE:
		return second_walk_add(w, request->number, fds[0]);
	case VERIFIER_WALK:
		return walk(w, request, fds, ret);
	case VERIFIER_RULE:
		ret->has_rule = second_walk_has_rule(w, request->number);
		return 0;
	default:
		return -EINVAL;
	}
}

int verifier_run(int socket)
{
	struct verifier_request request;
	int fds[MESSAGE_MAX_FDS];
	struct second_walk *w;

	if (second_walk_new(&w) < 0)
		return EXIT_FAILURE;
	while (message_receive(socket, &request, sizeof(request), fds) == 0) {
		struct verifier_reply reply = { 0 };

		reply.err = answer(w, &request, fds, &reply);
		message_close(fds);
		if (message_send(socket, &reply, sizeof(reply), NULL, 0) < 0)
			break;
	}
	second_walk_free(w);
	return EXIT_SUCCESS;
}

/* What an honest one may fail with. */
static bool is_error(int err)
{
	return err == -ENOMEM || err == -ENOENT || err == -ENOEXEC || err == -EINVAL;
}

static bool is_printable(const char *text, size_t size)
{
	size_t n = strnlen(text, size);

	for (size_t i = 0; i < n; i++)
		if (!isprint((unsigned char)text[i]))
			return false;
	return n < size;
}

int verifier_take(const struct verifier_reply *r, int file, size_t max_frames,
		  struct second_frame *frames, struct second_result *ret)
{
	int err;

	*ret = (struct second_result){ 0 };
	if (is_error(r->err))
		return r->err;
	if (r->err != 0 || r->n_frames > max_frames || r->is_beyond_copy > 1 ||
	    !is_printable(r->end, sizeof(r->end)))
		return -EPROTO;
	err = read_all(file, frames, r->n_frames * sizeof(*frames), 0);
	for (size_t i = 0; err == 0 && i < r->n_frames; i++)
		if (frames[i].is_activation > 1)
			err = -EPROTO;
	if (err < 0)
		return err;
	ret->n_frames = r->n_frames;
	ret->is_beyond_copy = r->is_beyond_copy;
	memcpy(ret->end, r->end, sizeof(ret->end));
	return 0;
}
