// SPDX-License-Identifier: Apache-2.0
#include "sandbox/verifiers.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/write_all.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"
#include "sandbox/cpu_budget.h"
#include "sandbox/message.h"
#include "sandbox/result_file.h"
#include "sandbox/spawned.h"
#include "sandbox/starter.h"
#include "sandbox/verifier.h"

/* How long it is remembered that a process has cost a verifier. */
#define COST_KEPT_NS UINT64_C(60000000000)
/* Of the limit: who takes longer is slow. A full queue of walks that are not must not take minutes. */
#define SLOW_PART 1000
/* Of the limit: what a verifier that is lost costs its user. To start others for ever is slow. */
#define LOST_PART 100
/* After none could be started. */
#define RETRY_NS UINT64_C(1000000000)

/* A process of whom is not known, as it has ended, gets one of its own. */
struct whose {
	uid_t user;
	pid_t pid; /* 0: it is known */
};

struct known_file {
	UT_hash_handle hh;
	uint64_t number;
};

struct verifier {
	struct spawned process;
	struct whose whose;
	uint64_t used; /* number of the last request; 0: there is none */
	struct known_file *files;
};

struct costly {
	UT_hash_handle hh;
	pid_t pid;
	unsigned int cost;
	uint64_t since_ns; /* of the last */
};

/* Time of slow requests, with sleep. */
struct slow_user {
	UT_hash_handle hh;
	uid_t user;
	uint64_t spent_ns, since_ns;
};

struct verifiers {
	struct parsers *parsers;
	uint64_t cpu_ns;
	clockid_t clock; /* atomic */
	uint64_t n_requests;
	uint64_t retry_ns; /* until then none is started */
	struct verifier all[VERIFIERS_MAX];
	struct verifier *last; /* of the last walk; NULL: this process, or it has failed */
	pid_t last_pid;        /* whose that was */
	struct costly *costly;
	struct slow_user *slow;
	struct second_walk *own; /* for walks in this process */
};

int verifiers_new(struct parsers *parsers, struct verifiers **ret)
{
	struct verifiers *v = calloc(1, sizeof(*v));

	*ret = NULL;
	if (!v)
		return -ENOMEM;
	if (second_walk_new(&v->own) < 0) {
		free(v);
		return -ENOMEM;
	}
	v->parsers = parsers_hold(parsers);
	/* Samples are copied at once, and wait for the first. */
	if (parsers)
		starter_prepare(parsers_starter(parsers), SPAWNED_VERIFIER);
	v->cpu_ns = VERIFIERS_CPU_NS;
	*ret = v;
	return 0;
}

void verifiers_set_cpu_limit(struct verifiers *v, uint64_t cpu_ns)
{
	v->cpu_ns = cpu_ns;
}

clockid_t verifiers_clock(const struct verifiers *v)
{
	return __atomic_load_n(&v->clock, __ATOMIC_RELAXED);
}

static void end(struct verifier *v)
{
	struct known_file *file, *next;

	if (v->used == 0)
		return;
	HASH_ITER(hh, v->files, file, next) {
		HASH_DEL(v->files, file);
		free(file);
	}
	spawned_end(&v->process);
	*v = (struct verifier){ 0 };
}

static void forget_costs(struct verifiers *v)
{
	struct costly *c, *next;

	HASH_ITER(hh, v->costly, c, next) {
		HASH_DEL(v->costly, c);
		free(c);
	}
}

static void forget_slow(struct verifiers *v)
{
	struct slow_user *s, *next;

	HASH_ITER(hh, v->slow, s, next) {
		HASH_DEL(v->slow, s);
		free(s);
	}
}

struct verifiers *verifiers_free(struct verifiers *v)
{
	if (!v)
		return NULL;
	for (size_t i = 0; i < VERIFIERS_MAX; i++)
		end(&v->all[i]);
	forget_costs(v);
	forget_slow(v);
	second_walk_free(v->own);
	parsers_drop(v->parsers);
	free(v);
	return NULL;
}

static struct costly *find_cost(const struct verifiers *v, pid_t pid)
{
	struct costly *c;

	HASH_FIND(hh, v->costly, &pid, sizeof(pid), c);
	return c;
}

