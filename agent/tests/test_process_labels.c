// SPDX-License-Identifier: Apache-2.0
/* The labels of processes in a made /proc. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/process_labels.h"
#include "agent/tests/made_proc.h"
#include "limits/limits.h"

#define SECOND UINT64_C(1000000000)

static char proc[] = "/tmp/test_process_labels.XXXXXX";
static struct process_labels *labels;
static _Atomic uint64_t missed;

static uint64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

/* By the clock of samples; /proc has ticks of one that goes on while the machine sleeps. */
static void write_start(int pid, uint64_t second)
{
	uint64_t awake = now(CLOCK_MONOTONIC), slept = now(CLOCK_BOOTTIME) - awake;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%d/stat", proc, pid);
	file = fopen(path, "w");
	cr_assert(file);
	fprintf(file,
		"%d (a) S (b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 %" PRIu64 " 20\n", pid,
		(second + slept / SECOND) * (uint64_t)sysconf(_SC_CLK_TCK));
	fclose(file);
}

static void write_process(int pid, const char *cgroup, const char *exe)
{
	char path[128];

	made_proc_put_cgroup(proc, pid, "", cgroup);
	snprintf(path, sizeof(path), "%s/%d/exe", proc, pid);
	cr_assert_eq(symlink(exe, path), 0);
	write_start(pid, 0);
}

static void remove_process(int pid)
{
	char path[128];

	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%d/%s", proc, pid,
			 i == 0 ? "cgroup" :
			 i == 1 ? "exe" :
			 i == 2 ? "stat" :
				  "");
		remove(path);
	}
}

static void set_up(void)
{
	cr_assert(mkdtemp(proc));
	cr_assert_eq(process_labels_new(proc, proc, &missed, &labels), 0);
}

static void tear_down(void)
{
	process_labels_free(labels);
	remove_process(7);
	rmdir(proc);
}

TestSuite(process_labels, .init = set_up, .fini = tear_down);

static const struct label_set *get(const char *comm, uint64_t time_ns, const struct label_set *own)
{
	struct sample sample = { .pid = 7, .time_ns = time_ns, .labels = own };
	const struct label_set *set = NULL;

	strcpy(sample.comm, comm);
	cr_assert_eq(process_labels_of(labels, &sample, &set), 0);
	return set;
}

static bool has(const struct label_set *set, const char *key, const char *text)
{
	return label_set_has(set, key, text);
}

Test(process_labels, of_a_service)
{
	const struct label_set *set;

	write_process(7, "/system.slice/a.service", "/bin/a (deleted)");
	set = get("a", SECOND, NULL);
	cr_assert(has(set, "service.name", "a"));
	cr_assert(has(set, "process.linux.cgroup", "/system.slice/a.service"));
	cr_assert(has(set, "process.executable.path", "/bin/a"));
	cr_assert_eq(missed, 0);
}

Test(process_labels, are_read_again)
{
	write_process(7, "/init.scope", "/bin/a");
	cr_assert_not(has(get("(a)", SECOND, NULL), "service.name", "a"));
	remove_process(7);
	write_process(7, "/system.slice/a.service", "/bin/a");
	cr_assert_not(has(get("(a)", 2 * SECOND, NULL), "service.name", "a"));
	cr_assert(has(get("a", 2 * SECOND, NULL), "service.name", "a"));
	remove_process(7);
	write_process(7, "/system.slice/b.service", "/bin/a");
	cr_assert(has(get("a", 11 * SECOND, NULL), "service.name", "a"));
	cr_assert(has(get("a", 12 * SECOND, NULL), "service.name", "b"));
	/* What was known of one that has ended stays. */
	remove_process(7);
	cr_assert(has(get("a", 23 * SECOND, NULL), "service.name", "b"));
	cr_assert_eq(missed, 1);
}

Test(process_labels, of_none)
{
	cr_assert_null(get("a", SECOND, NULL));
	cr_assert_eq(missed, 1);
}

Test(process_labels, of_one_that_started_later)
{
	write_process(7, "/system.slice/b.service", "/bin/b");
	write_start(7, 5);
	cr_assert_null(get("a", 2 * SECOND, NULL));
	cr_assert_eq(missed, 1);
	cr_assert_null(get("a", 3 * SECOND, NULL));
	cr_assert_eq(missed, 1);
	cr_assert(has(get("a", 6 * SECOND, NULL), "service.name", "b"));
	cr_assert_eq(missed, 1);
}

