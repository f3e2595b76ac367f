// SPDX-License-Identifier: Apache-2.0
#include "sandbox/container_file.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"

#define OF_NAMES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
#define OF_IMAGES OF_NAMES "/:"

static bool is_sound(const char *text, size_t size, const char *characters)
{
	size_t n = strnlen(text, size);

	return n < size && strspn(text, characters) == n;
}

bool container_names_are_sound(const struct container_names *names)
{
	return is_sound(names->name, sizeof(names->name), OF_NAMES) &&
	       is_sound(names->image, sizeof(names->image), OF_IMAGES) &&
	       is_sound(names->k8s_container, sizeof(names->k8s_container), OF_NAMES) &&
	       is_sound(names->pod, sizeof(names->pod), OF_NAMES) &&
	       is_sound(names->name_space, sizeof(names->name_space), OF_NAMES);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static void take(const json_t *object, const char *key, char *ret, size_t size)
{
	const char *text = text_of(object, key);

	if (is_sound(text, size, OF_NAMES))
		strcpy(ret, text);
}

/*
 * NAME[:TAG][@DIGEST], where NAME may begin with HOST:PORT (distribution, reference/reference.go). A mere
 * digest or id is no name.
 */
static void take_image(const char *text, struct container_names *ret)
{
	size_t n = strcspn(text, "@");
	const char *slash = memrchr(text, '/', n);
	const char *part = slash ? slash + 1 : text;
	const char *colon = memchr(part, ':', n - (size_t)(part - text));
	bool is_id =
		!slash && (strncmp(text, "sha256:", strlen("sha256:")) == 0 ||
			   (n == CONTAINER_ID_SIZE - 1 && strspn(text, "0123456789abcdef") == n));

	if (colon)
		n = (size_t)(colon - text);
	if (is_id || n >= sizeof(ret->image) || strspn(text, OF_IMAGES) < n)
		return;
	memcpy(ret->image, text, n);
	ret->image[n] = '\0';
}

static void read_docker(const json_t *file, struct container_names *ret)
{
	const json_t *config = json_object_get(file, "Config");
	const json_t *labels = json_object_get(config, "Labels");
	const char *name = text_of(file, "Name");
	bool is_sandbox = strcmp(text_of(labels, "io.kubernetes.docker.type"), "podsandbox") == 0;

	name += name[0] == '/';
	if (is_sound(name, sizeof(ret->name), OF_NAMES))
		strcpy(ret->name, name);
	take_image(text_of(config, "Image"), ret);
	if (!is_sandbox)
		take(labels, "io.kubernetes.container.name", ret->k8s_container,
		     sizeof(ret->k8s_container));
	take(labels, "io.kubernetes.pod.name", ret->pod, sizeof(ret->pod));
	take(labels, "io.kubernetes.pod.namespace", ret->name_space, sizeof(ret->name_space));
}

/* How a runtime calls them in its annotations. */
struct keys {
	const char *name, *container, *pod, *name_space, *image, *sandbox_image;
};

/*
 * CRI-O keeps the annotations of pods, which their users choose, but for its own and kubelet's keys
 * (internal/factory/container/container.go): none of another runtime counts there.
 */
static void read_oci(const json_t *annotations, struct container_names *ret)
{
	static const struct keys crio = { .name = "io.kubernetes.cri-o.Name",
					  .container = "io.kubernetes.container.name",
					  .pod = "io.kubernetes.pod.name",
					  .name_space = "io.kubernetes.pod.namespace",
					  .image = "io.kubernetes.cri-o.ImageName" };
	static const struct keys containerd = {
		.name = "nerdctl/name",
		.container = "io.kubernetes.cri.container-name",
		.pod = "io.kubernetes.cri.sandbox-name",
		.name_space = "io.kubernetes.cri.sandbox-namespace",
		.image = "io.kubernetes.cri.image-name",
		.sandbox_image = "io.kubernetes.cri.podsandbox.image-name",
	};
	const char *type = text_of(annotations, "io.kubernetes.cri-o.ContainerType");
	const struct keys *keys = *type ? &crio : &containerd;

	take(annotations, keys->name, ret->name, sizeof(ret->name));
	if (strcmp(type, "sandbox") != 0)
		take(annotations, keys->container, ret->k8s_container, sizeof(ret->k8s_container));
	take(annotations, keys->pod, ret->pod, sizeof(ret->pod));
	take(annotations, keys->name_space, ret->name_space, sizeof(ret->name_space));
	take_image(text_of(annotations, keys->image), ret);
	if (!ret->image[0] && keys->sandbox_image)
		take_image(text_of(annotations, keys->sandbox_image), ret);
}

/* Each has names and, as a text, what its creator wanted to remember. */
static void read_list(const json_t *list, const char *id, struct container_names *ret)
{
	json_auto_t *memory = NULL;
	const json_t *container = NULL;
	const char *name;
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		container = json_array_get(list, i);
		if (strcmp(text_of(container, "id"), id) == 0)
			break;
	}
	if (i == json_array_size(list))
		return;
	name = json_string_value(json_array_get(json_object_get(container, "names"), 0));
	if (name && is_sound(name, sizeof(ret->name), OF_NAMES))
		strcpy(ret->name, name);
	memory = json_loads(text_of(container, "metadata"), 0, NULL);
	take_image(text_of(memory, "image-name"), ret);
}

static void read_any(const json_t *file, const char *id, struct container_names *ret)
{
	const json_t *annotations = json_object_get(file, "annotations");

	if (json_is_array(file))
		read_list(file, id, ret);
	else if (annotations)
		read_oci(annotations, ret);
	else if (strcmp(text_of(file, "ID"), id) == 0)
		read_docker(file, ret);
}

/* At most `size` bytes, or a negative errno. */
static ssize_t read_whole(int fd, char *to, size_t size)
{
	size_t have = 0;

	while (have < size) {
		ssize_t n = pread(fd, to + have, size - have, (off_t)have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -EBADMSG;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

int container_file_read(int fd, const char *id, struct container_names *ret)
{
	json_auto_t *file = NULL;
	_cleanup_free_ char *bytes = malloc(CONTAINER_FILE_MAX_SIZE + 1);
	json_error_t error;
	ssize_t n;

	*ret = (struct container_names){ 0 };
	if (!bytes)
		return -ENOMEM;
	n = read_whole(fd, bytes, CONTAINER_FILE_MAX_SIZE + 1);
	if (n < 0 || n > CONTAINER_FILE_MAX_SIZE)
		return n < 0 ? (int)n : -EFBIG;
	file = json_loadb(bytes, (size_t)n, 0, &error);
	if (!file)
		return json_error_code(&error) == json_error_out_of_memory ? -ENOMEM : -EBADMSG;
	read_any(file, id, ret);
	return ret->name[0] || ret->image[0] || ret->k8s_container[0] || ret->pod[0] ||
			       ret->name_space[0] ?
		       0 :
		       -ENODATA;
}
