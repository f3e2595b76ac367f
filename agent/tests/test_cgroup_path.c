// SPDX-License-Identifier: Apache-2.0
/* What the paths tell that systemd, Kubernetes and runtimes of containers make. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "agent/cgroup_path.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID_2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID "12345678-9abc-def0-1234-56789abcdef0"
#define UID_ "12345678_9abc_def0_1234_56789abcdef0"
#define PODS "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice"

static void check(const char *path, const char *unit, const char *pod, const char *id,
		  const char *name)
{
	struct cgroup_path parsed;

	cgroup_path_parse(path, &parsed);
	cr_assert_str_eq(parsed.unit, unit, "%s: unit %s", path, parsed.unit);
	cr_assert_str_eq(parsed.pod_uid, pod, "%s: pod %s", path, parsed.pod_uid);
	cr_assert_str_eq(parsed.container_id, id, "%s: container %s", path, parsed.container_id);
	cr_assert_str_eq(parsed.container_name, name, "%s: name %s", path, parsed.container_name);
}

TestSuite(cgroup_path);

Test(cgroup_path, services)
{
	check("/system.slice/nginx.service", "nginx", "", "", "");
	check("/system.slice/system-postgresql.slice/postgresql@15-main.service",
	      "postgresql@15-main", "", "", "");
	check("/system.slice/dbus-org.example\\x2dapp.service", "dbus-org.example-app", "", "", "");
	check("/system.slice/containerd.service/made/by/it", "containerd", "", "", "");
	check("/user.slice/user-0.slice/user@0.service/app.slice/a.service", "a", "", "", "");
	check("/user.slice/user-0.slice/user@0.service/app.slice/app-a-1.scope", "", "", "", "");
	check("/user.slice/user-1000.slice/session-3.scope", "", "", "", "");
	check("/", "", "", "", "");
	check("", "", "", "", "");
	check("/.service", "", "", "", "");
}

static bool is_of_user(const char *path)
{
	struct cgroup_path parsed;

	cgroup_path_parse(path, &parsed);
	return parsed.is_of_user;
}

Test(cgroup_path, those_of_users)
{
	cr_assert(is_of_user("/user.slice/user-7.slice/user@7.service/app.slice/a.service"));
	cr_assert(is_of_user("/user.slice/user-7.slice/user@7.service/user.slice/libpod-" ID
			     ".scope"));
	cr_assert(is_of_user("/system.slice/a.service/b.service"));
	cr_assert(is_of_user("/system.slice/a.service/x.scope/b.service"));
	cr_assert_not(is_of_user("/system.slice/a.service"));
	cr_assert_not(is_of_user("/system.slice/a.service/b"));
	cr_assert_not(is_of_user("/user.slice/user-0.slice/user@0.service/app.slice/a.service"));
	cr_assert_not(is_of_user("/system.slice/containerd.service/docker-" ID ".scope"));
	cr_assert_not(is_of_user("/system.slice/docker.service/" ID "/system.slice/a.service"));
	cr_assert_not(is_of_user("/"));
}

Test(cgroup_path, containers)
{
	check("/system.slice/docker-" ID ".scope", "", "", ID, "");
	check("/docker/" ID, "", "", ID, "");
	check("/machine.slice/libpod-" ID ".scope/container", "", "", ID, "");
	check("/system.slice/containerd.service/docker-" ID ".scope", "", "", ID, "");
	check("/system.slice/docker-" ID ".scope/system.slice/a.service", "a", "", ID, "");
	check("/machine.slice/libpod-conmon-" ID ".scope", "", "", "", "");
	check("/lxc.payload.web-1/system.slice/a.service", "a", "", "", "web-1");
	check("/machine.slice/systemd-nspawn@web\\x2d1.service/payload", "", "", "", "web-1");
	check("/docker/" ID "0", "", "", "", "");
	check("/docker/g" ID, "", "", "", "");
}

static bool is_nested(const char *path)
{
	struct cgroup_path parsed;

	cgroup_path_parse(path, &parsed);
	return parsed.is_nested;
}

Test(cgroup_path, those_in_containers)
{
	cr_assert(is_nested("/system.slice/docker-" ID ".scope/docker-" ID_2 ".scope"));
	cr_assert(is_nested("/system.slice/docker-" ID ".scope" PODS "/cri-containerd-" ID_2
			    ".scope"));
	cr_assert(is_nested(PODS "/" ID PODS "/" ID_2));
	cr_assert(is_nested("/lxc.payload.a/docker/" ID));
	cr_assert(is_nested("/docker/" ID "/lxc.payload.a"));
	cr_assert_not(is_nested("/system.slice/docker-" ID ".scope/system.slice/a.service"));
	cr_assert_not(is_nested("/machine.slice/libpod-" ID ".scope/container"));
	cr_assert_not(is_nested(PODS "/cri-containerd-" ID ".scope"));
	cr_assert_not(is_nested("/system.slice/a.service"));
}

Test(cgroup_path, pods)
{
	check(PODS "/cri-containerd-" ID ".scope", "", UID, ID, "");
	check(PODS "/crio-" ID ".scope", "", UID, ID, "");
	check(PODS "/crio-conmon-" ID ".scope", "", UID, "", "");
	check("/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope", "", UID, ID,
	      "");
	check("/kubepods/burstable/pod" UID "/" ID, "", UID, ID, "");
	check("/kubepods/pod0123456789abcdef0123456789abcdef/" ID, "",
	      "0123456789abcdef0123456789abcdef", ID, "");
	check("/system.slice/containerd.service/kubepods-besteffort-pod" UID_
	      ".slice:cri-containerd:" ID,
	      "", UID, ID, "");
	/* A node that is a container itself. */
	check("/system.slice/docker-" ID_2 ".scope/kubelet.slice/kubelet-kubepods.slice"
	      "/kubelet-kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope",
	      "", UID, ID, "");
	check("/user.slice/pod" UID, "", "", "", "");
	check("/kubepods/podless", "", "", "", "");
	check("/kubepods/pod12345678-9abc-def0-1234-56789abcdefg", "", "", "", "");
}

