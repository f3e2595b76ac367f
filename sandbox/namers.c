// SPDX-License-Identifier: Apache-2.0
#include "sandbox/namers.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "base/cleanup.h"
#include "base/file_stat.h"
#include "limits/limit_hits.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"
#include "sandbox/cpu_budget.h"
#include "sandbox/finders.h"
#include "sandbox/known_starts.h"
#include "sandbox/module_parse.h"
#include "sandbox/namer.h"
#include "sandbox/namer_process.h"
#include "sandbox/passage.h"
#include "sandbox/starter.h"
#include "symbols/debug_server.h"
#include "symbols/module.h"
#include "symbols/name_reader.h"

/* How long none is started after that has failed. */
#define RETRY_NS UINT64_C(2000000000)

struct name_reading {
	uint64_t serial; /* of the namer that has it open; 0: none has */
	uint32_t number; /* there */
	dev_t device;    /* of the binary */
	ino_t inode;
	struct namer_cost cost;
	uint64_t n_names;
	bool has_failed;
	struct known_starts starts;
	struct name_reading *next_forgotten;
};

struct namers {
	struct parsers *parsers;
	struct names *names;
	uint64_t limit_ns;
	struct namer_process all[NAMERS_MAX];
	uint64_t last_serial, clock;
	uint64_t next_start_ns; /* not before */
	bool is_starting;       /* the last one has got no file yet */
	bool has_answered, is_broken, is_missing;
	unsigned int n_failed;
	struct module *asked; /* during a request */
	pthread_mutex_t lock; /* protects what follows */
	struct name_reading *forgotten;
};

static int fetch(void *arg, const unsigned char *build_id, size_t size)
{
	struct namers *all = arg;

	return all->asked ? debug_server_fetch(names_debug_server(all->names), build_id, size,
					       all->asked->path, &all->asked->awaited) :
			    -1;
}

static int begin(struct namers *all, struct namer_process *n)
{
	const struct namer_request request = {
		.kind = NAMER_BEGIN,
		.options = *names_options(all->names),
	};
	struct namer_cost none = { 0 };
	struct namer_reply reply;
	int err = namer_process_ask(
		n, &(struct namer_question){ &request, NULL, 0, NAMERS_TIME_NS }, &none, &reply);

	if (err == 0 && reply.err != 0) {
		namer_process_end(n);
		err = -ECONNABORTED;
	}
	all->has_answered |= err == 0;
	return err;
}

static struct namer_process *least_used(struct namers *all)
{
	struct namer_process *least = &all->all[0];

	for (size_t i = 0; i < NAMERS_MAX; i++)
		if (all->all[i].used < least->used)
			least = &all->all[i];
	namer_process_end(least);
	return least;
}

static int start(struct namers *all, const struct owner *owner, bool is_mixed, uid_t asker,
		 struct namer_process **ret)
{
	struct spawned process;
	int err = -EAGAIN;

	all->is_starting = true;
	if (clock_now_ns() >= all->next_start_ns)
		err = starter_start(parsers_starter(all->parsers), SPAWNED_NAMER, &process);
	if (err < 0)
		return err;
	names_go_last(all->names, process.pid);
	*ret = least_used(all);
	**ret = (struct namer_process){
		.serial = ++all->last_serial,
		.process = process,
		.names = all->names,
		.budget = parsers_budget(all->parsers),
		.owner = *owner,
		.is_mixed = is_mixed,
		.opener = { .ends = { -1, -1, -1 },
			    .device = owner->device,
			    .user = owner->user,
			    .asker = asker,
			    .finders = parsers_finders(all->parsers),
			    .fetch = fetch,
			    .arg = all },
		.result = -1,
	};
	err = begin(all, *ret);
	all->is_starting = err < 0;
	return err;
}

static struct namer_process *find_namer(struct namers *all, uint64_t serial)
{
	for (size_t i = 0; serial > 0 && i < NAMERS_MAX; i++)
		if (all->all[i].serial == serial)
			return &all->all[i];
	return NULL;
}

