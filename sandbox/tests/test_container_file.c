// SPDX-License-Identifier: Apache-2.0
/* Files as the runtimes of containers write them, shortened; damaged ones. */
#include "sandbox/container_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "limits/limits.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER_ID "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

/* Docker 20.10 (moby, container/container.go), an own container. */
static const char docker[] =
	"{\"StreamConfig\":{},\"State\":{\"Running\":true,\"Pid\":1825},\"ID\":\"" ID
	"\",\"Created\":\"2024-09-07T07:01:02.1Z\",\"Managed\":false,\"Path\":\"/entrypoint\",\"Args\":[],"
	"\"Config\":{\"Hostname\":\"0123456789ab\",\"Env\":[\"A=b\"],\"Cmd\":null,\"Image\":"
	"\"localhost:5000/gitea/gitea:1.22\",\"Labels\":{\"com.docker.compose.service\":\"git\"}},\"Image\":"
	"\"sha256:6cd4959e1db11e85d89108b74db07e2a96bbb5c4eb3aa97580e65a8153ebcc78\",\"NetworkSettings\":{},"
	"\"Name\":\"/git_tea.1\",\"Driver\":\"overlay2\",\"OS\":\"linux\",\"RestartCount\":0}\n";

/* The same by cri-dockerd 0.3, which has kubelet's labels. */
static const char cri_docker[] =
	"{\"ID\":\"" ID "\",\"Config\":{\"Image\":"
	"\"sha256:6cd4959e1db11e85d89108b74db07e2a96bbb5c4eb3aa97580e65a8153ebcc78\",\"Labels\":{"
	"\"io.kubernetes.container.name\":\"web\",\"io.kubernetes.docker.type\":\"container\","
	"\"io.kubernetes.pod.name\":\"web-7d4b9\",\"io.kubernetes.pod.namespace\":\"shop\"}},"
	"\"Name\":\"/k8s_web_web-7d4b9_shop_12345678-9abc-def0-1234-56789abcdef0_0\"}";

/* containerd 1.7, internal/cri/annotations/annotations.go; a container and its pod's sandbox. */
static const char containerd[] =
	"{\"ociVersion\":\"1.1.0\",\"process\":{\"args\":[\"/coredns\"]},\"annotations\":{"
	"\"io.kubernetes.cri.container-name\":\"coredns\",\"io.kubernetes.cri.container-type\":\"container\","
	"\"io.kubernetes.cri.image-name\":\"registry.k8s.io/coredns/coredns:v1.8.6\","
	"\"io.kubernetes.cri.sandbox-id\":\"" OTHER_ID "\","
	"\"io.kubernetes.cri.sandbox-name\":\"coredns-6d4b75cb6d-w4b72\","
	"\"io.kubernetes.cri.sandbox-namespace\":\"kube-system\"},\"linux\":{}}";
static const char containerd_sandbox[] =
	"{\"annotations\":{\"io.kubernetes.cri.container-type\":\"sandbox\","
	"\"io.kubernetes.cri.podsandbox.image-name\":\"registry.k8s.io/pause:3.8\","
	"\"io.kubernetes.cri.sandbox-name\":\"coredns-6d4b75cb6d-w4b72\","
	"\"io.kubernetes.cri.sandbox-namespace\":\"kube-system\"}}";

/* nerdctl 2.0, pkg/cmd/container/create.go: it has its labels as annotations, too. */
static const char nerdctl[] =
	"{\"annotations\":{\"nerdctl/name\":\"box-1\",\"nerdctl/namespace\":\"default\"}}";

/* CRI-O 1.26, pkg/annotations; a container and its pod's sandbox. */
static const char crio[] =
	"{\"ociVersion\":\"1.0.2-dev\",\"annotations\":{\"io.container.manager\":\"cri-o\","
	"\"io.kubernetes.container.name\":\"redis\",\"io.kubernetes.cri-o.ContainerID\":\"" ID "\","
	"\"io.kubernetes.cri-o.ContainerType\":\"container\","
	"\"io.kubernetes.cri-o.Image\":\"98bd7cfc43b8ef0ff130465e3d5427c0771002c2f35a6a9b62cb2d04602bed0a\","
	"\"io.kubernetes.cri-o.ImageName\":\"quay.io/crio/redis:alpine\","
	"\"io.kubernetes.cri-o.Name\":\"k8s_redis_store-0_data_12345678-9abc-def0-1234-56789abcdef0_0\","
	"\"io.kubernetes.pod.name\":\"store-0\",\"io.kubernetes.pod.namespace\":\"data\"}}";
