// SPDX-License-Identifier: Apache-2.0
#include "probes/probe_request.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "formats/json_value.h"
#include "limits/limits.h"
#include "log/log.h"
#include "probes/probe_manager.h"
#include "probes/probe_peer.h"

#define MAX_RATE_LIMIT 1000000

static int fail(const char *why)
{
	log_error("%s", why);
	return -EINVAL;
}

static int fail_above(int rate)
{
	log_error("--max-rate of others than root is at most %d", rate);
	return -EINVAL;
}

static int unpack_failed(const json_error_t *error)
{
	log_error("invalid request: %s", error->text);
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
			return fail("a PID is out of range");
		if (probe_target_open((unsigned int)pid, &wish->targets[i]) < 0) {
			log_error("there is no process %d", (int)pid);
			return -ESRCH;
		}
		wish->n_targets++;
	}
	return 0;
}

/* The peer had to be able to read the file. */
static int check_file(const struct probe_peer *peer)
{
	if (peer->file < 0)
		return fail("the request comes without the opened file");
	if (!peer->given[0].is_readable)
		return fail("the file is not open for reading");
	return 0;
}

/*
 * Who may open /proc/PID/mem may trace the process. Was this very file given, and did the process still execute
 * the program that it did when it was opened, or was its memory at least still used, bound as it is now?
 */
static bool is_memory_of(const struct given_file *given, const struct probe_target *target)
{
	uint8_t domain[SECURITY_DOMAIN_DIGEST_SIZE];
	char path[32];
	struct stat file;

	security_domain_digest(target->domain, domain);
	snprintf(path, sizeof(path), "/proc/%u/mem", target->pid);
	return given->has_memory && given->pid == target->pid && stat(path, &file) == 0 &&
	       file.st_dev == given->device && file.st_ino == given->inode &&
	       memcmp(domain, given->domain, sizeof(domain)) == 0;
}

/* Others than root have to prove that they may trace each process. */
static int check_processes(const struct probe_peer *peer, const struct probe_wish *wish)
{
	if (peer->who.uid == 0)
		return 0;
	if (wish->n_targets == 0)
		return fail("only root may probe any process: give -p PID");
	for (unsigned int i = 0; i < wish->n_targets; i++) {
		const struct probe_target *t = &wish->targets[i];

		if (i + 1 < peer->n_given && is_memory_of(&peer->given[i + 1], t) &&
		    probe_target_is_of(t, wish->user, wish->group))
			continue;
		log_error("you may not trace process %u", t->pid);
		return -EPERM;
	}
	return 0;
}