/* A debug file from a process's root may be anybody's. */
static bool is_of_another(int debug_fd, const struct owner *owner)
{
	struct stat st;

	return debug_fd > 0 &&
	       (file_stat(debug_fd, &st) < 0 || (st.st_uid != 0 && st.st_uid != owner->user));
}

static int get_namer(struct namers *all, const struct module *module, const struct owner *owner,
		     struct namer_process **ret)
{
	bool is_mixed = is_of_another(module->debug_fd, owner);

	for (size_t i = 0; !is_mixed && i < NAMERS_MAX; i++) {
		struct namer_process *n = &all->all[i];

		if (n->serial > 0 && !n->is_mixed && n->n_binaries < NAMER_MAX_BINARIES &&
		    !spawned_is_worn(&n->process) && n->owner.device == owner->device &&
		    n->owner.user == owner->user) {
			*ret = n;
			return 0;
		}
	}
	return start(all, owner, is_mixed, module->user, ret);
}

/*
 * Nothing that a namer says is for the caller, to whom errors have a meaning of their own. One with too
 * little memory is replaced: the next one has fewer files.
 */
static int check_reply(struct namer_process *n, const struct namer_reply *reply)
{
	if (reply->err == 0)
		return 0;
	namer_process_end(n);
	return reply->err == -ENOMEM ? -ECONNABORTED : -EPROTO;
}

static void tell_own(struct opener *opener, const struct module *module)
{
	opener->own_device = module->reading->device;
	opener->own_inode = module->reading->inode;
	opener->asker = module->user;
	snprintf(opener->own_path, sizeof(opener->own_path), "%s", module->path);
}

static int send_files(struct namer_process *n, const struct module *module,
		      const struct namer_request *request, uint64_t limit_ns,
		      struct namer_cost *cost)
{
	struct passage files[2];
	struct namer_question q = { request, files, module->debug_fd > 0 ? 2 : 1, limit_ns };
	struct namer_reply reply;
	int err = passage_init(&files[0], module->fd);

	err = passage_init(&files[1], module->debug_fd > 0 ? module->debug_fd : -1) ?: err;
	if (err == 0)
		err = namer_process_ask(n, &q, cost, &reply);
	passage_done(&files[0]);
	passage_done(&files[1]);
	return err < 0 ? err : check_reply(n, &reply);
}

static int open_there(struct namers *all, const struct module *module, struct name_reading *r,
		      struct namer_process **ret)
{
	struct namer_request request = { .kind = NAMER_OPEN };
	struct owner owner;
	struct stat st;
	int err = module->fd < 0 ? -ENOENT : file_stat(module->fd, &st);

	if (err < 0)
		return err;
	owner = (struct owner){ st.st_dev, st.st_uid };
	err = get_namer(all, module, &owner, ret);
	if (err < 0)
		return err;
	request.number = (*ret)->n_binaries++;
	snprintf(request.binary.path, sizeof(request.binary.path), "%s", module->path);
	memcpy(request.binary.build_id, module->build_id, sizeof(request.binary.build_id));
	(*ret)->size += (uint64_t)st.st_size;
	namer_process_allow_memory(*ret);
	r->device = st.st_dev;
	r->inode = st.st_ino;
	tell_own(&(*ret)->opener, module);
	r->serial = (*ret)->serial;
	r->number = request.number;
	r->cost.size = (uint64_t)st.st_size;
	return send_files(*ret, module, &request, namer_cost_left(&r->cost, all->limit_ns),
			  &r->cost);
}

