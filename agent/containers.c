// SPDX-License-Identifier: Apache-2.0
#include "agent/containers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "limits/limits.h"
#include "sandbox/cpu_budget.h"
#include "sandbox/parsers.h"

/* In this order: Docker has its containers run by containerd, which does not know their names. */
static const struct place {
	const char *directory, *file; /* NULL: the first is a list */
} places[] = {
	{ "/var/lib/docker/containers/", "/config.v2.json" },
	{ "/run/containerd/io.containerd.runtime.v2.task/k8s.io/", "/config.json" },
	{ "/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/", "/config.json" },
	{ "/run/containers/storage/overlay-containers/", "/userdata/config.json" },
	{ "/run/containerd/io.containerd.runtime.v2.task/default/", "/config.json" },
	{ "/var/lib/containers/storage/overlay-containers/containers.json", NULL },
	/* Of those that end with their process (--rm), and of storage that ends with the machine. */
	{ "/var/lib/containers/storage/overlay-containers/volatile-containers.json", NULL },
	{ "/run/containers/storage/overlay-containers/volatile-containers.json", NULL },
};

static void forget(struct containers *c, struct container *container)
{
	HASH_DEL(c->all, container);
	free(container);
}

void containers_done(struct containers *c)
{
	struct container *container, *next;

	HASH_ITER(hh, c->all, container, next)
		forget(c, container);
	c->parsers = parsers_drop(c->parsers);
}

static void sweep(struct containers *c, uint64_t now_ns)
{
	bool all = HASH_COUNT(c->all) >= CONTAINERS_MAX;
	struct container *container, *next;

	if (!all && now_ns < c->swept_ns + CONTAINERS_FORGET_NS)
		return;
	c->swept_ns = now_ns;
	HASH_ITER(hh, c->all, container, next)
		if (all || now_ns > container->used_ns + CONTAINERS_FORGET_NS)
			forget(c, container);
}

static bool is_trusted(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       (st.st_uid == 0 || st.st_uid == geteuid()) &&
	       (st.st_mode & (S_IWGRP | S_IWOTH)) == 0 && st.st_size <= CONTAINER_FILE_MAX_SIZE;
}

/* Returns a descriptor, or -1: there is no such file. */
static int open_place(const char *root, const struct place *place, const char *id)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s%s%s", root, place->directory, place->file ? id : "",
		 place->file ?: "");
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0 && is_trusted(fd) ? steal_fd(&fd) : -1;
}

static int ask(struct containers *c, int fd, const char *id, struct container_names *ret)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	const struct parse_request request = {
		.kind = PARSE_CONTAINER,
		.fd = fd,
		.other = -1,
		.container_id = id,
		.cpu_ns = CONTAINERS_CPU_NS,
	};
	clockid_t clock = 0;
	int err = parsers_ask(c->parsers, &request, &clock, &result);

	if (err == 0)
		*ret = result.container;
	return err;
}

static void read_names(struct containers *c, struct container *container, uint64_t now_ns)
{
	/* Until there is something to spend, as for tables and names. */
	uint64_t pause_ns = c->parsers ? cpu_budget_pause_ns(parsers_budget(c->parsers), 0) : 0;
	int err = -ENODATA;

	container->again_ns = now_ns + (pause_ns ?: CONTAINERS_AGAIN_NS);
	/* Until one has it, or costs a parser its life. */
	for (size_t i = 0; i < ARRAY_SIZE(places) && pause_ns == 0; i++) {
		_cleanup_close_ int fd = open_place(c->root, &places[i], container->id);

		if (fd >= 0)
			err = ask(c, fd, container->id, &container->names);
		if (err == 0 || err == -ETIME || err == -EPROTO)
			break;
	}
	if (err == 0)
		container->again_ns = UINT64_MAX;
}

const struct container_names *containers_find(struct containers *c, const char *id, uint64_t now_ns)
{
	struct container *container;

	HASH_FIND_STR(c->all, id, container);
	if (!container) {
		sweep(c, now_ns);
		container = calloc(1, sizeof(*container));
		if (!container)
			return NULL;
		snprintf(container->id, sizeof(container->id), "%s", id);
		HASH_ADD_STR(c->all, id, container);
		if (!HASH_IS_ADDED(hh, container)) {
			free(container);
			return NULL;
		}
	}
	container->used_ns = now_ns;
	if (now_ns >= container->again_ns)
		read_names(c, container, now_ns);
	return container->again_ns == UINT64_MAX ? &container->names : NULL;
}
