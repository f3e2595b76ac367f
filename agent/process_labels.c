// SPDX-License-Identifier: Apache-2.0
#include "agent/process_labels.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/cgroup_ids.h"
#include "agent/cgroup_path.h"
#include "agent/containers.h"
#include "agent/named_labels.h"
#include "agent/pod_names.h"
#include "base/array.h"
#include "base/hash.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "report/resource_label.h"
#include "sandbox/parsers.h"

/* A process may be moved, and its number used again. */
#define READ_AGAIN_NS UINT64_C(10000000000)
/* A process without samples for this long is forgotten. */
#define FORGET_NS UINT64_C(30000000000)
#define ORIGIN "service.origin"
#define CGROUP "process.linux.cgroup"

/* Threads of a process may be in different cgroups, cgroups(7), "Thread mode". */
struct entry_key {
	uint64_t cgroup; /* of the samples; 0: not known */
	pid_t pid;
	uint32_t zero;
};

struct entry {
	UT_hash_handle hh; /* by key */
	struct entry_key key;
	char comm[DP_COMM_SIZE + 1];
	uint64_t read_again_ns, used_ns; /* by the samples' times */
	uint64_t start_ticks;            /* tells apart processes with this number */
	struct label_set *labels;        /* NULL: none */
};

struct process_labels {
	const char *proc;
	struct pod_names pods;
	struct containers containers;
	struct cgroup_ids cgroups;
	struct entry *entries;
	struct label_set *merged; /* what was returned last, if it is no entry's */
	uint64_t swept_ns;
	_Atomic uint64_t *missed;
};

int process_labels_new(const char *proc, const char *pods, _Atomic uint64_t *missed,
		       struct process_labels **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->proc = proc;
	(*ret)->pods.directory = pods;
	(*ret)->missed = missed;
	return 0;
}

void process_labels_set_containers(struct process_labels *p, const char *root,
				   struct parsers *parsers)
{
	containers_done(&p->containers);
	p->containers = (struct containers){ .root = root, .parsers = parsers_hold(parsers) };
}

bool process_labels_set_cgroups(struct process_labels *p, const char *mounts)
{
	cgroup_ids_find_root(&p->cgroups, mounts);
	return p->cgroups.root[0] != '\0';
}

static void forget(struct process_labels *p, struct entry *e)
{
	HASH_DEL(p->entries, e);
	label_set_free(e->labels);
	free(e);
}

struct process_labels *process_labels_free(struct process_labels *p)
{
	struct entry *e, *next;

	if (!p)
		return NULL;
	HASH_ITER(hh, p->entries, e, next)
		forget(p, e);
	pod_names_done(&p->pods);
	containers_done(&p->containers);
	cgroup_ids_done(&p->cgroups);
	label_set_free(p->merged);
	free(p);
	return NULL;
}

static int add(struct label_list *list, const char *key, const char *text)
{
	return *text ? label_list_add(list, &(struct label){ .key = key, .text = text }) : 0;
}

/* Those by kubelet are of the very pod; a runtime's are there sooner. */
static int add_pod(struct process_labels *p, const struct cgroup_path *path,
		   const struct container_names *names, struct label_list *list)
{
	const struct pod_name *pod = NULL;
	int err = add(list, "k8s.pod.uid", path->pod_uid);

	if (path->pod_uid[0] && !path->is_of_user)
		pod = pod_names_find(&p->pods, path->pod_uid, clock_now_ns());
	if (err == 0)
		err = add(list, "k8s.namespace.name", pod ? pod->name_space : names->name_space);
	return err == 0 ? add(list, "k8s.pod.name", pod ? pod->name : names->pod) : err;
}

/*
 * A program in a container could make up another one, of which there are files. The author of an image of
 * Docker's may give it labels as if it were in a pod.
 */