static const char crio_sandbox[] =
	"{\"annotations\":{\"io.kubernetes.container.name\":\"POD\",\"io.kubernetes.cri-o.ContainerType\":"
	"\"sandbox\",\"io.kubernetes.pod.name\":\"store-0\",\"io.kubernetes.pod.namespace\":\"data\"}}";

/* Podman 4.3, containers/storage 1.45; the second is without a name. */
static const char podman[] =
	"[{\"id\":\"" OTHER_ID "\",\"names\":[\"other\"],\"image\":\"" OTHER_ID
	"\",\"layer\":\"l\"},"
	"{\"id\":\"" ID "\",\"names\":[\"web1\"],\"image\":\"" OTHER_ID
	"\",\"layer\":\"l\",\"metadata\":"
	"\"{\\\"image-name\\\":\\\"quay.io/centos7/httpd-24-centos7:latest\\\",\\\"name\\\":\\\"web1\\\","
	"\\\"created-at\\\":1711141194}\",\"created\":\"2024-03-22T20:59:54.545266929Z\","
	"\"flags\":{\"MountLabel\":\"\"}}]";

static int read_bytes(const char *bytes, size_t size, struct container_names *ret)
{
	int fd = memfd_create("container", MFD_CLOEXEC), err;

	cr_assert_eq(write(fd, bytes, size), (ssize_t)size);
	err = container_file_read(fd, ID, ret);
	close(fd);
	cr_assert(container_names_are_sound(ret));
	return err;
}

static void expect(const char *text, const struct container_names *expected)
{
	struct container_names names;

	cr_assert_eq(read_bytes(text, strlen(text), &names), 0, "%s", text);
	cr_expect_str_eq(names.name, expected->name);
	cr_expect_str_eq(names.image, expected->image);
	cr_expect_str_eq(names.k8s_container, expected->k8s_container);
	cr_expect_str_eq(names.pod, expected->pod);
	cr_expect_str_eq(names.name_space, expected->name_space);
}

static void expect_error(const char *text, int err)
{
	static const struct container_names none;
	struct container_names names;

	cr_expect_eq(read_bytes(text, strlen(text), &names), err, "%s", text);
	cr_expect(memcmp(&names, &none, sizeof(none)) == 0, "%s", text);
}

Test(container_file, of_docker)
{
	expect(docker, &(struct container_names){ .name = "git_tea.1",
						  .image = "localhost:5000/gitea/gitea" });
	expect(cri_docker,
	       &(struct container_names){
		       .name = "k8s_web_web-7d4b9_shop_12345678-9abc-def0-1234-56789abcdef0_0",
		       .k8s_container = "web",
		       .pod = "web-7d4b9",
		       .name_space = "shop" });
	expect_error("{\"ID\":\"" OTHER_ID "\",\"Config\":{\"Image\":\"a\"},\"Name\":\"/other\"}",
		     -ENODATA);
}

Test(container_file, of_containerd)
{
	expect(containerd, &(struct container_names){ .image = "registry.k8s.io/coredns/coredns",
						      .k8s_container = "coredns",
						      .pod = "coredns-6d4b75cb6d-w4b72",
						      .name_space = "kube-system" });
	expect(containerd_sandbox, &(struct container_names){ .image = "registry.k8s.io/pause",
							      .pod = "coredns-6d4b75cb6d-w4b72",
							      .name_space = "kube-system" });
	expect(nerdctl, &(struct container_names){ .name = "box-1" });
}

Test(container_file, of_crio)
{
	expect(crio,
	       &(struct container_names){ .name = "k8s_redis_store-0_data_12345678-9abc-def0-1234-"
						  "56789abcdef0_0",
					  .image = "quay.io/crio/redis",
					  .k8s_container = "redis",
					  .pod = "store-0",
					  .name_space = "data" });
	expect(crio_sandbox, &(struct container_names){ .pod = "store-0", .name_space = "data" });
	/* Users of a cluster give pods annotations. */
	expect("{\"annotations\":{\"io.kubernetes.cri-o.ContainerType\":\"container\","
	       "\"io.kubernetes.pod.name\":\"store-0\",\"io.kubernetes.cri.sandbox-name\":\"bank\","
	       "\"io.kubernetes.cri.container-name\":\"db\",\"nerdctl/name\":\"db\","
	       "\"io.kubernetes.cri.image-name\":\"db\"}}",
	       &(struct container_names){ .pod = "store-0" });
}