Test(process_labels, of_a_number_used_again)
{
	write_process(7, "/system.slice/a.service", "/bin/a");
	cr_assert(has(get("a", SECOND, NULL), "service.name", "a"));
	remove_process(7);
	write_process(7, "/system.slice/b.service", "/bin/b");
	write_start(7, 15);
	cr_assert(has(get("a", 13 * SECOND, NULL), "service.name", "a"));
	cr_assert_eq(missed, 1);
	cr_assert(has(get("a", 16 * SECOND, NULL), "service.name", "b"));
	cr_assert_eq(missed, 1);
	/* Nothing is known of this one. */
	remove_process(7);
	write_process(7, "", "/bin/c");
	write_start(7, 30);
	cr_assert_null(get("a", 31 * SECOND, NULL));
	cr_assert_eq(missed, 1);
}

static bool has_any(const struct label_set *set, const char *key);

/* Makes a cgroup in a made mount. Returns its number. */
static uint64_t make_cgroup(const char *name)
{
	char command[256], mounts[128], path[128];
	struct stat st;

	snprintf(command, sizeof(command),
		 "mkdir -p %s/v2/%s && echo cgroup2 %s/v2 cgroup2 rw 0 0 > %s/mounts", proc, name,
		 proc, proc);
	cr_assert_eq(system(command), 0);
	snprintf(path, sizeof(path), "%s/v2/%s", proc, name);
	cr_assert_eq(stat(path, &st), 0);
	snprintf(mounts, sizeof(mounts), "%s/mounts", proc);
	process_labels_set_cgroups(labels, mounts);
	return st.st_ino;
}

static void remove_cgroups(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s/v2 %s/mounts", proc, proc);
	cr_assert_eq(system(command), 0);
}

static const struct label_set *get_in(uint64_t cgroup, uint64_t time_ns)
{
	struct sample sample = { .pid = 7, .time_ns = time_ns, .cgroup = cgroup, .comm = "a" };
	const struct label_set *set = NULL;

	cr_assert_eq(process_labels_of(labels, &sample, &set), 0);
	return set;
}

Test(process_labels, of_one_that_has_ended_in_a_known_cgroup)
{
	uint64_t a = make_cgroup("a.service"), b = make_cgroup("b.service");
	const struct label_set *set = get_in(a, SECOND);

	cr_assert(has(set, "service.name", "a"));
	cr_assert(has(set, "process.linux.cgroup", "/a.service"));
	cr_assert_not(has_any(set, "process.executable.path"));
	/* Another one, or moved. */
	cr_assert(has(get_in(b, SECOND), "service.name", "b"));
	cr_assert_eq(missed, 0);
	cr_assert_null(get_in(UINT64_MAX, 2 * SECOND));
	cr_assert_eq(missed, 1);
	remove_cgroups();
}

static const char *cgroup_of(int pid)
{
	return process_labels_cgroup(
		labels, &(struct sample){ .pid = pid, .time_ns = SECOND, .comm = "a" });
}

Test(process_labels, have_the_cgroup)
{
	const char *path;

	write_process(7, "/system.slice/a.service", "/bin/a");
	path = cgroup_of(7);
	cr_assert(path && strcmp(path, "/system.slice/a.service") == 0);
	cr_assert_null(cgroup_of(8));
}

Test(process_labels, of_no_more_than_there_is_room_for)
{
	write_process(7, "/a.service", "/bin/a");
	cr_assert_str_eq(cgroup_of(7), "/a.service");
	remove_process(7);
	write_process(7, "/b.service", "/bin/a");
	for (int i = 1; i < PROCESS_LABELS_MAX - 1; i++)
		cr_assert_null(cgroup_of(i + 7));
	cr_assert_str_eq(cgroup_of(7), "/a.service");
	cr_assert_null(cgroup_of(PROCESS_LABELS_MAX + 7));
	cr_assert_str_eq(cgroup_of(7), "/b.service");
}

/* In the root there may be processes that version 1 has elsewhere. */
Test(process_labels, of_the_root)
{
	char path[128];
	struct stat st;

	make_cgroup("a.service");
	snprintf(path, sizeof(path), "%s/v2", proc);
	cr_assert_eq(stat(path, &st), 0);
	write_process(7, "/b.service", "/bin/a");
	cr_assert(has(get_in(st.st_ino, SECOND), "service.name", "b"));
	remove_process(7);
	write_process(7, "/c.service", "/bin/a");
	cr_assert(has(get_in(st.st_ino, 10 * SECOND), "service.name", "b"));
	remove_cgroups();
}