static struct container_names find_container(struct process_labels *p,
					     const struct cgroup_path *path)
{
	const struct container_names *found = NULL;
	struct container_names names = { 0 };

	if (p->containers.root && path->container_id[0] && !path->is_of_user && !path->is_nested)
		found = containers_find(&p->containers, path->container_id, clock_now_ns());
	if (found)
		names = *found;
	if (!path->pod_uid[0])
		names.k8s_container[0] = names.pod[0] = names.name_space[0] = '\0';
	return names;
}

/* What is in a pod has the names that users of a cluster chose. */
static const char *find_service(const struct cgroup_path *path, const struct container_names *names,
				bool *ret_is_users)
{
	*ret_is_users = path->is_of_user;
	if (path->unit[0])
		return path->unit;
	if (path->container_name[0])
		return path->container_name;
	if (!path->pod_uid[0])
		return names->name;
	*ret_is_users = true;
	return names->k8s_container;
}

static int add_service(const struct cgroup_path *path, const struct container_names *names,
		       struct label_list *list)
{
	bool is_users;
	const char *name = find_service(path, names, &is_users);
	int err = add(list, "service.name", name);

	return err == 0 && name[0] && is_users ? add(list, ORIGIN, "user") : err;
}

static int add_container(const struct cgroup_path *path, const struct container_names *names,
			 struct label_list *list)
{
	int err = add(list, "container.id", path->container_id);

	if (err == 0)
		err = add(list, "container.name",
			  path->container_name[0] ? path->container_name : names->name);
	if (err == 0)
		err = add(list, "container.image.name", names->image);
	return err == 0 ? add(list, "k8s.container.name", names->k8s_container) : err;
}

static int add_cgroup(struct process_labels *p, const char *cgroup, struct label_list *list)
{
	struct container_names names;
	struct cgroup_path parsed;
	int err;

	cgroup_path_parse(cgroup, &parsed);
	err = add(list, CGROUP, cgroup);
	names = find_container(p, &parsed);
	if (err == 0)
		err = add_service(&parsed, &names, list);
	if (err == 0)
		err = add_container(&parsed, &names, list);
	return err == 0 ? add_pod(p, &parsed, &names, list) : err;
}

/* False: there is no such process. */
static bool read_cgroup(const struct process_labels *p, pid_t pid, char ret[CGROUP_PATH_SIZE])
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[PATH_MAX];

	ret[0] = '\0';
	snprintf(path, sizeof(path), "%s/%d/cgroup", p->proc, pid);
	file = fopen(path, "re");
	if (file)
		cgroup_path_read(file, ret);
	return file != NULL;
}

/* The cgroup of a sample. */
struct found_cgroup {
	const char *path; /* NULL: not known, or the root */
	bool is_unknown;  /* the sample has one that is not known */
	bool is_read;     /* there is where the process is now: */
	char now[CGROUP_PATH_SIZE];
};

/* In the root there may be processes that version 1 has elsewhere. */
static void find_cgroup(struct process_labels *p, const struct sample *sample,
			struct found_cgroup *ret)
{
	uint64_t now = clock_now_ns();

	ret->is_read = false;
	ret->path = cgroup_ids_find(&p->cgroups, sample->cgroup);
	if (!ret->path || strcmp(ret->path, "/") == 0)
		ret->is_read = read_cgroup(p, sample->pid, ret->now);
	if (!ret->path && ret->is_read && sample->cgroup != 0)
		ret->path = cgroup_ids_confirm(&p->cgroups, sample->cgroup, ret->now, now);
	if (!ret->path && sample->cgroup != 0)
		ret->path = cgroup_ids_search(&p->cgroups, sample->cgroup, now);
	ret->is_unknown = !ret->path && sample->cgroup != 0;
	if (ret->path && strcmp(ret->path, "/") == 0)
		ret->path = NULL;
}

