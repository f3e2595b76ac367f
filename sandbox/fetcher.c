// SPDX-License-Identifier: Apache-2.0
#include "sandbox/fetcher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "sandbox/message.h"

static ssize_t touch(const struct fetch_request *request, struct fetch_reply *ret)
{
	struct iovec local = { ret->bytes, request->n }, remote[FETCH_MAX_PAGES];

	if (request->n > FETCH_MAX_PAGES)
		return -1;
	for (uint32_t i = 0; i < request->n; i++)
		remote[i] = (struct iovec){
			(void *)(uintptr_t)(request->address + (uint64_t)i * DP_USER_PAGE_SIZE), 1
		};
	return process_vm_readv(request->pid, &local, 1, remote, request->n, 0);
}

static ssize_t read_bytes(const struct fetch_request *request, struct fetch_reply *ret)
{
	struct iovec local = { ret->bytes, request->n };
	struct iovec remote = { (void *)(uintptr_t)request->address, request->n };

	return request->n > DP_USER_PAGE_SIZE ?
		       -1 :
		       process_vm_readv(request->pid, &local, 1, &remote, 1, 0);
}

void fetch_here(const struct fetch_request *request, struct fetch_reply *ret)
{
	ssize_t n;

	ret->kind = request->kind;
	errno = EINVAL;
	switch (request->kind) {
	case FETCH_READ:
		n = read_bytes(request, ret);
		break;
	case FETCH_TOUCH:
		n = touch(request, ret);
		break;
	default:
		n = -1;
	}
	ret->n = n < 0 ? -errno : (int32_t)n;
}

int fetch_list(pid_t pid, int to)
{
	_cleanup_close_ int from = -1;
	char path[32], part[DP_USER_PAGE_SIZE];
	size_t n = 0;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	from = open(path, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	while ((got = read(from, part, sizeof(part))) > 0) {
		n += (size_t)got;
		if (n > FETCH_LIST_MAX)
			return -EFBIG;
		if (write(to, part, (size_t)got) != got)
			return -ENOSPC;
	}
	return got < 0 ? -errno : (int)n;
}

/* By choice, as one that waits, and not because others wanted the CPU. */
static long count_sleeps(void)
{
	struct rusage usage = { 0 };

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw;
}

static void fetch(const struct fetch_request *request, int to, struct fetch_reply *ret)
{
	uint64_t began = clock_now_ns();
	long n_sleeps = count_sleeps();

	if (request->kind == FETCH_LIST) {
		ret->kind = request->kind;
		ret->n = fetch_list(request->pid, to);
	} else {
		fetch_here(request, ret);
	}
	ret->slept_ns = count_sleeps() == n_sleeps ? 0 : clock_now_ns() - began;
}

int fetcher_run(int socket)
{
	struct fetch_request request;
	struct fetch_reply reply = { 0 };
	int fds[MESSAGE_MAX_FDS];

	while (message_receive(socket, &request, sizeof(request), fds) == 0) {
		fetch(&request, fds[0], &reply);
		message_close(fds);
		if (message_send(socket, &reply, sizeof(reply), NULL, 0) < 0)
			break;
	}
	return EXIT_SUCCESS;
}