/* One that has its number now has started later. */
Test(process_labels, of_a_number_used_again_in_a_known_cgroup)
{
	uint64_t a = make_cgroup("a.service");
	const struct label_set *set;

	write_process(7, "/b.service", "/bin/b");
	write_start(7, 5);
	set = get_in(a, 2 * SECOND);
	cr_assert(has(set, "service.name", "a"));
	cr_assert_not(has_any(set, "process.executable.path"));
	cr_assert_eq(missed, 0);
	set = get_in(a, 6 * SECOND);
	cr_assert(has(set, "service.name", "a") && has(set, "process.executable.path", "/bin/b"));
	remove_cgroups();
}

/* By turns, as samples of threads in cgroups of their own: what is known of each is not read again. */
Test(process_labels, of_two_cgroups_at_once)
{
	uint64_t a = make_cgroup("a.service"), b = make_cgroup("b.service");

	write_process(7, "/a.service", "/bin/a");
	cr_assert(has(get_in(a, SECOND), "process.executable.path", "/bin/a"));
	cr_assert(has(get_in(b, SECOND), "process.executable.path", "/bin/a"));
	remove_process(7);
	cr_assert(has(get_in(a, 20 * SECOND), "process.executable.path", "/bin/a"));
	cr_assert(has(get_in(b, 20 * SECOND), "process.executable.path", "/bin/a"));
	cr_assert(has(get_in(a, 20 * SECOND), "service.name", "a"));
	cr_assert_eq(missed, 0);
	remove_cgroups();
}

/* It may be known soon. */
Test(process_labels, of_a_cgroup_that_is_not_known_yet)
{
	make_cgroup("a.service");
	write_process(7, "/b.service", "/bin/a");
	cr_assert(has(get_in(UINT64_MAX, SECOND), "service.name", "b"));
	remove_process(7);
	write_process(7, "/c.service", "/bin/a");
	cr_assert(has(get_in(UINT64_MAX, 2 * SECOND - 1), "service.name", "b"));
	cr_assert(has(get_in(UINT64_MAX, 2 * SECOND), "service.name", "c"));
	remove_cgroups();
}

/* It has been moved since: what /proc says of its cgroup is not true of the sample. */
Test(process_labels, of_the_cgroup_that_it_was_in)
{
	uint64_t a = make_cgroup("a.service"), b = make_cgroup("b.service");
	const struct label_set *set;

	write_process(7, "/b.service", "/bin/a");
	set = get_in(a, SECOND);
	cr_assert(has(set, "process.linux.cgroup", "/a.service"));
	cr_assert(has(set, "process.executable.path", "/bin/a"));
	cr_assert(has(get_in(b, SECOND), "service.name", "b"));
	/* It keeps its executable when it ends, and in a cgroup that is not known only /proc helps. */
	remove_process(7);
	set = get_in(b, 20 * SECOND);
	cr_assert(has(set, "service.name", "b") && has(set, "process.executable.path", "/bin/a"));
	cr_assert_eq(missed, 0);
	write_process(7, "/c.service", "/bin/a");
	cr_assert(has(get_in(UINT64_MAX, 21 * SECOND), "service.name", "c"));
	remove_cgroups();
}

Test(process_labels, come_after_those_of_the_sample)
{
	struct label_list list = { 0 };
	struct label_set *own;
	const struct label_set *set;

	write_process(7, "/system.slice/a.service", "/bin/a");
	cr_assert_eq(label_list_add(&list, &(struct label){ .key = "service.name", .text = "b" }),
		     0);
	cr_assert_eq(label_list_add(&list, &(struct label){ .key = "route", .text = "/" }), 0);
	cr_assert_eq(label_set_new(&list, &own), 0);
	set = get("a", SECOND, own);
	cr_assert(has(set, "service.name", "b"));
	cr_assert_not(has(set, "service.name", "a"));
	cr_assert(has(set, "route", "/"));
	cr_assert(has(set, "process.executable.path", "/bin/a"));
	label_set_free(own);
	label_list_done(&list);
}

static struct label_set *make(const char *key, const char *text);

#define POD "12345678-9abc-def0-1234-56789abcdef0"