/* Kernel threads have no executable; of others', only those with the right to trace them learn it. */
static void read_executable(const struct process_labels *p, pid_t pid, char ret[PATH_MAX])
{
	static const char deleted[] = " (deleted)";
	char path[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%d/exe", p->proc, pid);
	n = readlink(path, ret, PATH_MAX - 1);
	ret[n > 0 ? n : 0] = '\0';
	n -= (ssize_t)strlen(deleted);
	if (n > 0 && strcmp(ret + n, deleted) == 0)
		ret[n] = '\0';
}

/* When a process started: field 22 of proc_pid_stat(5), after the name, which may contain anything. */
static bool read_start(const struct process_labels *p, pid_t pid, uint64_t *ret_ticks)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[PATH_MAX], line[1024];
	const char *end;

	snprintf(path, sizeof(path), "%s/%d/stat", p->proc, pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	line[fread(line, 1, sizeof(line) - 1, file)] = '\0';
	end = strrchr(line, ')');
	return end && sscanf(end + 1,
			     " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
			     "%*d %*d %" SCNu64,
			     ret_ticks) == 1;
}

/*
 * CLOCK_MONOTONIC, as samples have, for the ticks of CLOCK_BOOTTIME; never later than it was: if the
 * machine has slept since, it was later.
 */
static uint64_t ticks_to_ns(uint64_t ticks)
{
	uint64_t ns = ticks * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK)), now = clock_now_ns(),
		 slept = clock_read_ns(CLOCK_BOOTTIME) - now;

	return ns > slept ? ns - slept : 0;
}

/*
 * Whether what was read before this call is of the process of a sample, not of a later one with its
 * number. It keeps what is known of it, and one that started since the last time has nothing of that.
 */
static bool is_of_sample(struct process_labels *p, struct entry *e, const struct sample *sample)
{
	uint64_t ticks, start_ns;

	if (!read_start(p, sample->pid, &ticks))
		return false;
	start_ns = ticks_to_ns(ticks);
	if (start_ns > sample->time_ns) {
		if (start_ns < e->read_again_ns)
			e->read_again_ns = start_ns;
		return false;
	}
	if (ticks != e->start_ticks)
		e->labels = label_set_free(e->labels);
	e->start_ticks = ticks;
	return true;
}

static int replace(struct entry *e, const struct label_list *list)
{
	struct label_set *labels;
	int err = label_set_new(list, &labels);

	if (err < 0)
		return err;
	label_set_free(e->labels);
	e->labels = labels;
	return 0;
}

/* One that has ended meanwhile keeps what is known of it. */
static int read_entry(struct process_labels *p, struct entry *e, const struct sample *sample)
{
	_cleanup_(label_list_done) struct label_list list = { 0 };
	char executable[PATH_MAX] = "";
	struct found_cgroup cgroup;
	bool is_there;
	int err = 0;

	find_cgroup(p, sample, &cgroup);
	if (cgroup.path || cgroup.is_read)
		err = add_cgroup(p, cgroup.path ?: cgroup.now, &list);
	if (list.n > 0)
		read_executable(p, sample->pid, executable);
	e->read_again_ns = sample->time_ns + READ_AGAIN_NS;
	/* It may be known soon. In a container, /proc has another path for it than below the mount. */
	if (cgroup.is_unknown)
		e->read_again_ns = sample->time_ns + CGROUP_IDS_AGAIN_NS;
	snprintf(e->comm, sizeof(e->comm), "%s", sample->comm);
	if (err < 0)
		return err;
	is_there = is_of_sample(p, e, sample);
	if (!is_there && !cgroup.path)
		atomic_fetch_add(p->missed, 1);
	if (list.n == 0 || (!is_there && (!cgroup.path || e->labels)))
		return 0;
	err = is_there ? add(&list, "process.executable.path", executable) : 0;
	return err < 0 ? err : replace(e, &list);
}

static void sweep(struct process_labels *p, uint64_t now)
{
	struct entry *e, *next;
	bool all = HASH_COUNT(p->entries) >= PROCESS_LABELS_MAX;

	if (!all && now < p->swept_ns + FORGET_NS)
		return;
	p->swept_ns = now;
	HASH_ITER(hh, p->entries, e, next)
		if (all || now > e->used_ns + FORGET_NS)
			forget(p, e);
}

/* NULL: no memory. */
static struct entry *find_entry(struct process_labels *p, const struct sample *sample)
{
	const struct entry_key key = { .cgroup = sample->cgroup, .pid = sample->pid };
	struct entry *e;