/* What was forgotten since the last request. */
static void tell_forgotten(struct namers *all)
{
	struct name_reading *forgotten, *next;

	pthread_mutex_lock(&all->lock);
	forgotten = all->forgotten;
	all->forgotten = NULL;
	pthread_mutex_unlock(&all->lock);
	for (; forgotten; forgotten = next) {
		struct namer_request request = { .kind = NAMER_FORGET,
						 .number = forgotten->number };
		struct namer_process *n = find_namer(all, forgotten->serial);
		struct namer_reply reply;

		next = forgotten->next_forgotten;
		if (n && namer_process_ask(
				 n, &(struct namer_question){ &request, NULL, 0, NAMERS_TIME_NS },
				 &forgotten->cost, &reply) == 0)
			n->size -= forgotten->cost.size < n->size ? forgotten->cost.size : n->size;
		free(forgotten);
	}
}

/* All namers together have as much debug information open as this process would have. */
static void limit_memory(struct namers *all, const struct namer_process *used)
{
	struct namer_request request = { .kind = NAMER_TRIM };
	struct namer_cost none = { 0 };
	struct namer_reply reply;
	uint64_t sum = 0;

	for (size_t i = 0; i < NAMERS_MAX; i++)
		sum += all->all[i].memory < MODULE_DEBUG_MEMORY ? all->all[i].memory :
								  MODULE_DEBUG_MEMORY;
	for (size_t i = 0; i < NAMERS_MAX && sum > MODULE_DEBUG_MEMORY; i++) {
		struct namer_process *n = &all->all[i];

		if (n == used || n->serial == 0 || n->memory == 0)
			continue;
		sum -= n->memory < MODULE_DEBUG_MEMORY ? n->memory : MODULE_DEBUG_MEMORY;
		(void)namer_process_ask(
			n, &(struct namer_question){ &request, NULL, 0, NAMERS_TIME_NS }, &none,
			&reply);
	}
}

/* What a module costs its namer, it does not cost others. */
static int fail(struct namers *all, struct module *module, int err)
{
	module->reading->has_failed = true;
	all->n_failed++;
	parsers_note_failure(all->parsers, module->path, "has no names",
			     namer_process_failure(err));
	return err;
}

static int ask_once(struct namers *all, const struct module *module, struct namer_request *request,
		    struct namer_reply *reply, struct namer_process **ret)
{
	struct name_reading *r = module->reading;
	struct namer_process *n = find_namer(all, r->serial);
	uint64_t left;
	int err = 0;

	if (n && spawned_is_worn(&n->process))
		namer_process_end(n);
	if (!n || n->serial == 0)
		err = open_there(all, module, r, &n);
	if (err < 0)
		return err;
	/* It may have been spent in many short look-ups. */
	left = namer_cost_left(&r->cost, all->limit_ns);
	if (left == 0) {
		if (n->opener.has_foreign)
			finders_blame(n->opener.finders, module->user, n->opener.foreign_device,
				      -1);
		return -ETIME;
	}
	n->used = ++all->clock;
	tell_own(&n->opener, module);
	request->number = r->number;
	*ret = n;
	if (request->kind != NAMER_FIND)
		return namer_process_ask(n, &(struct namer_question){ request, NULL, 0, left },
					 &r->cost, reply);
	err = namer_process_find(n, request, left, &r->cost, reply);
	return err == 0 ? check_reply(n, reply) : err;
}

/*
 * Namers answer before they get a file, so no file can make that they never do. Returns whether this
 * process may do it.
 */
static bool give_up(struct namers *all)
{
	if (all->has_answered || starter_is_required(parsers_starter(all->parsers)))
		return false;
	log_warning("this process reads all names itself, with its rights: readers end at once");
	all->is_broken = true;
	return true;
}

/* They may be had later. To try it for each name would take long. */
static void note_missing(struct namers *all)
{
	if (clock_now_ns() >= all->next_start_ns)
		all->next_start_ns = clock_now_ns() + RETRY_NS;
	if (!all->is_missing)
		log_warning("names are missing: no confined reader of names can be started");
	all->is_missing = true;
}