static void add_cost(struct verifiers *v, pid_t pid, int err)
{
	struct costly *c = find_cost(v, pid);

	log_debug("what unwinds stacks of process %d a second time has %s", pid,
		  err == -ETIME  ? "taken too long" :
		  err == -EPROTO ? "given a wrong answer" :
				   "ended");
	if (!c && HASH_COUNT(v->costly) >= VERIFIERS_MAX_COSTLY)
		forget_costs(v);
	if (!c) {
		c = calloc(1, sizeof(*c));
		if (!c)
			return;
		c->pid = pid;
		HASH_ADD(hh, v->costly, pid, sizeof(pid), c);
		if (!HASH_IS_ADDED(hh, c)) {
			free(c);
			return;
		}
	}
	c->cost++;
	c->since_ns = clock_now_ns();
}

/* What others have ended, or another process of that number, is forgiven. */
static bool is_too_costly(struct verifiers *v, pid_t pid)
{
	struct costly *c = find_cost(v, pid);

	if (c && clock_now_ns() - c->since_ns >= COST_KEPT_NS) {
		HASH_DEL(v->costly, c);
		free(c);
		return false;
	}
	return c && c->cost >= VERIFIERS_MAX_COST;
}

static struct slow_user *find_slow(const struct verifiers *v, uid_t user)
{
	struct slow_user *s;

	HASH_FIND(hh, v->slow, &user, sizeof(user), s);
	return s;
}

/* One user's files must not keep from the stacks of all others. */
static bool is_too_slow(const struct verifiers *v, uid_t user)
{
	const struct slow_user *s = find_slow(v, user);

	return s && s->spent_ns >= VERIFIERS_MAX_SLOW * v->cpu_ns +
					   (clock_now_ns() - s->since_ns) / VERIFIERS_SLOW_SHARE;
}

static void add_time(struct verifiers *v, uid_t user, uint64_t spent_ns)
{
	struct slow_user *s = find_slow(v, user);

	if (spent_ns < v->cpu_ns / SLOW_PART)
		return;
	if (!s && HASH_COUNT(v->slow) >= VERIFIERS_MAX_COSTLY)
		forget_slow(v);
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return;
		s->user = user;
		s->since_ns = clock_now_ns();
		HASH_ADD(hh, v->slow, user, sizeof(user), s);
		if (!HASH_IS_ADDED(hh, s)) {
			free(s);
			return;
		}
	}
	s->spent_ns += spent_ns;
	if (is_too_slow(v, user))
		log_debug(
			"what unwinds stacks of user %u a second time takes too long: for a while "
			"it does not",
			user);
}

static int wait_for_reply(struct verifiers *all, struct verifier *v, struct verifier_reply *ret)
{
	struct pollfd fd = { .fd = v->process.socket, .events = POLLIN };
	int fds[MESSAGE_MAX_FDS];
	struct patience patience;
	int err = patience_begin(&v->process, all->cpu_ns, SPAWNED_STOPPED_NS, true, &patience);

	if (err < 0)
		return err;
	__atomic_store_n(&all->clock, patience.clock, __ATOMIC_RELAXED);
	while (err == 0) {
		int n = poll(&fd, 1, PATIENCE_LOOK_MS);

		if (n > 0)
			break;
		err = n < 0 && errno != EINTR ? -errno : patience_look(&patience, &v->process);
	}
	/* It may have answered, and slept since, while this process was not running. */
	if (err == -ETIME && poll(&fd, 1, 0) > 0)
		err = 0;
	__atomic_store_n(&all->clock, 0, __ATOMIC_RELAXED);
	cpu_budget_spend(parsers_budget(all->parsers), v->whose.user, patience_cpu_ns(&patience));
	add_time(all, v->whose.user, patience_spent(&patience));
	if (err < 0)
		return err;
	err = message_receive(v->process.socket, ret, sizeof(*ret), fds);
	message_close(fds);
	return err == -EPIPE ? -ECONNABORTED : err;
}

