// SPDX-License-Identifier: Apache-2.0
#include "sandbox/namer_process.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "sandbox/confine.h"
#include "sandbox/cpu_budget.h"
#include "sandbox/finders.h"
#include "sandbox/keeper.h"
#include "sandbox/message.h"
#include "sandbox/result_file.h"

/* libdw maps a file twice: for symbols, and for debug information. */
#define MAPPINGS 2

static void drop(struct namer_process *n)
{
	opener_close(n->opener.ends);
	if (n->result >= 0)
		close(n->result);
	*n = (struct namer_process){ 0 };
}

void namer_process_end(struct namer_process *n)
{
	if (n->serial == 0)
		return;
	spawned_end(&n->process);
	drop(n);
}

void namer_process_rest(struct namer_process *n, uint64_t idle_ns)
{
	if (clock_now_ns() > n->used_ns + idle_ns)
		namer_process_end(n);
}

uint64_t namer_cost_left(const struct namer_cost *cost, uint64_t limit_ns)
{
	uint64_t mib = cost->size >> 20, share = limit_ns / 100;
	uint64_t since = cost->since_ns > 0 ? clock_now_ns() - cost->since_ns : 0;
	uint64_t limit =
		limit_ns + (mib < NAMERS_MAX_MIB ? mib : NAMERS_MAX_MIB) * share + since / 100;

	if (limit > NAMERS_MAX_NS)
		limit = NAMERS_MAX_NS;
	return cost->time_ns < limit ? limit - cost->time_ns : 0;
}

/* It may wait for a server, and not end. */
static void lose(struct namer_process *n)
{
	spawned_kill(&n->process);
	finders_blame(n->opener.finders, n->opener.asker, n->opener.foreign_device,
		      n->process.pidfd);
	drop(n);
}

const char *namer_process_failure(int err)
{
	switch (err) {
	case -ETIME:
		return "reader took too long";
	case -ETIMEDOUT:
		return "file could not be opened again";
	case -EPROTO:
		return "reader gave a wrong answer";
	case -ECONNABORTED:
		return "reader crashed";
	default:
		return NULL;
	}
}

/* Besides what it gets, it may use CONFINE_MEMORY. */
void namer_process_allow_memory(const struct namer_process *n)
{
	rlim_t wanted = CONFINE_MEMORY + MAPPINGS * (n->size + n->opener.opened);
	struct rlimit limit;

	if (keeper_is_there()) {
		(void)keeper_allow_memory(n->process.pidfd, wanted);
		return;
	}
	if (prlimit(n->process.pid, RLIMIT_DATA, NULL, &limit) < 0 || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
	(void)prlimit(n->process.pid, RLIMIT_DATA, &limit, NULL);
}

/* Answers what it opens meanwhile. */
static int wait_for_reply(struct namer_process *n, struct patience *patience)
{
	struct pollfd fds[] = { { .fd = n->process.socket, .events = POLLIN },
				{ .fd = n->opener.ends[OPENER_LISTENER], .events = POLLIN } };
	uint64_t waited;

	for (;;) {
		int n_ready = poll(fds, ARRAY_SIZE(fds), PATIENCE_LOOK_MS), err;

		if (names_disabled(n->names))
			return -ECANCELED;
		if (n_ready < 0 && errno != EINTR)
			return -errno;
		if (n_ready > 0 && fds[0].revents)
			return 0;
		if (n_ready > 0 && (fds[1].revents & POLLIN)) {
			waited = n->opener.waited_ns;
			opener_answer(&n->opener);
			patience_charge(patience, n->opener.waited_ns - waited);
			namer_process_allow_memory(n);
		} else if (n_ready > 0) {
			fds[1].fd = -1; /* it has ended */
		}
		/* One that reads on uses some CPU time. */
		if (n->opener.has_foreign && names_hurried(n->names))
			patience->stuck_ns = NAMERS_STUCK_NS;
		err = patience_look(patience, &n->process);
		if (err < 0)
			return err == -ETIMEDOUT ? -ETIME : err;
	}
}

/* -ECONNABORTED: it has ended. ret_fds: the descriptors that come with it, or -1. */
static int receive(struct namer_process *n, uint64_t limit, uint64_t *time_ns,
		   struct namer_reply *ret, int ret_fds[MESSAGE_MAX_FDS])
{
	struct patience patience;
	int err = patience_begin(&n->process, limit, SPAWNED_STOPPED_NS, true, &patience);

	for (size_t i = 0; i < MESSAGE_MAX_FDS; i++)
		ret_fds[i] = -1;
	if (err < 0)
		return err;
	err = wait_for_reply(n, &patience);
	*time_ns += patience_spent(&patience);
	cpu_budget_spend(n->budget, n->opener.asker, patience_cpu_ns(&patience));
	if (err < 0)
		return err;
	err = message_receive(n->process.socket, ret, sizeof(*ret), ret_fds);
	if (err < 0)
		return err == -EPIPE ? -ECONNABORTED : err;
	n->memory = ret->memory;
	return 0;
}

static int send_question(struct namer_process *n, const struct namer_question *q)
{
	int fds[MESSAGE_MAX_FDS], err;

	for (size_t i = 0; i < q->n_files; i++) {
		fds[i] = passage_end(&q->files[i]);
		if (q->files[i].to >= 0)
			opener_note_foreign(&n->opener, q->files[i].file);
	}
	err = message_send(n->process.socket, q->request, sizeof(*q->request), fds, q->n_files);
	if (err < 0)
		return err == -EPIPE ? -ECONNABORTED : err;
	for (size_t i = 0; err == 0 && i < q->n_files; i++)
		err = passage_complete(&q->files[i], n->opener.finders, n->opener.asker);
	return err == 0 || err == -ECONNABORTED ? err : -ETIMEDOUT;
}

int namer_process_ask(struct namer_process *n, const struct namer_question *q,
		      struct namer_cost *cost, struct namer_reply *ret)
{
	uint64_t opened = n->opener.opened;
	int fds[MESSAGE_MAX_FDS] = { -1, -1, -1 }, err;

	err = send_question(n, q);
	n->used_ns = clock_now_ns();
	cost->since_ns = cost->since_ns ?: n->used_ns;
	if (err == 0)
		err = receive(n, q->limit_ns, &cost->time_ns, ret, fds);
	cost->size += n->opener.opened - opened;
	if (err == -ETIME && n->opener.has_foreign)
		lose(n);
	else if (err < 0)
		namer_process_end(n);
	else if (q->request->kind == NAMER_BEGIN)
		for (size_t i = 0; i < OPENER_N_ENDS; i++)
			n->opener.ends[i] = steal_fd(&fds[i]);
	message_close(fds);
	return err;
}

int namer_process_find(struct namer_process *n, const struct namer_request *request,
		       uint64_t limit_ns, struct namer_cost *cost, struct namer_reply *ret)
{
	struct passage result;
	int err;

	if (n->result >= 0)
		close(n->result);
	n->result = result_file_new("names");
	if (n->result < 0)
		return n->result;
	err = passage_init(&result, n->result);
	if (err == 0)
		err = namer_process_ask(
			n, &(struct namer_question){ request, &result, 1, limit_ns }, cost, ret);
	passage_done(&result);
	if (err < 0)
		return err;
	err = result_file_seal(n->result);
	if (err < 0)
		namer_process_end(n);
	return err;
}