Test(container_file, of_podman)
{
	expect(podman, &(struct container_names){ .name = "web1",
						  .image = "quay.io/centos7/httpd-24-centos7" });
	/* Whatever its creator remembers. */
	expect("[7,{\"id\":\"" ID "\",\"names\":[\"a\"],\"metadata\":\"{\"}]",
	       &(struct container_names){ .name = "a" });
	expect_error("[{\"id\":\"" OTHER_ID "\",\"names\":[\"other\"]}]", -ENODATA);
	/* Podman's own config.json has no names. */
	expect_error("{\"annotations\":{\"io.container.manager\":\"libpod\"}}", -ENODATA);
}

Test(container_file, names_of_images)
{
	static const struct {
		const char *text, *name;
	} cases[] = {
		{ "redis", "redis" },
		{ "redis:7", "redis" },
		{ "h:1/a/redis", "h:1/a/redis" },
		{ "h:1/a/redis:7@sha256:0123", "h:1/a/redis" },
		{ "h:1/a/redis@sha256:0123", "h:1/a/redis" },
		{ "sha256:0123", "" },
		{ ID, "" },
		{ "re dis:7", "" },
		{ "@sha256:0123", "" },
	};
	char text[512];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct container_names expected = { .pod = "p" };

		strcpy(expected.image, cases[i].name);
		snprintf(text, sizeof(text),
			 "{\"annotations\":{\"io.kubernetes.cri.sandbox-name\":\"p\","
			 "\"io.kubernetes.cri.image-name\":\"%s\"}}",
			 cases[i].text);
		expect(text, &expected);
	}
}

/* What no runtime allows as a name is none, and what is of another type. */
Test(container_file, names_that_are_none)
{
	static const char *const values[] = { "\"a\\u001b[0m\"", "\"a b\"", "\"\\u00e4\"", "7",
					      "[\"a\"]",         "null",    "\"\"" };
	struct container_names names;
	char text[1024], name[400];

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		snprintf(text, sizeof(text), "{\"annotations\":{\"nerdctl/name\":%s}}", values[i]);
		expect_error(text, -ENODATA);
	}
	for (size_t n = sizeof(names.name) - 1; n <= sizeof(names.name); n++) {
		memset(name, 'a', n);
		name[n] = '\0';
		snprintf(text, sizeof(text), "{\"annotations\":{\"nerdctl/name\":\"%s\"}}", name);
		if (n < sizeof(names.name)) {
			cr_assert_eq(read_bytes(text, strlen(text), &names), 0);
			cr_assert_str_eq(names.name, name);
		} else {
			expect_error(text, -ENODATA);
		}
	}
}

Test(container_file, damaged)
{
	static char deep[CONTAINER_FILE_MAX_SIZE + 1];
	struct container_names names;

	expect_error("", -EBADMSG);
	expect_error("{\"annotations\":{", -EBADMSG);
	expect_error("{\"annotations\":[]}", -ENODATA);
	expect_error("{}", -ENODATA);
	expect_error("[]", -ENODATA);
	for (size_t n = 0; n + 1 < sizeof(containerd) - 1; n++)
		cr_assert_eq(read_bytes(containerd, n, &names), -EBADMSG, "%zu", n);
	memset(deep, '[', sizeof(deep));
	cr_assert_eq(read_bytes(deep, sizeof(deep) - 1, &names), -EBADMSG);
	cr_assert_eq(read_bytes(deep, sizeof(deep), &names), -EFBIG);
	cr_assert_eq(container_file_read(-1, ID, &names), -EBADMSG);
}

Test(container_file, what_may_have_been_read)
{
	struct container_names names = { .name = "a_.-Z9", .image = "h:1/a" };

	cr_assert(container_names_are_sound(&names));
	for (size_t i = 0; i < 5; i++) {
		char *const texts[] = { names.name, names.image, names.k8s_container, names.pod,
					names.name_space };

		strcpy(texts[i], "\n");
		cr_assert_not(container_names_are_sound(&names), "%zu", i);
		strcpy(texts[i], "a");
	}
	strcpy(names.pod, "a:");
	cr_assert_not(container_names_are_sound(&names));
	memset(names.pod, 'a', sizeof(names.pod));
	cr_assert_not(container_names_are_sound(&names));
}
