// SPDX-License-Identifier: Apache-2.0
#include "cli/probe_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"
#include "log/log.h"
#include "probes/probe_server.h"

static void explain(const char *path, int err)
{
	if (err == -ENOENT || err == -ECONNREFUSED) {
		log_error("nothing listens for probes at %s", path);
		log_detail("try:  dwarfprof record --probe-socket %s", path);
	} else {
		log_error("cannot connect to %s: %s", path, strerror(-err));
	}
}

int probe_client_connect(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int err = fd < 0 ? -errno : 0;

	if (strlen(path) >= sizeof(address.sun_path))
		err = -ENAMETOOLONG;
	if (err == 0) {
		strcpy(address.sun_path, path);
		if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
			err = -errno;
	}
	if (err < 0)
		explain(path, err);
	return err < 0 ? err : steal_fd(&fd);
}

union control {
	struct cmsghdr head; /* for its alignment */
	char bytes[CMSG_SPACE(PROBE_REQUEST_FDS * sizeof(int))];
};

static void attach_fds(struct msghdr *message, union control *control, const int *fds, size_t n)
{
	struct cmsghdr *head;

	memset(control, 0, sizeof(*control));
	message->msg_control = control->bytes;
	message->msg_controllen = CMSG_SPACE(n * sizeof(*fds));
	head = CMSG_FIRSTHDR(message);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(n * sizeof(*fds));
	memcpy(CMSG_DATA(head), fds, n * sizeof(*fds));
}

/* The descriptors go with the first byte. */
static int send_all(int fd, const char *text, size_t size, const int *fds, size_t n)
{
	for (size_t at = 0; at < size;) {
		struct iovec part = { (char *)text + at, size - at };
		struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
		union control control;
		ssize_t sent;

		if (at == 0 && n > 0)
			attach_fds(&message, &control, fds, n);
		sent = sendmsg(fd, &message, MSG_NOSIGNAL);
		if (sent < 0 && errno != EINTR)
			return -errno;
		at += sent > 0 ? (size_t)sent : 0;
	}
	return 0;
}

static int send_request(int fd, json_t *request, const int *fds, size_t n)
{
	_cleanup_free_ char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
	_cleanup_free_ char *line = NULL;
	int size = text ? asprintf(&line, "%s\n", text) : -1;

	json_decref(request);
	if (size < 0) {
		line = NULL;
		return -ENOMEM;
	}
	return size > PROBE_REQUEST_MAX ? -EMSGSIZE : send_all(fd, line, (size_t)size, fds, n);
}

static int receive(int fd, json_t **ret)
{
	_cleanup_free_ char *line = NULL;
	_cleanup_fclose_ FILE *from = NULL;
	int own = dup(fd);
	size_t room = 0;

	from = own < 0 ? NULL : fdopen(own, "r");
	if (!from && own >= 0)
		close(own);
	if (!from)
		return -errno;
	if (getline(&line, &room, from) < 0)
		return -ECONNRESET;
	*ret = json_loads(line, 0, NULL);
	return json_is_object(*ret) ? 0 : -EPROTO;
}

/* What the other side logs is one error per line, and details that begin with spaces. */
static void say_error(char *text)
{
	char *save;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (strncmp(line, "  ", 2) == 0)
			log_detail("%s", line + 2);
		else
			log_error("%s", line);
	}
}

int probe_client_ask(int fd, json_t *request, const int *fds, size_t n, json_t **ret)
{
	_cleanup_(json_decrefp) json_t *answer = NULL;
	_cleanup_free_ char *error = NULL;
	int err = send_request(fd, request, fds, n);

	*ret = NULL;
	/* Who is not let in is told why before there is a request. */
	if (err == 0 || err == -EPIPE)
		err = receive(fd, &answer);
	if (err < 0) {
		log_error("no answer: %s", err == -ECONNRESET ? "sampling has ended" :
					   err == -EMSGSIZE   ? "the request is too long" :
								strerror(-err));
		return err;
	}
	if (json_object_get(answer, "error")) {
		error = strdup(json_string_value(json_object_get(answer, "error")) ?: "it failed");
		if (error)
			say_error(error);
		return -EINVAL;
	}
	*ret = steal_ptr(answer);
	return 0;
}
