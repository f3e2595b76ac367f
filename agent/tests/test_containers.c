// SPDX-License-Identifier: Apache-2.0
/*
 * The names of containers from a made root directory, by parsers. This program is also the helper.
 */
#include "agent/containers.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "limits/limits.h"
#include "log/clock.h"
#include "sandbox/cpu_budget.h"
#include "sandbox/helper.h"
#include "sandbox/parsers.h"
#include "sandbox/tests/helper_test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define DOCKER "/var/lib/docker/containers/" ID "/config.v2.json"
#define CONTAINERD "/run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json"
#define K3S "/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json"
#define NERDCTL "/run/containerd/io.containerd.runtime.v2.task/default/" ID "/config.json"
#define CRIO "/run/containers/storage/overlay-containers/" ID "/userdata/config.json"
#define PODMAN "/var/lib/containers/storage/overlay-containers/containers.json"
#define VOLATILE "/var/lib/containers/storage/overlay-containers/volatile-containers.json"
#define TRANSIENT "/run/containers/storage/overlay-containers/volatile-containers.json"
#define OCI(name) "{\"annotations\":{\"nerdctl/name\":\"" name "\"}}"
#define LIST(name) "[{\"id\":\"" ID "\",\"names\":[\"" name "\"]}]"

int main(int argc, char **argv)
{
	if (helper_is_one(argv[0]))
		return helper_main(argc, argv);
	return run_tests(argc, argv);
}

static char root[] = "/tmp/containers-XXXXXX";
static struct containers containers = { .root = root };

static void run(const char *format, ...)
{
	char command[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	cr_assert_eq(system(command), 0, "%s", command);
}

static const char *at(const char *place)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s%s", root, place);
	return path;
}

static void put(const char *place, const char *text)
{
	FILE *file;

	run("mkdir -p $(dirname %s)", at(place));
	file = fopen(at(place), "w");
	cr_assert(file);
	fputs(text, file);
	fclose(file);
	cr_assert_eq(chmod(at(place), 0600), 0);
}

static void begin(void)
{
	cr_assert_not_null(mkdtemp(root));
	cr_assert_eq(parsers_new(HELPER_SELF, &containers.parsers), 0);
}

static void end(void)
{
	containers_done(&containers);
	run("rm -r %s", root);
}

TestSuite(containers, .init = begin, .fini = end, .timeout = 60);

/* NULL: not known. */
static const char *name_at(uint64_t now_ns)
{
	const struct container_names *names = containers_find(&containers, ID, now_ns);

	return names ? names->name : NULL;
}

static void forget(void)
{
	struct parsers *parsers = parsers_hold(containers.parsers);

	containers_done(&containers);
	containers.parsers = parsers;
}

Test(containers, at_each_place)
{
	static const struct {
		const char *place, *text, *name;
	} cases[] = {
		{ DOCKER, "{\"ID\":\"" ID "\",\"Name\":\"/docker\"}", "docker" },
		{ CONTAINERD, OCI("containerd"), "containerd" },
		{ K3S, OCI("k3s"), "k3s" },
		{ CRIO, OCI("crio"), "crio" },
		{ NERDCTL, OCI("nerdctl"), "nerdctl" },
		{ PODMAN, LIST("podman"), "podman" },
		{ VOLATILE, LIST("volatile"), "volatile" },
		{ TRANSIENT, LIST("transient"), "transient" },
	};
	size_t n = sizeof(cases) / sizeof(*cases);

	cr_assert_null(name_at(1));
	forget();
	/* The later ones are asked if the earlier ones are not there. */
	for (size_t i = 0; i < n; i++)
		put(cases[i].place, cases[i].text);
	for (size_t i = 0; i < n; i++) {
		const char *name = name_at(1);

		cr_assert(name && strcmp(name, cases[i].name) == 0, "%s", cases[i].place);
		forget();
		cr_assert_eq(unlink(at(cases[i].place)), 0);
	}
	cr_assert_null(name_at(1));
}