/* Of a pod of kubelet's, not of a cgroup that a user has given such a name. */
Test(process_labels, of_a_pod)
{
	const struct label_set *set;
	char path[128];

	snprintf(path, sizeof(path), "%s/shop_web_" POD, proc);
	cr_assert_eq(mkdir(path, 0755), 0);
	write_process(7, "/kubepods/pod" POD "/x", "/bin/a");
	set = get("a", SECOND, NULL);
	cr_assert(has(set, "k8s.pod.uid", POD));
	cr_assert(has(set, "k8s.namespace.name", "shop") && has(set, "k8s.pod.name", "web"));
	remove_process(7);
	write_process(7, "/user.slice/user@7.service/kubepods/pod" POD "/x", "/bin/a");
	set = get("a", 20 * SECOND, NULL);
	cr_assert(has(set, "k8s.pod.uid", POD));
	cr_assert_not(has(set, "k8s.pod.name", "web"));
	cr_assert_eq(rmdir(path), 0);
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define DOCKER "/system.slice/docker-" ID ".scope"

static void write_container(const char *place, const char *text)
{
	char command[512];
	FILE *file;

	snprintf(command, sizeof(command), "mkdir -p $(dirname %s/root%s)", proc, place);
	cr_assert_eq(system(command), 0);
	snprintf(command, sizeof(command), "%s/root%s", proc, place);
	file = fopen(command, "w");
	cr_assert(file);
	fputs(text, file);
	fclose(file);
	cr_assert_eq(chmod(command, 0600), 0);
}

static void forget_containers(void)
{
	static char root[64];
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s/root", proc);
	cr_assert_eq(system(command), 0);
	snprintf(root, sizeof(root), "%s/root", proc);
	process_labels_set_containers(labels, root, NULL);
}

Test(process_labels, of_a_container)
{
	struct label_set *own = make("container.name", "b");
	const struct label_set *set;

	forget_containers();
	write_container(
		"/var/lib/docker/containers/" ID "/config.v2.json",
		"{\"ID\":\"" ID "\",\"Config\":{\"Image\":\"db:3\",\"Labels\":{"
		"\"io.kubernetes.docker.type\":\"podsandbox\",\"io.kubernetes.pod.name\":\"p\","
		"\"io.kubernetes.container.name\":\"c\"}},\"Name\":\"/a\"}");
	write_process(7, DOCKER, "/bin/a");
	set = get("a", SECOND, NULL);
	cr_assert(has(set, "container.id", ID) && has(set, "container.name", "a"));
	cr_assert(has(set, "container.image.name", "db") && has(set, "service.name", "a"));
	cr_assert_not(has_any(set, "service.origin"));
	/* The author of its image has said so. */
	cr_assert_not(has_any(set, "k8s.pod.name") || has_any(set, "k8s.container.name"));
	set = get("a", 2 * SECOND, own);
	cr_assert(has(set, "container.name", "a") && !has(set, "container.name", "b"));
	/* A unit in it has a name of its own; and a container in it may not have this one's names. */
	remove_process(7);
	write_process(7, DOCKER "/system.slice/in.service", "/bin/a");
	set = get("a", 20 * SECOND, NULL);
	cr_assert(has(set, "service.name", "in") && has(set, "container.name", "a"));
	remove_process(7);
	write_process(7, "/docker/" ID "/docker/" ID, "/bin/a");
	set = get("a", 40 * SECOND, NULL);
	cr_assert(has(set, "container.id", ID) && !has_any(set, "container.name"));
	remove_process(7);
	write_process(7, "/user.slice/user@7.service" DOCKER, "/bin/a");
	set = get("a", 60 * SECOND, NULL);
	cr_assert(has(set, "container.id", ID) && !has_any(set, "container.name"));
	forget_containers();
	label_set_free(own);
}

/* Users of a cluster choose the names of containers; pods have those by kubelet, if these are there. */
Test(process_labels, of_a_container_in_a_pod)
{
	const struct label_set *set;
	char path[128];

	forget_containers();
	write_container("/run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
			"{\"annotations\":{\"io.kubernetes.cri.container-name\":\"c\","
			"\"io.kubernetes.cri.sandbox-name\":\"web-0\","
			"\"io.kubernetes.cri.sandbox-namespace\":\"shop\"}}");
	write_process(7, "/kubepods/pod" POD "/" ID, "/bin/a");
	set = get("a", SECOND, NULL);
	cr_assert(has(set, "k8s.container.name", "c") && !has_any(set, "container.name"));
	cr_assert(has(set, "service.name", "c") && has(set, "service.origin", "user"));
	cr_assert(has(set, "k8s.pod.name", "web-0") && has(set, "k8s.namespace.name", "shop"));
	forget_containers();
	/* The sandbox of a pod is no service. */
	write_container("/run/containers/storage/overlay-containers/" ID "/userdata/config.json",
			"{\"annotations\":{\"io.kubernetes.cri-o.ContainerType\":\"sandbox\","
			"\"io.kubernetes.cri-o.Name\":\"k8s_POD\","
			"\"io.kubernetes.pod.name\":\"web-0\"}}");
	set = get("a", 20 * SECOND, NULL);
	cr_assert(has(set, "container.name", "k8s_POD") && has(set, "k8s.pod.name", "web-0"));
	cr_assert_not(has_any(set, "service.name"));
	snprintf(path, sizeof(path), "%s/bank_db_" POD, proc);
	cr_assert_eq(mkdir(path, 0755), 0);
	process_labels_free(labels);
	cr_assert_eq(process_labels_new(proc, proc, &missed, &labels), 0);
	forget_containers();
	write_container("/run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
			"{\"annotations\":{\"io.kubernetes.cri.sandbox-name\":\"web-0\"}}");
	set = get("a", 40 * SECOND, NULL);
	cr_assert(has(set, "k8s.pod.name", "db") && has(set, "k8s.namespace.name", "bank"));
	cr_assert_not(has(set, "k8s.pod.name", "web-0"));
	cr_assert_eq(rmdir(path), 0);
	forget_containers();
}

static bool has_any(const struct label_set *set, const char *key)
{
	struct label label;
	size_t at = 0;

	while (label_set_next(set, &at, &label))
		if (strcmp(label.key, key) == 0)
			return true;
	return false;
}

/* Whoever reads profiles can tell what root has named. */
Test(process_labels, services_that_may_be_made_up_are_marked)
{
	static const char users[] = "/user.slice/user-7.slice/user@7.service/app.slice/a.service";
	struct label_set *a = make("service.name", "a"), *b = make("service.name", "b"),
			 *origin = make("service.origin", "me"),
			 *other = make("resource:service_origin", "me");
	const struct label_set *set;

	write_process(7, "/system.slice/a.service", "/bin/a");
	cr_assert_not(has_any(get("a", SECOND, NULL), "service.origin"));
	cr_assert_not(has_any(get("a", SECOND, a), "service.origin"));
	cr_assert_not(has_any(get("a", SECOND, origin), "service.origin"));
	cr_assert_not(has_any(get("a", SECOND, other), "resource:service_origin"));
	set = get("a", SECOND, b);
	cr_assert(has(set, "service.name", "b") && has(set, "service.origin", "program"));
	remove_process(7);
	write_process(7, users, "/bin/a");
	cr_assert(has(get("a", 20 * SECOND, NULL), "service.origin", "user"));
	cr_assert(has(get("a", 20 * SECOND, a), "service.origin", "user"));
	cr_assert(has(get("a", 20 * SECOND, b), "service.origin", "program"));
	label_set_free(a);
	label_set_free(b);
	label_set_free(origin);
	label_set_free(other);
}

static struct label_set *make(const char *key, const char *text)
{
	struct label_list list = { 0 };
	struct label_set *set;

	cr_assert_eq(label_list_add(&list, &(struct label){ .key = key, .text = text }), 0);
	cr_assert_eq(label_set_new(&list, &set), 0);
	label_list_done(&list);
	return set;
}

/* A program cannot say that it is another's. */
Test(process_labels, facts_are_not_the_programs)
{
	static const char *const forged[] = {
		"process.linux.cgroup",
		"resource:process.linux.cgroup",
		"k8s.pod.uid",
		"resource:k8s_pod_uid",
		"container.id",
		"resource:host",
		"host.name",
		"resource:__meta_process_cgroup",
		"resource:..x",
	};

	for (int has_process = 0; has_process < 2; has_process++) {
		if (has_process)
			write_process(7, "/user.slice/a.scope", "/bin/a");
		for (size_t i = 0; i < sizeof(forged) / sizeof(*forged); i++) {
			struct label_set *own = make(forged[i], "/b");
			const struct label_set *set =
				get("a", (has_process * 20 + 1) * SECOND, own);

			cr_assert_not(has(set, forged[i], "/b"), "%s", forged[i]);
			cr_assert_eq(has(set, "process.linux.cgroup", "/user.slice/a.scope"),
				     has_process);
			label_set_free(own);
		}
	}
}

Test(process_labels, what_else_a_program_sets_stays)
{
	static const char *const free_keys[] = { "route", "host", "resource:team", "cloud.region",
						 "service.version" };

	for (size_t i = 0; i < sizeof(free_keys) / sizeof(*free_keys); i++) {
		struct label_set *own = make(free_keys[i], "b");

		cr_assert(has(get("a", SECOND, own), free_keys[i], "b"), "%s", free_keys[i]);
		label_set_free(own);
	}
}