/* One that has answered what nobody has asked, or has not received what it has answered, is not honest. */
static bool is_ready(const struct verifier *v)
{
	struct pollfd fd = { .fd = v->process.socket, .events = POLLIN | POLLOUT };

	return poll(&fd, 1, 0) == 1 && (fd.revents & POLLOUT) &&
	       ((fd.revents & POLLHUP) || !(fd.revents & POLLIN));
}

static int ask(struct verifiers *all, struct verifier *v, const struct verifier_request *request,
	       const int *fds, size_t n_fds, struct verifier_reply *ret)
{
	int err = is_ready(v) ? 0 : -EPROTO;

	v->used = ++all->n_requests;
	if (err == 0)
		err = message_send(v->process.socket, request, sizeof(*request), fds, n_fds);
	if (err == 0)
		err = wait_for_reply(all, v, ret);
	return err == -EPIPE ? -ECONNABORTED : err;
}

static int send_file(struct verifiers *all, struct verifier *v, uint64_t number, int fd)
{
	const struct verifier_request request = { .kind = VERIFIER_FILE, .number = number };
	struct verifier_reply reply;
	struct known_file *file;
	int err;

	HASH_FIND(hh, v->files, &number, sizeof(number), file);
	if (file)
		return 0;
	file = calloc(1, sizeof(*file));
	if (!file)
		return -ENOMEM;
	file->number = number;
	HASH_ADD(hh, v->files, number, sizeof(number), file);
	if (!HASH_IS_ADDED(hh, file)) {
		free(file);
		return -ENOMEM;
	}
	err = ask(all, v, &request, &fd, 1, &reply);
	if (err == 0 && reply.err != 0)
		err = reply.err == -ENOMEM ? -ENOMEM : -EPROTO;
	if (err < 0) {
		HASH_DEL(v->files, file);
		free(file);
	}
	return err;
}

static int make_stack_file(const struct second_stack *stack)
{
	_cleanup_close_ int fd = memfd_create("stack", MFD_CLOEXEC);
	int err = fd < 0 ? -errno : 0;

	if (err == 0)
		err = write_all(fd, stack->mappings, stack->n_mappings * sizeof(*stack->mappings));
	if (err == 0)
		err = write_all(fd, stack->parts, stack->n_parts * sizeof(*stack->parts));
	if (err == 0)
		err = write_all(fd, stack->bytes, stack->n_bytes);
	return err < 0 ? err : steal_fd(&fd);
}

static int send_stack(struct verifiers *all, struct verifier *v, const struct second_stack *stack,
		      size_t max_frames, struct second_frame *frames, struct second_result *ret)
{
	const struct verifier_request request = {
		.kind = VERIFIER_WALK,
		.number = stack->maps,
		.max_frames = max_frames,
		.n_mappings = stack->n_mappings,
		.n_parts = stack->n_parts,
		.n_bytes = stack->n_bytes,
		.pid = stack->pid,
		.tid = stack->tid,
		.regs = stack->regs,
	};
	_cleanup_close_ int file = make_stack_file(stack);
	_cleanup_close_ int result = result_file_new("frames");
	const int fds[] = { file, result };
	struct verifier_reply reply;
	int err;

	if (file < 0 || result < 0)
		return file < 0 ? file : result;
	err = ask(all, v, &request, fds, 2, &reply);
	if (err == 0)
		err = result_file_seal(result);
	return err < 0 ? err : verifier_take(&reply, result, max_frames, frames, ret);
}

static struct whose whose_is(const struct second_stack *s)
{
	return (struct whose){ s->user, s->user == (uid_t)-1 ? s->pid : 0 };
}

static bool has_ended(const struct verifier *v)
{
	struct pollfd fd = { .fd = v->process.socket };

	return poll(&fd, 1, 0) == 1;
}

/* Starts none for a while if none could be started. */
static int start(struct verifiers *all, struct spawned *ret)
{
	int err;

	if (clock_now_ns() < all->retry_ns)
		return -EAGAIN;
	err = starter_start(parsers_starter(all->parsers), SPAWNED_VERIFIER, ret);
	if (err == -EAGAIN)
		all->retry_ns = clock_now_ns() + RETRY_NS; /* that may have taken long */
	return err;
}