/* Podman's bundle does not say what its list does. */
Test(containers, that_the_first_file_does_not_name)
{
	put(CRIO, "{\"annotations\":{\"io.container.manager\":\"libpod\"}}");
	put(PODMAN, "[");
	put(VOLATILE, LIST("a"));
	cr_assert_str_eq(name_at(1), "a");
}

Test(containers, are_read_once)
{
	put(CONTAINERD, OCI("a"));
	cr_assert_str_eq(name_at(1), "a");
	put(CONTAINERD, OCI("b"));
	cr_assert_str_eq(name_at(CONTAINERS_AGAIN_NS + 1), "a");
	/* Nobody has asked for it; and an other one is new. */
	cr_assert_null(containers_find(&containers, "0", 2 * CONTAINERS_FORGET_NS));
	cr_assert_str_eq(name_at(2 * CONTAINERS_FORGET_NS), "b");
}

Test(containers, that_are_not_known_are_looked_for_again)
{
	cr_assert_null(name_at(1));
	put(CONTAINERD, OCI("a"));
	cr_assert_null(name_at(CONTAINERS_AGAIN_NS));
	cr_assert_str_eq(name_at(CONTAINERS_AGAIN_NS + 1), "a");
}

Test(containers, are_not_anybodys)
{
	char elsewhere[512];

	put(CONTAINERD, OCI("a"));
	cr_assert_eq(chmod(at(CONTAINERD), 0622), 0);
	cr_assert_null(name_at(1));
	forget();
	cr_assert_eq(chmod(at(CONTAINERD), 0600), 0);
	cr_assert_str_eq(name_at(1), "a");
	forget();
	if (geteuid() == 0) {
		cr_assert_eq(chown(at(CONTAINERD), 65432, 0), 0);
		cr_assert_null(name_at(1));
		forget();
	}
	cr_assert_eq(unlink(at(CONTAINERD)), 0);
	put("/elsewhere", OCI("a"));
	snprintf(elsewhere, sizeof(elsewhere), "%s", at("/elsewhere"));
	cr_assert_eq(symlink(elsewhere, at(CONTAINERD)), 0);
	cr_assert_null(name_at(1));
	forget();
	cr_assert_eq(unlink(at(CONTAINERD)), 0);
	cr_assert_eq(mkfifo(at(CONTAINERD), 0600), 0);
	cr_assert_null(name_at(1));
}

Test(containers, of_large_files)
{
	for (int more = 0; more < 2; more++) {
		int padding = CONTAINER_FILE_MAX_SIZE - (int)strlen(OCI("a")) + more;
		char *text;

		cr_assert_gt(asprintf(&text, "%s%*s", OCI("a"), padding, ""), 0);
		put(CONTAINERD, text);
		free(text);
		if (more)
			cr_assert_null(name_at(1));
		else
			cr_assert_str_eq(name_at(1), "a");
		forget();
	}
}

/* Root's files have the words of many: what one did to its parser does not meet the next. */
Test(containers, have_a_parser_each)
{
	pid_t spawner[16], found[16];

	put(CONTAINERD, OCI("a"));
	cr_assert_str_eq(name_at(1), "a");
	cr_assert_eq(children(getpid(), spawner), 1);
	while (children(spawner[0], found) > 0)
		usleep(1000);
}

Test(containers, wait_for_what_may_be_spent)
{
	struct cpu_budget_counts counts = { 0 };
	struct cpu_budget *budget;

	put(CONTAINERD, OCI("a"));
	cr_assert_eq(cpu_budget_new(1, &counts, &budget), 0);
	cpu_budget_begin(budget);
	parsers_set_budget(containers.parsers, budget);
	cpu_budget_spend(budget, 0, 100 * UINT64_C(1000000000));
	cr_assert_null(name_at(1));
	cpu_budget_lift(budget);
	cr_assert_str_eq(name_at(CONTAINERS_AGAIN_NS + 1), "a");
	cpu_budget_drop(budget);
}
