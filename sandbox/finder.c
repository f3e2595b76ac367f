// SPDX-License-Identifier: Apache-2.0
#include "sandbox/finder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cache/stored_file.h"
#include "elf/mapped_file.h"
#include "sandbox/given.h"
#include "sandbox/message.h"
#include "sandbox/opener.h"
#include "symbols/jit_map.h"
#include "symbols/source_file.h"

static bool needs_file(const struct find_request *r)
{
	return (r->kind != FIND_PATH && r->kind != FIND_DEBUG) || r->place.has_root;
}

static int open_wanted(const struct find_request *r, int from)
{
	if (from < 0 && needs_file(r))
		return -EBADF;
	switch (r->kind) {
	case FIND_FILE:
	case FIND_PASS:
	case FIND_ADD:
		return file_reopen(from);
	case FIND_PATH:
		if (r->no_links)
			return linkless_file_open(r->place.has_root ? from : -1, r->place.path,
						  r->inode);
		return r->place.has_root ? rooted_file_open(from, r->place.path, r->inode) :
					   regular_file_open(r->place.path, r->inode);
	case FIND_DEBUG:
		return debug_place_open(&r->place, r->place.has_root ? from : -1);
	case FIND_MAP:
		return jit_map_open(from, r->pid, r->user);
	default:
		return -EINVAL;
	}
}

int find_here(const struct find_request *request, int from, struct find_reply *ret)
{
	_cleanup_close_ int fd = open_wanted(request, from);

	*ret = (struct find_reply){ .err = fd < 0 ? fd : 0 };
	if (fd < 0)
		return fd;
	if (fstat(fd, &ret->st) < 0)
		return ret->err = -errno;
	ret->is_foreign = stored_file_is_foreign(fd);
	return steal_fd(&fd);
}

/* Who gets this closes it without asking the server. */
static int refer_to(int fd)
{
	char link[32];
	int reference;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	reference = open(link, O_PATH | O_CLOEXEC);
	return reference < 0 ? -errno : reference;
}

static int receive(const struct find_request *request, const int fds[MESSAGE_MAX_FDS])
{
	_cleanup_close_ int first = -1;
	struct given given;
	int err = given_receive(fds[FIND_FROM], request->id, &given, &first);

	return err < 0 ? err :
			 message_send(fds[FIND_TO], &given, sizeof(given), &first, first >= 0);
}

static int pass(const struct find_request *request, const int fds[MESSAGE_MAX_FDS])
{
	_cleanup_close_ int fd = -1;

	if (request->kind == FIND_GIVEN)
		return receive(request, fds);
	if (request->kind == FIND_TEXT)
		return source_file_copy(request->place.path, !request->no_links, fds[FIND_FROM]);
	fd = open_wanted(request, fds[FIND_FROM]);
	if (fd < 0)
		return fd;
	return request->kind == FIND_ADD ? opener_add(fds[FIND_TO], request->id, fd) :
					   message_send(fds[FIND_TO], "", 1, &fd, 1);
}

/* All that may wait is done then. Returns the descriptor for the reply or a negative errno. */
static int answer(const struct find_request *request, const int fds[MESSAGE_MAX_FDS],
		  struct find_reply *ret)
{
	_cleanup_close_ int fd = -1;

	*ret = (struct find_reply){ 0 };
	if (request->kind == FIND_PASS || request->kind == FIND_ADD ||
	    request->kind == FIND_GIVEN || request->kind == FIND_TEXT) {
		ret->err = pass(request, fds);
		return -1;
	}
	fd = find_here(request, fds[FIND_FROM], ret);
	if (fd >= 0 && ret->is_foreign) {
		int reference = refer_to(fd);

		ret->err = reference < 0 ? reference : 0;
		return reference;
	}
	return steal_fd(&fd);
}

int finder_run(int socket)
{
	struct find_request request;
	struct find_reply reply;
	int fds[MESSAGE_MAX_FDS], err;

	while (message_receive(socket, &request, sizeof(request), fds) == 0) {
		_cleanup_close_ int found = -1;

		if (request.kind == FIND_KEEP)
			continue;
		found = answer(&request, fds, &reply);
		message_close(fds);
		err = message_send(socket, &reply, sizeof(reply), &found, found >= 0);
		if (err < 0)
			break;
	}
	return EXIT_SUCCESS;
}
