/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_TESTS_PROBE_WORLD_H
#define DP_PROBES_TESTS_PROBE_WORLD_H

/* A kernel that probes are set in, simulated for one test program, which is linked with --wrap. */

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernel/probe_slots.h"
#include "kernel/uprobe_places.h"
#include "sandbox/finders.h"
#include "sandbox/given.h"
#include "sandbox/parsers.h"

static struct dp_probe slots[DP_MAX_PROBES];
static int eventfd_error;
static int may_close = -1; /* a pipe: closing links waits for a byte; -1: it does not */
static int n_silenced, n_closed, attach_error;
/* A process that ends while a probe is set in it. */
static pid_t dies;
/* In how many processes the last probe was set, and the first of them. */
static size_t n_attached;
static unsigned int attached;
/* Slots whose calls label samples, a bit for each; the number of the last one; what setting it returns. */
static uint64_t coded;
static unsigned int numbered;
static int code_error;
/* Had these the list of their functions? */
static bool had_functions;
/* For whom parsers were asked, in order, and what time the last one got. */
static uid_t asked_for[8];
static _Atomic size_t n_asked;
static uint64_t asked_ns;
/* How often processes were asked by what they are bound, and from which time on they have changed it. */
static unsigned int n_domains_read;
static unsigned int domain_changes = -1U;
/* A pipe: each of others than root waits for a byte; -1: it does not. */
static int may_ask = -1;

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
int __real_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_security_domain_read(unsigned int pid, char **ret);
int __wrap_eventfd(unsigned int value, int flags);
int __real_eventfd(unsigned int value, int flags);
int __wrap_probe_slots_new(const struct session *session, struct probe_slots **ret);
struct probe_slots *__wrap_probe_slots_free(struct probe_slots *s);
int __wrap_probe_slots_set(struct probe_slots *s, uint32_t slot, const struct dp_probe *probe);
int __wrap_probe_slots_read(const struct probe_slots *s, uint32_t slot, struct dp_probe *ret);
int __wrap_probe_slots_set_list(struct probe_slots *s, uint32_t number,
				const struct dp_arguments *list);
int __wrap_probe_slots_attach(struct probe_slots *s, enum probe_use use,
			      const struct uprobe_places *places, const unsigned int *pids,
			      size_t n_pids, struct probe_links *ret);
int __wrap_probe_slots_set_code(struct probe_slots *s, uint32_t slot, unsigned int probe, size_t n,
				struct dp_span_places *code);
void __wrap_probe_slots_drop_code(struct probe_slots *s, uint32_t slot);
void __wrap_probe_links_close(struct probe_links *links);
void __wrap_probe_slots_silence(const struct session *session);
int __wrap_finders_receive(struct finders *f, uid_t user, int socket, size_t size,
			   struct given *ret, int *ret_first);

void __wrap_finders_close(struct finders *f, uid_t user, int socket);
/* Who pays if the last connection that was closed had something left. */
static uid_t closed_for;

/* Of CLOCK_MONOTONIC, what the test has left out. */
static _Atomic time_t skipped_s;

static void finish(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Answers go in small parts. */
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
	const int room = 1;
	int peer = __real_accept4(fd, address, size, flags);

	(void)setsockopt(peer, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	return peer;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int err = __real_clock_gettime(clock, ret);

	if (clock == CLOCK_MONOTONIC)
		ret->tv_sec += skipped_s;
	return err;
}

int __wrap_security_domain_read(unsigned int pid, char **ret)
{
	(void)pid;
	*ret = strdup(n_domains_read++ < domain_changes ? "guarded\n" : "unconfined\n");
	return *ret ? 0 : -ENOMEM;
}

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

int __wrap_probe_slots_attach(struct probe_slots *s, enum probe_use use,
			      const struct uprobe_places *places, const unsigned int *pids,
			      size_t n_pids, struct probe_links *ret)
{
	(void)s;
	(void)use;
	(void)ret;
	had_functions = places->functions.size > 0;
	n_attached = n_pids;
	if (n_pids > 0)
		attached = pids[0];
	if (dies > 0)
		finish(dies);
	return attach_error;
}

int __wrap_probe_slots_set_code(struct probe_slots *s, uint32_t slot, unsigned int probe, size_t n,
				struct dp_span_places *code)
{
	(void)s;
	(void)n;
	(void)code;
	numbered = probe;
	if (code_error == 0)
		coded |= UINT64_C(1) << slot;
	return code_error;
}

void __wrap_probe_slots_drop_code(struct probe_slots *s, uint32_t slot)
{
	(void)s;
	coded &= ~(UINT64_C(1) << slot);
}

void __wrap_probe_links_close(struct probe_links *links)
{
	char byte;

	(void)links;
	n_closed++;
	if (may_close >= 0)
		(void)!read(may_close, &byte, 1);
}

void __wrap_probe_slots_silence(const struct session *session)
{
	(void)session;
	n_silenced++;
}

int __real_parsers_ask(struct parsers *p, const struct parse_request *request, clockid_t *clock,
		       struct parse_result *ret);
int __wrap_parsers_ask(struct parsers *p, const struct parse_request *request, clockid_t *clock,
		       struct parse_result *ret);

int __wrap_parsers_ask(struct parsers *p, const struct parse_request *request, clockid_t *clock,
		       struct parse_result *ret)
{
	char byte;

	asked_for[n_asked % (sizeof(asked_for) / sizeof(asked_for[0]))] = request->user;
	asked_ns = request->cpu_ns;
	n_asked++;
	if (request->user != 0 && may_ask >= 0)
		(void)!read(may_ask, &byte, 1);
	return __real_parsers_ask(p, request, clock, ret);
}

/* The test has no helpers. */
int __wrap_finders_receive(struct finders *f, uid_t user, int socket, size_t size,
			   struct given *ret, int *ret_first)
{
	(void)f;
	(void)user;
	return given_receive(socket, size, ret, ret_first);
}

void __wrap_finders_close(struct finders *f, uid_t user, int socket)
{
	(void)f;
	closed_for = user;
	close(socket);
}

#endif
