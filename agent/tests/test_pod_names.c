// SPDX-License-Identifier: Apache-2.0
/* Names of pods from directories as kubelet makes them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/pod_names.h"

#define UID "12345678-9abc-def0-1234-56789abcdef"

static char directory[] = "/tmp/pods-XXXXXX";
static struct pod_names names = { .directory = directory };

static void make(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	cr_assert_eq(mkdir(path, 0755), 0);
}

static void set_up(void)
{
	cr_assert_not_null(mkdtemp(directory));
	cr_assert_eq(chmod(directory, 0755), 0);
}

static void tear_down(void)
{
	char command[64];

	pod_names_done(&names);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	cr_assert_eq(system(command), 0);
}

TestSuite(pod_names, .init = set_up, .fini = tear_down);

Test(pod_names, of_kubelet)
{
	const struct pod_name *pod;

	make("shop_web-7d4b9.x_" UID "0");
	make("kube-system_etcd-node_0123456789abcdef0123456789abcdef");
	pod = pod_names_find(&names, UID "0", 1);
	cr_assert(pod && strcmp(pod->name_space, "shop") == 0 &&
		  strcmp(pod->name, "web-7d4b9.x") == 0);
	pod = pod_names_find(&names, "0123456789abcdef0123456789abcdef", 1);
	cr_assert(pod && strcmp(pod->name, "etcd-node") == 0);
}

Test(pod_names, no_others)
{
	make("shop_web");
	make("shop__" UID "1");
	make("_web_" UID "2");
	make("shop_web\n_" UID "3");
	make("shop_web_x_" UID "4");
	make("shop_web_" UID "567");
	for (char end = '1'; end <= '5'; end++) {
		char uid[sizeof(UID) + 1] = UID;

		uid[sizeof(UID) - 1] = end;
		cr_assert_null(pod_names_find(&names, uid, 1), "%c", end);
	}
	cr_assert_eq(HASH_COUNT(names.all), 0);
}

/* New pods are found, though not at once. */
Test(pod_names, are_read_again)
{
	cr_assert_null(pod_names_find(&names, UID "0", 1));
	make("shop_web_" UID "0");
	cr_assert_null(pod_names_find(&names, UID "0", POD_NAMES_AGAIN_NS));
	cr_assert_not_null(pod_names_find(&names, UID "0", POD_NAMES_AGAIN_NS + 1));
	cr_assert_not_null(pod_names_find(&names, UID "0", POD_NAMES_AGAIN_NS + 2));
}

Test(pod_names, are_not_anybodys)
{
	make("shop_web_" UID "0");
	cr_assert_eq(chmod(directory, 0777), 0);
	cr_assert_null(pod_names_find(&names, UID "0", 1));
}