Test(cgroup_path, longest)
{
	char path[600] = "/";
	struct cgroup_path parsed;

	memset(path + 1, 'a', 400);
	strcpy(path + 401, ".service");
	cgroup_path_parse(path, &parsed);
	cr_assert_eq(strlen(parsed.unit), sizeof(parsed.unit) - 1);
}

Test(cgroup_path, below_another)
{
	const char *service = "/system.slice/a.service";

	cr_assert(cgroup_path_is_below(service, service));
	cr_assert(cgroup_path_is_below("/system.slice/a.service/child", service));
	cr_assert_not(cgroup_path_is_below("/system.slice/a.service2", service));
	cr_assert_not(cgroup_path_is_below("/system.slice", service));
	cr_assert(cgroup_path_is_below(service, "/system.slice//"));
	cr_assert(cgroup_path_is_below(service, "/"));
}

static void read_text(const char *text, char ret[CGROUP_PATH_SIZE])
{
	FILE *file = fmemopen((char *)text, strlen(text), "r");

	cr_assert(file);
	cgroup_path_read(file, ret);
	fclose(file);
}

Test(cgroup_path, of_both_versions)
{
	char path[CGROUP_PATH_SIZE];

	read_text("0::/a b\n", path);
	cr_assert_str_eq(path, "/a b");
	read_text("9:name=systemd:/a\n1:cpu:/b\n0::/\n", path);
	cr_assert_str_eq(path, "/a");
	read_text("9:name=systemd:/a\n1:cpu:/b\n0::/c\n", path);
	cr_assert_str_eq(path, "/c");
	read_text("1:cpu:/x:name=systemd:/b\n0::/\n", path);
	cr_assert_str_eq(path, "/");
	read_text("x", path);
	cr_assert_str_eq(path, "");
}
