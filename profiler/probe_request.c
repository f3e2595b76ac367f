// SPDX-License-Identifier: Apache-2.0
#include "profiler/probe_request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file_stat.h"
#include "log/log.h"
#include "profiler/probe_manager.h"
#include "profiler/probe_peer.h"
#include "report/json_value.h"

#define MAX_RATE_LIMIT 1000000

static int fail(const char *why)
{
	log_error("%s", why);
	return -EINVAL;
}

static int unpack_failed(const json_error_t *error)
{
	log_error("the request is none: %s", error->text);
	return -EINVAL;
}

static int take_pids(const json_t *pids, struct probe_wish *wish)
{
	if (!pids)
		return 0;
	if (!json_is_array(pids) || json_array_size(pids) > DP_MAX_PROBE_PIDS) {
		log_error("a probe takes up to %d processes", DP_MAX_PROBE_PIDS);
		return -EINVAL;
	}
	for (size_t i = 0; i < json_array_size(pids); i++) {
		json_int_t pid = json_integer_value(json_array_get(pids, i));

		if (pid <= 0 || pid > INT32_MAX)
			return fail("a process has no such number");
		wish->pids[wish->n_pids++] = (unsigned int)pid;
	}
	return 0;
}

/* A descriptor with which the peer could read the file. */
static int check_file(const struct probe_peer *peer)
{
	int flags = peer->n_fds > 0 ? fcntl(peer->fds[0], F_GETFL) : -1;

	if (flags < 0)
		return fail("the request comes without the opened file");
	if ((flags & O_PATH) || (flags & O_ACCMODE) == O_WRONLY)
		return fail("the file is not open for reading");
	return 0;
}

/*
 * Who may open /proc/PID/mem may trace the process (proc_mem_open(), fs/proc/base.c). Is the descriptor
 * of this very file, and does the process still execute the program that it then did? Reading the memory
 * of one that has gone is its end.
 */
static bool is_memory_of(int fd, unsigned int pid)
{
	char path[32], byte;
	struct stat file, given;
	int flags = fcntl(fd, F_GETFL);

	snprintf(path, sizeof(path), "/proc/%u/mem", pid);
	return flags >= 0 && !(flags & O_PATH) && (flags & O_ACCMODE) != O_WRONLY &&
	       file_stat(fd, &given) == 0 && stat(path, &file) == 0 &&
	       file.st_dev == given.st_dev && file.st_ino == given.st_ino &&
	       pread(fd, &byte, 1, 1) != 0;
}

/* Others than root have to prove that they may trace each process. */
static int check_processes(const struct probe_peer *peer, const struct probe_wish *wish)
{
	if (peer->who.uid == 0)
		return 0;
	if (wish->n_pids == 0)
		return fail("only root may probe any process: give -p PID");
	for (unsigned int i = 0; i < wish->n_pids; i++) {
		if (i + 1 < peer->n_fds && is_memory_of(peer->fds[i + 1], wish->pids[i]))
			continue;
		log_error("you may not trace process %u", wish->pids[i]);
		return -EPERM;
	}
	return 0;
}

static int unpack_wish(json_t *request, const struct probe_peer *peer, struct probe_wish *ret)
{
	json_t *pids = NULL;
	json_error_t error;
	int max_rate = PROBE_MAX_RATE;
	const char *what;

	*ret = (struct probe_wish){ .user = peer->who.uid, .group = peer->who.gid };
	if (json_unpack_ex(request, &error, JSON_STRICT, "{s:s, s:s, s:s, s:s, s?s, s?i, s?o}",
			   "do", &what, "kind", &ret->kind, "path", &ret->path, "probe",
			   &ret->probe, "name", &ret->name, "max_rate", &max_rate, "pids",
			   &pids) < 0)
		return unpack_failed(&error);
	if (ret->path[0] != '/' || strlen(ret->path) >= PATH_MAX)
		return fail("the file is not given by its full path");
	if (ret->name && (ret->name[0] == '\0' || strlen(ret->name) > PROBE_MAX_NAME))
		return fail("a probe's name is empty, or too long");
	if (max_rate < 1 || max_rate > MAX_RATE_LIMIT)
		return fail("--max-rate takes a whole number from 1 to 1000000");
	/* All processes with the file pay for its hits. */
	if (peer->who.uid != 0 && max_rate > PROBE_MAX_RATE)
		return fail("--max-rate of others than root is at most 1000");
	ret->max_rate = (unsigned int)max_rate;
	ret->max_hits = (unsigned int)max_rate * PROBE_EXCESS;
	return take_pids(pids, ret);
}

