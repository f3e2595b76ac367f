// SPDX-License-Identifier: Apache-2.0
#include "sandbox/namer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limit_hits.h"
#include "limits/limits.h"
#include "sandbox/message.h"
#include "sandbox/opener.h"
#include "sandbox/passage.h"
#include "symbols/debug_server.h"
#include "symbols/location_list.h"

struct namer {
	struct names *names;
	struct module **binaries; /* by number */
};

/* Who answers opens (opener.h) asks servers. */
static int fetch(const unsigned char *build_id, size_t size)
{
	char path[sizeof(NAMER_SERVER) + 2 * 64];
	size_t at = strlen(NAMER_SERVER);

	if (size > 64)
		return -1;
	memcpy(path, NAMER_SERVER, at + 1);
	for (size_t i = 0; i < size; i++)
		at += (size_t)snprintf(path + at, sizeof(path) - at, "%02x", build_id[i]);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int begin(struct namer *n, const struct namer_request *request)
{
	int err = names_new(&request->options, &n->names);

	if (err == 0)
		debug_server_replace(names_debug_server(n->names), fetch);
	return err;
}

static int open_binary(struct namer *n, const struct namer_request *request,
		       int fds[MESSAGE_MAX_FDS])
{
	struct module *module;

	passage_take(&fds[0]);
	passage_take(&fds[1]);
	module = module_new(n->names, request->binary.path, request->binary.build_id,
			    steal_fd(&fds[0]));
	if (!module)
		return -ENOMEM;
	if (fds[1] >= 0)
		module->debug_fd = steal_fd(&fds[1]);
	n->binaries[request->number] = module;
	return 0;
}

static int write_all(int fd, const struct iovec *section, off_t *at)
{
	size_t done = 0;

	while (done < section->iov_len) {
		ssize_t n = pwrite(fd, (const char *)section->iov_base + done,
				   section->iov_len - done, *at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
		*at += n;
	}
	return 0;
}

static int write_list(int to, const struct location_list *list, const uint64_t *starts,
		      struct namer_reply *ret)
{
	struct iovec sections[LOCATION_N_SECTIONS], all[LOCATION_N_SECTIONS + 1];
	size_t n_all = 0;
	off_t at = 0;
	int err = 0;

	location_list_sections(list, sections);
	for (size_t i = 0; i < LOCATION_N_SECTIONS; i++) {
		if (i == LOCATION_NAMES)
			all[n_all++] = (struct iovec){ (void *)starts,
						       list->n_addresses * sizeof(*starts) };
		all[n_all++] = sections[i];
	}
	for (size_t i = 0; err == 0 && i < n_all; i++)
		err = write_all(to, &all[i], &at);
	ret->n_addresses = (uint32_t)list->n_addresses;
	ret->n_locations = (uint32_t)list->n_locations;
	ret->names_size = (uint32_t)sections[LOCATION_NAMES].iov_len;
	return err;
}

static const char *limit_name(const char *name)
{
	if (!name || strlen(name) < NAMER_MAX_NAME)
		return name;
	LIMIT_HIT(NAMER_MAX_NAME);
	return NULL;
}

static uint64_t find_start(struct module *module, uint64_t address,
			   const struct source_location *locations, size_t n)
{
	uint64_t start;

	if ((n > 0 && locations[n - 1].function) || module_find_start(module, address, &start) < 0)
		return NAMER_NO_START;
	return start;
}

static int find_one(struct module *module, uint64_t address, bool lines, struct location_list *list,
		    uint64_t *ret_start)
{
	struct source_location limited[LOCATION_MAX];
	const struct source_location *found;
	size_t n = module_find_locations(module, address, lines, &found);
	uint32_t flags = lines ? LOCATION_LINES : 0;

	for (size_t i = 0; i < n; i++) {
		limited[i] = found[i];
		limited[i].function = limit_name(found[i].function);
		limited[i].file = limit_name(found[i].file);
	}
	if (location_cache_is_go(&module->locations, address))
		flags |= LOCATION_GO;
	*ret_start = find_start(module, address, limited, n);
	return location_list_add(list, address, flags, limited, n);
}

static int find(const struct namer_request *request, struct module *module, int to,
		struct namer_reply *ret)
{
	_cleanup_(location_list_done) struct location_list list = { 0 };
	uint64_t starts[NAMER_MAX_ADDRESSES];
	int err = request->n <= NAMER_MAX_ADDRESSES ? 0 : -EINVAL;

	for (uint32_t i = 0; err == 0 && i < request->n && list.n_names < NAMER_ENOUGH_NAMES; i++) {
		/* A full cache starts again, with other copies of names. */
		if (module->locations.n_entries == LOCATION_CACHE_MAX)
			location_cache_done(&module->locations);
		err = find_one(module, request->addresses[i], request->lines, &list, &starts[i]);
		if (i + 1 < request->n && module->locations.n_entries == LOCATION_CACHE_MAX)
			break;
	}
	if (err == 0)
		err = write_list(to, &list, starts, ret);
	ret->keeps_locations = module->keeps_locations;
	ret->is_partial = module->is_partial;
	ret->no_debug = module->no_debug;
	return err;
}

static int answer_about(struct namer *n, const struct namer_request *request, struct module *module,
			int to, struct namer_reply *ret)
{
	switch (request->kind) {
	case NAMER_FIND:
		return find(request, module, to, ret);
	case NAMER_START:
		return module_find_start(module, request->addresses[0], &ret->start);
	case NAMER_CLOSE:
		module_close(module, request->names);
		ret->has_symbols = module_has_source(module);
		return 0;
	case NAMER_FORGET:
		n->binaries[request->number] = module_free(module);
		return 0;
	}
	return -EINVAL;
}

static int answer(struct namer *n, const struct namer_request *request, int fds[MESSAGE_MAX_FDS],
		  struct namer_reply *ret)
{
	if (request->kind == NAMER_BEGIN)
		return n->names ? -EINVAL : begin(n, request);
	if (!n->names || request->number >= NAMER_MAX_BINARIES)
		return -EINVAL;
	if (request->kind == NAMER_OPEN)
		return n->binaries[request->number] ? -EINVAL : open_binary(n, request, fds);
	if (request->kind == NAMER_TRIM) {
		names_limit_debug(n->names, 0);
		return 0;
	}
	return n->binaries[request->number] ?
		       answer_about(n, request, n->binaries[request->number], fds[0], ret) :
		       -EINVAL;
}

/* The descriptors are only in the way here: who is asked must not answer. */
static int send_reply(int socket, const struct namer_reply *reply, int *opens)
{
	bool has_all = opens && opens[OPENER_LISTENER] >= 0 && opens[OPENER_MEMORY] >= 0 &&
		       opens[OPENER_MAPPINGS] >= 0;
	int err = message_send(socket, reply, sizeof(*reply), opens, has_all ? OPENER_N_ENDS : 0);

	if (opens)
		opener_close(opens);
	return err;
}

int namer_run(int socket, int *opens)
{
	struct namer n = { 0 };
	struct namer_request request;
	int fds[MESSAGE_MAX_FDS];

	n.binaries = calloc(NAMER_MAX_BINARIES, sizeof(*n.binaries));
	while (n.binaries && message_receive(socket, &request, sizeof(request), fds) == 0) {
		struct namer_reply reply = { 0 };

		(void)limit_hits_collect(&reply.limits);
		reply.err = answer(&n, &request, fds, &reply);
		reply.memory = n.names ? names_debug_memory(n.names) : 0;
		message_close(fds);
		if (send_reply(socket, &reply, opens) < 0)
			break;
	}
	(void)limit_hits_collect(NULL);
	names_free(n.names);
	free(n.binaries);
	return EXIT_SUCCESS;
}