/* Whatever happened to namers, this process reads nothing, but for -ESHUTDOWN. */
static int judge(struct namers *all, struct module *module, int err)
{
	if (err >= 0 || err == -ECANCELED || names_disabled(all->names))
		return err;
	if (err == -ECONNABORTED && all->is_starting)
		err = give_up(all) ? -ESHUTDOWN : -EAGAIN;
	if (err == -EAGAIN)
		note_missing(all);
	return namer_process_failure(err) ? fail(all, module, err) : err;
}

/* -ESHUTDOWN: this process has to do it; -EBUSY: it is others' turn. *ret: who has answered. */
static int ask(struct namers *all, struct module *module, struct namer_request *request,
	       struct namer_reply *reply, struct namer_process **ret)
{
	int err = -ECONNABORTED;

	if (all->is_broken)
		return -ESHUTDOWN;
	if (!module->reading) {
		module->reading = calloc(1, sizeof(*module->reading));
		if (!module->reading)
			return -ENOMEM;
	}
	if (module->reading->has_failed)
		return -ENOENT;
	if (request->kind != NAMER_CLOSE &&
	    !cpu_budget_wait(parsers_budget(all->parsers), module->user))
		return -EBUSY;
	all->asked = module;
	/* It may not have been the file: namers can be killed for lack of memory, or by somebody. */
	for (int i = 0; i < NAMERS_ATTEMPTS && err == -ECONNABORTED; i++)
		err = ask_once(all, module, request, reply, ret);
	all->asked = NULL;
	if (err == 0)
		limit_hits_pass(&reply->limits);
	return judge(all, module, err);
}

/* Of functions without a name, for find_start(). */
static void keep_starts(struct module *module, const uint64_t *addresses, const uint64_t *starts,
			int n)
{
	const struct source_location *found;
	size_t n_found;

	for (int i = 0; i < n; i++)
		if (location_cache_find(&module->locations, addresses[i], false, &found,
					&n_found) &&
		    (n_found == 0 || !found[n_found - 1].function))
			(void)known_starts_add(&module->reading->starts, addresses[i],
					       starts[i] == NAMER_NO_START ? -ENOENT : 0,
					       starts[i]);
}

static int find_some(struct namers *all, struct module *module, struct namer_request *request)
{
	uint64_t starts[NAMER_MAX_ADDRESSES];
	struct namer_reply reply;
	struct namer_process *n;
	int err = ask(all, module, request, &reply, &n);

	if (err < 0)
		return err;
	err = namer_take(request, &reply, n->result, &module->locations, starts);
	module->reading->n_names += reply.names_size;
	if (err == -EPROTO || module->reading->n_names > NAMERS_MAX_NAMES) {
		namer_process_end(n);
		return fail(all, module, -EPROTO);
	}
	module->keeps_locations |= reply.keeps_locations;
	module->is_partial |= reply.is_partial;
	module->no_debug = reply.no_debug;
	keep_starts(module, request->addresses, starts, err);
	limit_memory(all, n);
	return err;
}

static int find(void *arg, struct module *module, const uint64_t *addresses, size_t n, bool lines)
{
	struct namer_request request = { .kind = NAMER_FIND, .lines = lines };

	tell_forgotten(arg);
	for (int done; n > 0; addresses += done, n -= (size_t)done) {
		request.n = (uint32_t)(n < NAMER_MAX_ADDRESSES ? n : NAMER_MAX_ADDRESSES);
		memcpy(request.addresses, addresses, request.n * sizeof(*addresses));
		done = find_some(arg, module, &request);
		if (done < 0)
			return done;
	}
	return 0;
}

static int find_start(void *arg, struct module *module, uint64_t address, uint64_t *ret)
{
	struct namer_request request = { .kind = NAMER_START, .addresses = { address } };
	struct namer_reply reply;
	struct namer_process *n;
	int err;

	if (module->reading && known_starts_find(&module->reading->starts, address, &err, ret))
		return err;
	err = ask(arg, module, &request, &reply, &n);
	if (err < 0)
		return err == -ESHUTDOWN ? err : -ENOENT;
	err = reply.err == 0 ? 0 : -ENOENT;
	(void)known_starts_add(&module->reading->starts, address, err, reply.start);
	if (err == 0)
		*ret = reply.start;
	return err;
}