/* One that has this user's, or a new one, in place of the one that is used least recently. */
static int find_verifier(struct verifiers *all, const struct second_stack *stack,
			 struct verifier **ret)
{
	struct whose whose = whose_is(stack);
	struct verifier *v = &all->all[0];
	struct spawned process;
	int err;

	if (is_too_slow(all, whose.user))
		return -EBUSY;
	for (size_t i = 0; i < VERIFIERS_MAX; i++) {
		struct verifier *other = &all->all[i];

		if (other->used > 0 && has_ended(other)) {
			/* Nobody knows by whom. */
			add_time(all, other->whose.user, all->cpu_ns / LOST_PART);
			end(other);
		}
		if (HASH_COUNT(other->files) >= VERIFIERS_MAX_FILES ||
		    (other->used > 0 && spawned_is_worn(&other->process)))
			end(other);
		if (other->used > 0 && other->whose.user == whose.user &&
		    other->whose.pid == whose.pid) {
			*ret = other;
			return 0;
		}
		if (other->used < v->used)
			v = other;
	}
	err = start(all, &process);
	if (err < 0)
		return err;
	end(v);
	*v = (struct verifier){ .process = process, .whose = whose, .used = ++all->n_requests };
	*ret = v;
	return 0;
}

static int walk_here(struct verifiers *all, const struct second_stack *stack, const int *fds,
		     size_t max_frames, struct second_frame *frames, struct second_result *ret)
{
	int err = 0;

	if (second_walk_n_files(all->own) > VERIFIERS_MAX_FILES) {
		struct second_walk *new;

		err = second_walk_new(&new);
		if (err < 0)
			return err;
		second_walk_free(all->own);
		all->own = new;
	}
	for (size_t i = 0; err == 0 && i < stack->n_mappings; i++)
		if (fds[i] >= 0 && !second_walk_knows(all->own, stack->mappings[i].file))
			err = second_walk_add(all->own, stack->mappings[i].file, fds[i]);
	return err < 0 ? err : second_walk_run(all->own, stack, max_frames, frames, ret);
}

/* Nobody knows what one does that does not answer as it should. */
static bool is_lost(int err)
{
	return err == -ETIME || err == -EPROTO || err == -ECONNABORTED || err == -ETIMEDOUT;
}

int verifiers_walk(struct verifiers *all, const struct second_stack *stack, const int *fds,
		   size_t max_frames, struct second_frame *frames, struct second_result *ret)
{
	struct verifier *v;
	int err;

	all->last = NULL;
	if (!all->parsers)
		return walk_here(all, stack, fds, max_frames, frames, ret);
	if (is_too_costly(all, stack->pid))
		return -ECONNABORTED;
	err = find_verifier(all, stack, &v);
	if (err == -ESHUTDOWN)
		return walk_here(all, stack, fds, max_frames, frames, ret);
	if (err < 0)
		return err;
	for (size_t i = 0; err == 0 && i < stack->n_mappings; i++)
		if (fds[i] >= 0)
			err = send_file(all, v, stack->mappings[i].file, fds[i]);
	if (err == 0)
		err = send_stack(all, v, stack, max_frames, frames, ret);
	if (is_lost(err))
		add_cost(all, stack->pid, err);
	/* Without memory, it may be better with a new one. */
	if (is_lost(err) || err == -ENOMEM) {
		add_time(all, v->whose.user, all->cpu_ns / LOST_PART);
		end(v);
	}
	all->last = err == 0 ? v : NULL;
	all->last_pid = stack->pid;
	return err;
}

int verifiers_have_rule(struct verifiers *all, uint64_t pc)
{
	const struct verifier_request request = { .kind = VERIFIER_RULE, .number = pc };
	struct verifier_reply reply;
	int err;

	if (!all->last)
		return second_walk_has_rule(all->own, pc);
	err = ask(all, all->last, &request, NULL, 0, &reply);
	if (err == 0 && reply.has_rule <= 1)
		return (int)reply.has_rule;
	err = err < 0 ? err : -EPROTO;
	if (is_lost(err))
		add_cost(all, all->last_pid, err);
	add_time(all, all->last->whose.user, all->cpu_ns / LOST_PART);
	end(all->last);
	all->last = NULL;
	return err;
}
