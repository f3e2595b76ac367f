// SPDX-License-Identifier: Apache-2.0
#include "process/context_reader.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/write_all.h"
#include "kernel/proc_stat.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "process/mapping_list.h"
#include "sandbox/cpu_budget.h"
#include "sandbox/list_fetchers.h"
#include "sandbox/parsers.h"
#include "sandbox/process_memory.h"
#include "sandbox/process_user.h"

/* What a mapping begins with. */
struct header {
	char signature[8];
	uint32_t version;
	uint32_t size;
	uint64_t published_ns; /* 0: it is just being written */
	uint64_t payload;
};

static_assert(sizeof(struct header) == 32, "the header has no padding");

static const char SIGNATURE[] = "OTEL_CTX";
/* 1 is for development, and need not have this form. */
#define VERSION 2

static bool has_name(const char *name)
{
	static const char *const names[] = { "/memfd:OTEL_CTX", "[anon_shmem:OTEL_CTX]",
					     "[anon:OTEL_CTX]" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static int read_header(struct process_memory *memory, uint64_t address, struct header *ret)
{
	int err;

	process_memory_forget(memory);
	err = process_memory_read(memory, ret, sizeof(*ret), address);
	if (err < 0)
		return err;
	if (memcmp(ret->signature, SIGNATURE, sizeof(ret->signature)) != 0 ||
	    ret->version != VERSION || ret->size > PROCESS_CONTEXT_MAX_SIZE)
		return -ENODATA;
	return ret->published_ns == 0 ? -EAGAIN : 0;
}

/* What is published. */
struct published {
	uint64_t ns; /* when */
	size_t size;
	uint8_t bytes[PROCESS_CONTEXT_MAX_SIZE];
};

/* What the header of a mapping leads to, if both stay as they are meanwhile. */
static int read_published(struct process_memory *memory, uint64_t address, uint64_t known_ns,
			  struct published *ret)
{
	struct header before, after;
	int err = read_header(memory, address, &before), err_after;

	if (err < 0)
		return err;
	if (before.published_ns == known_ns)
		return -EALREADY;
	err = process_memory_read(memory, ret->bytes, before.size, before.payload);
	/* What cannot be read may be somewhere else meanwhile. */
	err_after = read_header(memory, address, &after);
	if (err_after == 0 && memcmp(&before, &after, sizeof(before)) != 0)
		err_after = -EAGAIN;
	ret->size = before.size;
	ret->ns = before.published_ns;
	return err_after < 0 ? err_after : err;
}

/* How often whoever waits for a list looks at the time. */
#define LOOK_MS 50

/* Asks for the list of mappings, and waits for it. Nothing else is asked of these fetchers. */
static int read_list(struct list_fetchers *lists, pid_t pid, pid_t thread, struct fetched_list *ret)
{
	const uint64_t until = clock_now_ns() + CONTEXT_LIST_NS;
	uint64_t number;
	int err = list_fetchers_ask(lists, pid, thread, &number);

	*ret = (struct fetched_list){ .pid = pid };
	if (err == -ESHUTDOWN) {
		list_fetch_here(pid, thread, ret);
		return ret->err;
	}
	while (err == 0 && clock_now_ns() < until) {
		(void)list_fetchers_wait(lists, LOOK_MS);
		while (list_fetchers_take(lists, ret)) {
			if (ret->number == number)
				return ret->err;
			free(ret->bytes); /* that of an earlier question, which came too late */
			*ret = (struct fetched_list){ .pid = pid };
		}
	}
	if (err < 0)
		return err;
	list_fetchers_cancel(lists, number);
	return -ETIMEDOUT;
}

/* Looks at all mappings with the name: others may have it, too. */
static int read_named(struct process_memory *memory, struct mapping_list *list, uint64_t known_ns,
		      struct published *ret)
{
	struct proc_map map;
	int err = 0, found = -ENODATA;

	while (found != 0 && found != -EALREADY && (err = mapping_list_next(list, &map)) > 0) {
		if (!has_name(map.name))
			continue;
		for (int i = 0; i < CONTEXT_ATTEMPTS && (i == 0 || found == -EAGAIN); i++)
			found = read_published(memory, map.start, known_ns, ret);
	}
	return err < 0 ? err : found;
}

static int read_memory(struct list_fetchers *lists, struct process_memory *memory,
		       uint64_t known_ns, struct published *ret)
{
	pid_t thread = proc_stat_live_thread(memory->pid);
	struct fetched_list fetched = { 0 };
	struct mapping_list list;
	int err = thread ? read_list(lists, memory->pid, thread, &fetched) : -ESRCH;

	if (err == 0) {
		mapping_list_init(&list, fetched.bytes, fetched.size);
		err = read_named(memory, &list, known_ns, ret);
	}
	free(fetched.bytes);
	return err;
}

static int parse(struct parsers *parsers, pid_t pid, const struct published *published,
		 struct process_context **ret)
{
	_cleanup_close_ int fd = memfd_create("context", MFD_CLOEXEC);
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	struct parse_request request = {
		.kind = PARSE_CONTEXT,
		.fd = fd,
		.other = -1,
		.cpu_ns = CONTEXT_CPU_NS,
	};
	clockid_t clock = 0;
	int err = fd < 0 ? -errno : process_user(pid, &request.user);

	if (err == 0 && parsers && cpu_budget_pause_ns(parsers_budget(parsers), request.user) > 0)
		err = -EAGAIN;
	if (err == 0)
		err = write_all(fd, published->bytes, published->size);
	if (err == 0)
		err = parsers_ask(parsers, &request, &clock, &result);
	if (err == 0)
		*ret = steal_ptr(result.context);
	return err;
}

int context_reader_read(struct list_fetchers *lists, struct fetchers *fetchers,
			struct parsers *parsers, pid_t pid, uint64_t *known_ns,
			struct process_context **ret)
{
	_cleanup_free_ struct process_memory *memory = malloc(sizeof(*memory));
	_cleanup_free_ struct published *published = malloc(sizeof(*published));
	int err;

	*ret = NULL;
	if (!memory || !published)
		return -ENOMEM;
	process_memory_init(memory, fetchers, pid);
	err = read_memory(lists, memory, *known_ns, published);
	if (err == 0)
		err = parse(parsers, pid, published, ret);
	if (err == 0)
		*known_ns = published->ns;
	return err;
}