static int unpack_wish(json_t *request, const struct probe_peer *peer, struct probe_wish *ret)
{
	json_t *pids = NULL;
	json_error_t error;
	json_int_t max_rate = PROBE_MAX_RATE;
	const char *what;

	ret->user = peer->who.uid;
	ret->group = peer->who.gid;
	if (json_unpack_ex(request, &error, JSON_STRICT, "{s:s, s:s, s:s, s:s, s?s, s?I, s?o}",
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
	if (peer->who.uid != 0 && max_rate > PROBE_MAX_RATE)
		return fail_above(PROBE_MAX_RATE);
	ret->max_rate = (unsigned int)max_rate;
	ret->max_hits = (unsigned int)max_rate * PROBE_EXCESS;
	return take_pids(pids, ret);
}

/* What an answer has; NULL: no memory. */
static int finish(json_t *done, json_t **ret)
{
	*ret = done;
	return done ? 0 : -ENOMEM;
}

static int add(struct probe_manager *m, json_t *request, const struct probe_peer *peer,
	       json_t **ret)
{
	_cleanup_(probe_wish_done) struct probe_wish wish = { 0 };
	unsigned int id;
	int err = unpack_wish(request, peer, &wish);

	if (err == 0)
		err = check_file(peer);
	if (err == 0)
		err = check_processes(peer, &wish);
	if (err < 0)
		return err;
	wish.fd = peer->file;
	err = probe_manager_add(m, &wish, &id);
	return err < 0 ? err : finish(json_pack("{s:i}", "id", (int)id), ret);
}

static int change(struct probe_manager *m, json_t *request, const struct probe_peer *peer,
		  enum probe_change change, json_t **ret)
{
	json_error_t error;
	const char *what;
	json_int_t id = 0;
	int n;

	if (json_unpack_ex(request, &error, JSON_STRICT, "{s:s, s?I}", "do", &what, "id", &id) < 0)
		return unpack_failed(&error);
	/* Cut to an int, it might be 0: all. */
	if (id < 0 || id > INT_MAX)
		return fail("no probe has such a number");
	n = probe_manager_change(m, change, (unsigned int)id, peer->who.uid);
	return n < 0 ? n : finish(json_pack("{s:i}", "n", n), ret);
}

static int remove_probes(struct probe_manager *m, json_t *request, const struct probe_peer *peer,
			 json_t **ret)
{
	return change(m, request, peer, PROBE_REMOVE, ret);
}

static int enable(struct probe_manager *m, json_t *request, const struct probe_peer *peer,
		  json_t **ret)
{
	return change(m, request, peer, PROBE_ENABLE, ret);
}

static int disable(struct probe_manager *m, json_t *request, const struct probe_peer *peer,
		   json_t **ret)
{
	return change(m, request, peer, PROBE_DISABLE, ret);
}

static int list(struct probe_manager *m, json_t *request, const struct probe_peer *peer,
		json_t **ret)
{
	(void)request;
	return finish(json_pack("{s:o}", "probes", probe_manager_list(m, peer->who.uid)), ret);
}

static int status(struct probe_manager *m, json_t *request, const struct probe_peer *peer,
		  json_t **ret)
{
	_cleanup_(json_decrefp) json_t *probes = probe_manager_list(m, peer->who.uid);

	(void)request;
	return finish(json_pack("{s:i, s:i, s:i, s:o, s:o}", "pid", (int)getpid(), "probes",
				(int)json_array_size(probes), "limit", DP_MAX_PROBES, "ended",
				probe_manager_list_ended(m, peer->who.uid), "changed",
				probe_manager_list_changed(m, peer->who.uid)),
		      ret);
}

static const struct {
	const char *what;
	int (*answer)(struct probe_manager *m, json_t *request, const struct probe_peer *peer,
		      json_t **ret);
} requests[] = {
	{ "add", add },   { "remove", remove_probes }, { "enable", enable }, { "disable", disable },
	{ "list", list }, { "status", status },
};

static int answer(struct probe_manager *m, const struct probe_peer *peer, json_t **ret)
{
	json_error_t error;
	_cleanup_(json_decrefp) json_t *request = json_loads(peer->text, 0, &error);
	const char *what = json_string_value(json_object_get(request, "do"));

	if (!request)
		return unpack_failed(&error);
	if (peer->who.uid == PROBE_PEER_STRANGER)
		return fail("your process is in another user namespace, or has ended");
	for (size_t i = 0; what && i < ARRAY_SIZE(requests); i++)
		if (strcmp(requests[i].what, what) == 0)
			return requests[i].answer(m, request, peer, ret);
	log_error("unknown request: `do' is %s", what ? what : "missing");
	return -EINVAL;
}

json_t *probe_request_answer(struct probe_manager *m, const struct probe_peer *peer)
{
	_cleanup_free_ char *errors = NULL;
	size_t size;
	FILE *to = open_memstream(&errors, &size);
	json_t *done = NULL;
	int err;

	if (!to)
		return NULL;
	log_answer_to(to);
	err = answer(m, peer, &done);
	log_answer_to(NULL);
	if (fclose(to) != 0) {
		json_decref(done);
		return NULL;
	}
	return err == 0 ?
		       done :
		       json_pack("{s:o}", "error", json_text(size > 0 ? errors : strerror(-err)));
}
