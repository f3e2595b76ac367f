/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_TESTS_PROBE_ASKS_H
#define DP_PROBES_TESTS_PROBE_ASKS_H

/* A server of one test program, in the simulated kernel, and who asks it. */

#include <criterion/criterion.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "probes/probe_server.h"
#include "probes/tests/probe_world.h"
#include "samples/label_values.h"
#include "samples/spans.h"
#include "sandbox/tests/send_text.h"

static char directory[] = "/tmp/probe_server.XXXXXX", path[sizeof(directory) + 2];
static struct probe_server *server;

static inline int listen_there(void)
{
	static struct value_labels labels;
	static struct spans spans;

	return probe_server_open(NULL, NULL, path, NULL, &labels, &spans, &server);
}

/* Where probes are set. */
__attribute__((noinline)) int probed(int x);
int probed(int x)
{
	return x + 1;
}

__attribute__((noinline)) int probed_too(int x);
int probed_too(int x)
{
	return x + 2;
}

static inline int connect_to_it(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, path);
	cr_assert_eq(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* The caller drops the answer. */
static inline json_t *ask(const char *text, const int *fds, size_t n_fds)
{
	_cleanup_close_ int fd = connect_to_it();
	_cleanup_fclose_ FILE *from = fdopen(dup(fd), "r");
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	json_t *answer;

	send_text(fd, text, fds, n_fds);
	cr_assert_gt(getline(&line, &room, from), 0);
	answer = json_loads(line, 0, NULL);
	cr_assert(json_is_object(answer), "%s", line);
	return answer;
}

/* A request to add a probe to this very program; more: members of it. The caller frees it. */
static inline char *write_add(const char *probe, const char *name, const char *more)
{
	char own_path[PATH_MAX] = "", *text;

	cr_assert_gt(readlink("/proc/self/exe", own_path, sizeof(own_path) - 1), 0);
	cr_assert_gt(asprintf(&text,
			      "{\"do\": \"add\", \"kind\": \"uprobe\", \"path\": \"%s\", "
			      "\"probe\": \"%s\", \"name\": \"%s\"%s}\n",
			      own_path, probe, name, more),
		     0);
	return text;
}

/* With the memory of a process. */
static inline json_t *add_with(const char *probe, const char *name, const char *more, int memory)
{
	_cleanup_close_ int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *text = write_add(probe, name, more);
	const int fds[] = { own, memory };

	return ask(text, fds, memory < 0 ? 1 : 2);
}

static inline json_t *add(const char *probe, const char *name)
{
	return add_with(probe, name, "", -1);
}

static inline void add_one(const char *probe, const char *name)
{
	json_t *answer = add(probe, name);

	cr_assert(json_object_get(answer, "id"), "%s",
		  json_string_value(json_object_get(answer, "error")));
	json_decref(answer);
}

static inline void check_done(json_t *answer)
{
	cr_assert(!json_object_get(answer, "error"));
	json_decref(answer);
}

static inline void check_error(json_t *answer, const char *why)
{
	const char *error = json_string_value(json_object_get(answer, "error"));

	cr_assert(error);
	cr_assert(strstr(error, why), "%s", error);
	json_decref(answer);
}

static inline void refuse(const char *why, const char *probe, const char *name)
{
	check_error(add(probe, name), why);
}

static void begin(void)
{
	cr_assert(probed(1) == 2 && probed_too(1) == 3);
	cr_assert(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/s", directory);
}

static void end(void)
{
	server = probe_server_free(server);
	cr_expect_eq(access(path, F_OK), -1);
	rmdir(directory);
}

#endif
