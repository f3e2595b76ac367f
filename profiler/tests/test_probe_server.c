// SPDX-License-Identifier: Apache-2.0
/* Who listens for probes, with a kernel simulated by the test. */
#include "profiler/probe_server.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/probe_slots.h"
#include "profiler/profiler.h"

static struct dp_probe slots[DP_MAX_PROBES];
static int eventfd_error;

int __wrap_eventfd(unsigned int value, int flags);
int __real_eventfd(unsigned int value, int flags);
int __wrap_probe_slots_new(const struct session *session, struct probe_slots **ret);
struct probe_slots *__wrap_probe_slots_free(struct probe_slots *s);
int __wrap_probe_slots_set(struct probe_slots *s, uint32_t slot, const struct dp_probe *probe);
int __wrap_probe_slots_read(const struct probe_slots *s, uint32_t slot, struct dp_probe *ret);
int __wrap_probe_slots_set_list(struct probe_slots *s, uint32_t number,
				const struct dp_arguments *list);
int __wrap_probe_slots_attach(struct probe_slots *s, const struct uprobe_places *places,
			      struct probe_links *ret);
void __wrap_probe_links_close(struct probe_links *links);

int __wrap_eventfd(unsigned int value, int flags)
{
	if (eventfd_error == 0)
		return __real_eventfd(value, flags);
	errno = eventfd_error;
	return -1;
}

int __wrap_probe_slots_new(const struct session *session, struct probe_slots **ret)
{
	(void)session;
	*ret = (struct probe_slots *)slots;
	return 0;
}

struct probe_slots *__wrap_probe_slots_free(struct probe_slots *s)
{
	(void)s;
	return NULL;
}

int __wrap_probe_slots_set(struct probe_slots *s, uint32_t slot, const struct dp_probe *probe)
{
	(void)s;
	slots[slot] = *probe;
	return 0;
}

int __wrap_probe_slots_read(const struct probe_slots *s, uint32_t slot, struct dp_probe *ret)
{
	(void)s;
	*ret = slots[slot];
	return 0;
}

int __wrap_probe_slots_set_list(struct probe_slots *s, uint32_t number,
				const struct dp_arguments *list)
{
	(void)s;
	(void)number;
	(void)list;
	return 0;
}

int __wrap_probe_slots_attach(struct probe_slots *s, const struct uprobe_places *places,
			      struct probe_links *ret)
{
	(void)s;
	(void)places;
	(void)ret;
	return 0;
}

void __wrap_probe_links_close(struct probe_links *links)
{
	(void)links;
}

static char directory[] = "/tmp/probe_server.XXXXXX", path[sizeof(directory) + 2];
static struct probe_server *server;

static int listen_there(void)
{
	static struct value_labels labels;
	const struct profiler_options options = { .probe_socket = path };

	return probe_server_open(NULL, NULL, &options, &labels, &server);
}

static void begin(void)
{
	cr_assert(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/s", directory);
}

static void end(void)
{
	server = probe_server_free(server);
	cr_expect_eq(access(path, F_OK), -1);
	rmdir(directory);
}

TestSuite(probe_server, .init = begin, .fini = end, .timeout = 60);

Test(probe_server, leaves_no_socket_after_a_failed_start)
{
	eventfd_error = EMFILE;
	cr_assert_eq(listen_there(), -EMFILE);
	cr_assert_eq(access(path, F_OK), -1);
	eventfd_error = 0;
	cr_assert_eq(listen_there(), 0);
	cr_assert_eq(access(path, F_OK), 0);
}

Test(probe_server, leaves_what_another_one_has_there)
{
	_cleanup_fclose_ FILE *file = fopen(path, "w");

	cr_assert_eq(listen_there(), -EADDRINUSE);
	cr_assert_eq(unlink(path), 0);
}