static int close_there(void *arg, struct module *module, bool names)
{
	struct namer_request request = { .kind = NAMER_CLOSE, .names = names };
	struct namer_reply reply;
	struct namer_process *n;
	int err;

	tell_forgotten(arg);
	if (!names && !module->reading)
		return 0;
	err = ask(arg, module, &request, &reply, &n);
	if (err == 0)
		module->has_symbols = reply.has_symbols == 1;
	return err;
}

static struct parsers *parsers_of(const void *arg)
{
	return ((const struct namers *)arg)->parsers;
}

static int read_digest(void *arg, const struct module *module, struct file_digest *ret)
{
	return parsers_digest(parsers_of(arg), module->user, module->fd, ret);
}

static int open_file(void *arg, const char *path)
{
	struct found_file found;
	int err = finders_look_up(parsers_finders(parsers_of(arg)), geteuid(), -1, path, 0, &found);

	return err < 0 ? err : found.fd;
}

static int copy_source(void *arg, const char *path, int to)
{
	return finders_copy_source(parsers_finders(parsers_of(arg)), geteuid(), path, to);
}

static int read_build_id(void *arg, int fd, char ret[MODULE_BUILD_ID_SIZE])
{
	return module_parse_build_id(parsers_of(arg), fd, ret);
}

static int find_pages(void *arg, const struct module *module, struct code_pages **ret,
		      size_t *ret_n)
{
	return module_parse_pages(parsers_of(arg), module, ret, ret_n);
}

static int disassemble_there(void *arg, const struct module *module, uint64_t start, uint64_t end,
			     struct code_line **ret, size_t *ret_n)
{
	return module_parse_code(parsers_of(arg), module, start, end, ret, ret_n);
}

static void rest(void *arg, uint64_t idle_ns)
{
	struct namers *all = arg;

	for (size_t i = 0; i < NAMERS_MAX; i++)
		namer_process_rest(&all->all[i], idle_ns);
	parsers_rest(all->parsers, idle_ns); /* for tables */
}

/* Its namer is told with the next request. */
static void forget(void *arg, struct module *module)
{
	struct namers *all = arg;
	struct name_reading *r = module->reading;

	module->reading = NULL;
	known_starts_done(&r->starts);
	pthread_mutex_lock(&all->lock);
	LL_PREPEND2(all->forgotten, r, next_forgotten);
	pthread_mutex_unlock(&all->lock);
}

static void free_all(void *arg)
{
	struct namers *all = arg;
	struct name_reading *r, *next;

	for (size_t i = 0; i < NAMERS_MAX; i++)
		namer_process_end(&all->all[i]);
	LL_FOREACH_SAFE2(all->forgotten, r, next, next_forgotten)
	free(r);
	parsers_drop(all->parsers);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

static const struct name_reader reader = {
	.find = find,
	.find_start = find_start,
	.close = close_there,
	.read_digest = read_digest,
	.open_file = open_file,
	.copy_source = copy_source,
	.read_build_id = read_build_id,
	.find_pages = find_pages,
	.disassemble = disassemble_there,
	.retry = forget,
	.rest = rest,
	.forget = forget,
	.free = free_all,
};

int namers_start(struct parsers *parsers, struct names *names, struct namers **ret)
{
	struct namers *all = calloc(1, sizeof(*all));

	*ret = NULL;
	if (!all)
		return -ENOMEM;
	pthread_mutex_init(&all->lock, NULL);
	all->parsers = parsers_hold(parsers);
	all->names = names;
	all->limit_ns = NAMERS_TIME_NS;
	names_set_reader(names, &reader, all);
	*ret = all;
	return 0;
}

void namers_set_time_limit(struct namers *all, uint64_t limit_ns)
{
	all->limit_ns = limit_ns;
}

unsigned int namers_n_failed(const struct namers *all)
{
	return all->n_failed;
}