static json_t *add(struct probe_manager *m, json_t *request, const struct probe_peer *peer)
{
	struct probe_wish wish;
	unsigned int id;

	if (unpack_wish(request, peer, &wish) < 0 || check_file(peer) < 0 ||
	    check_processes(peer, &wish) < 0)
		return NULL;
	wish.fd = peer->fds[0];
	if (probe_manager_add(m, &wish, &id) < 0)
		return NULL;
	return json_pack("{s:i}", "id", (int)id);
}

static json_t *change(struct probe_manager *m, json_t *request, const struct probe_peer *peer,
		      enum probe_change change)
{
	json_error_t error;
	const char *what;
	int id = 0, n;

	if (json_unpack_ex(request, &error, JSON_STRICT, "{s:s, s?i}", "do", &what, "id", &id) <
	    0) {
		unpack_failed(&error);
		return NULL;
	}
	n = probe_manager_change(m, change, (unsigned int)id, peer->who.uid);
	return n < 0 ? NULL : json_pack("{s:i}", "n", n);
}

static json_t *remove_probes(struct probe_manager *m, json_t *request,
			     const struct probe_peer *peer)
{
	return change(m, request, peer, PROBE_REMOVE);
}

static json_t *enable(struct probe_manager *m, json_t *request, const struct probe_peer *peer)
{
	return change(m, request, peer, PROBE_ENABLE);
}

static json_t *disable(struct probe_manager *m, json_t *request, const struct probe_peer *peer)
{
	return change(m, request, peer, PROBE_DISABLE);
}

static json_t *list(struct probe_manager *m, json_t *request, const struct probe_peer *peer)
{
	(void)request;
	return json_pack("{s:o}", "probes", probe_manager_list(m, peer->who.uid));
}

static json_t *status(struct probe_manager *m, json_t *request, const struct probe_peer *peer)
{
	_cleanup_(json_decrefp) json_t *probes = probe_manager_list(m, peer->who.uid);

	(void)request;
	return json_pack("{s:i, s:i, s:i}", "pid", (int)getpid(), "probes",
			 (int)json_array_size(probes), "limit", DP_MAX_PROBES);
}

static const struct {
	const char *what;
	json_t *(*answer)(struct probe_manager *m, json_t *request, const struct probe_peer *peer);
} requests[] = {
	{ "add", add },   { "remove", remove_probes }, { "enable", enable }, { "disable", disable },
	{ "list", list }, { "status", status },
};

static json_t *answer(struct probe_manager *m, const struct probe_peer *peer)
{
	json_error_t error;
	_cleanup_(json_decrefp) json_t *request = json_loads(peer->text, 0, &error);
	const char *what = json_string_value(json_object_get(request, "do"));

	if (!request) {
		unpack_failed(&error);
		return NULL;
	}
	for (size_t i = 0; what && i < ARRAY_SIZE(requests); i++)
		if (strcmp(requests[i].what, what) == 0)
			return requests[i].answer(m, request, peer);
	log_error("there are no requests %s", what ? what : "without `do'");
	return NULL;
}

json_t *probe_request_answer(struct probe_manager *m, const struct probe_peer *peer)
{
	_cleanup_free_ char *errors = NULL;
	size_t size;
	FILE *to = open_memstream(&errors, &size);
	json_t *done;

	if (!to)
		return NULL;
	log_answer_to(to);
	done = answer(m, peer);
	log_answer_to(NULL);
	if (fclose(to) != 0) {
		json_decref(done);
		return NULL;
	}
	return done ?: json_pack("{s:o}", "error", json_text(size > 0 ? errors : "out of memory"));
}