	sweep(p, sample->time_ns);
	HASH_FIND(hh, p->entries, &key, sizeof(key), e);
	if (e && sample->time_ns < e->read_again_ns && strcmp(e->comm, sample->comm) == 0)
		return e;
	if (!e) {
		e = calloc(1, sizeof(*e));
		if (!e)
			return NULL;
		e->key = key;
		HASH_ADD(hh, p->entries, key, sizeof(e->key), e);
		if (!HASH_IS_ADDED(hh, e)) {
			free(e);
			return NULL;
		}
	}
	return read_entry(p, e, sample) == 0 ? e : NULL;
}

static bool has_key(const struct label_set *set, const char *key)
{
	struct label label;
	size_t at = 0;

	while (label_set_next(set, &at, &label))
		if (strcmp(resource_label_plain(label.key), key) == 0)
			return true;
	return false;
}

int process_label_is_fact(const char *key)
{
	static const char *const prefixes[] = { "__", "process_", "container_", "k8s_", "host_" };
	_cleanup_free_ char *name = NULL;

	if (!resource_label_has_key(key))
		return false;
	name = named_label_name(resource_label_plain(key));
	if (!name)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return strcmp(name, "host") == 0 || strcmp(name, "service_origin") == 0;
}

/* NULL: it has none. */
static const char *text_of(const struct label_set *set, const char *key)
{
	struct label label;
	size_t at = 0;

	while (label_set_next(set, &at, &label))
		if (strcmp(resource_label_plain(label.key), key) == 0)
			return label.text;
	return NULL;
}

/* Whether a program says that it is another service than its cgroup does. */
static bool claims_service(const struct label_set *own, const struct label_set *process)
{
	const char *claimed = text_of(own, "service.name"),
		   *known = text_of(process, "service.name");

	return claimed && (!known || strcmp(claimed, known) != 0);
}

/* NULL in *ret: no labels. */
static int merge(struct process_labels *p, const struct label_set *own,
		 const struct label_set *process, const struct label_set **ret)
{
	_cleanup_(label_list_done) struct label_list list = { .is_cut = own->is_cut };
	bool claims = claims_service(own, process);
	struct label label;
	size_t at = 0;
	int err = 0;

	*ret = NULL;
	if (claims)
		err = add(&list, ORIGIN, "program");
	/* There may be no room for all. */
	while (err == 0 && label_set_next(process, &at, &label))
		if ((strcmp(label.key, ORIGIN) == 0 && !claims) ||
		    strncmp(label.key, "service.", strlen("service.")) != 0 ||
		    (!has_key(own, label.key) && strcmp(label.key, ORIGIN) != 0))
			err = label_list_add(&list, &label);
	at = 0;
	while (err == 0 && label_set_next(own, &at, &label)) {
		err = process_label_is_fact(label.key);
		if (err >= 0)
			err = err ? 0 : label_list_add(&list, &label);
	}
	p->merged = label_set_free(p->merged);
	if (err < 0 || (list.n == 0 && !list.is_cut))
		return err;
	err = label_set_new(&list, &p->merged);
	*ret = p->merged;
	return err;
}

/* NULL: no memory. */
static struct entry *use_entry(struct process_labels *p, const struct sample *sample)
{
	struct entry *e = find_entry(p, sample);

	if (e)
		e->used_ns = sample->time_ns;
	return e;
}

int process_labels_of(struct process_labels *p, const struct sample *sample,
		      const struct label_set **ret)
{
	struct entry *e = use_entry(p, sample);

	*ret = NULL;
	if (!e)
		return -ENOMEM;
	if (sample->labels)
		return merge(p, sample->labels, e->labels, ret);
	*ret = e->labels;
	return 0;
}

const char *process_labels_cgroup(struct process_labels *p, const struct sample *sample)
{
	struct entry *e = use_entry(p, sample);

	return e ? text_of(e->labels, CGROUP) : NULL;
}
