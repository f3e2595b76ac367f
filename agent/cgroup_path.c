// SPDX-License-Identifier: Apache-2.0
#include "agent/cgroup_path.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/array.h"

#define ID_DIGITS 64
#define UID_SIZE 36
#define HEX "0123456789abcdef"

/* A part of a path. */
struct part {
	const char *text;
	size_t size;
};

static bool has_suffix(const struct part *part, const char *suffix)
{
	size_t n = strlen(suffix);

	return part->size > n && memcmp(part->text + part->size - n, suffix, n) == 0;
}

static bool take_prefix(struct part *part, const char *prefix)
{
	size_t n = strlen(prefix);

	if (part->size <= n || memcmp(part->text, prefix, n) != 0)
		return false;
	part->text += n;
	part->size -= n;
	return true;
}

static bool take_suffix(struct part *part, const char *suffix)
{
	if (!has_suffix(part, suffix))
		return false;
	part->size -= strlen(suffix);
	return true;
}

static size_t count_hex(const char *text, size_t size)
{
	size_t n = 0;

	while (n < size && strchr(HEX, text[n]) && text[n])
		n++;
	return n;
}

/* systemd.unit(5), "String escaping for inclusion in unit names": \x2d is a dash. */
static void copy_unescaped(const struct part *part, char *to, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < part->size && n + 1 < size; i++) {
		unsigned int byte;

		if (part->size - i >= 4 && part->text[i] == '\\' && part->text[i + 1] == 'x' &&
		    count_hex(part->text + i + 2, 2) == 2 &&
		    sscanf(part->text + i + 2, "%2x", &byte) == 1 && byte != 0) {
			to[n++] = (char)byte;
			i += 3;
		} else {
			to[n++] = part->text[i];
		}
	}
	to[n] = '\0';
}

/* Of a UUID, in which systemd's names have other dashes; or of a static pod, a hash. */
static bool parse_uid(const char *text, size_t size, char ret[UID_SIZE + 1])
{
	static const size_t groups[] = { 8, 4, 4, 4, 12 };
	size_t at = 0;

	if (size == 32 && count_hex(text, size) == size) {
		memcpy(ret, text, size);
		ret[size] = '\0';
		return true;
	}
	if (size != UID_SIZE)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		if (count_hex(text + at, groups[i]) != groups[i])
			return false;
		memcpy(ret + at, text + at, groups[i]);
		at += groups[i];
		if (at < size && text[at] != '-' && text[at] != '_')
			return false;
		ret[at] = at < size ? '-' : '\0';
		at++;
	}
	return true;
}

static bool is_in_container(const struct cgroup_path *path)
{
	return path->is_nested || path->container_id[0] || path->container_name[0];
}

static bool parse_pod(struct part part, bool *is_in_pods, struct cgroup_path *ret)
{
	char uid[UID_SIZE + 1];
	const char *at;

	*is_in_pods |= memmem(part.text, part.size, "kubepods", strlen("kubepods")) != NULL;
	(void)take_suffix(&part, ".slice");
	at = memmem(part.text, part.size, "pod", strlen("pod"));
	/* The first "pod" may be that of "kubepods". */
	while (at && !(at == part.text || at[-1] == '-'))
		at = memmem(at + 1, part.size - (size_t)(at + 1 - part.text), "pod", strlen("pod"));
	if (!*is_in_pods || !at)
		return false;
	at += strlen("pod");
	if (!parse_uid(at, part.size - (size_t)(at - part.text), uid))
		return false;
	*ret = (struct cgroup_path){ .is_nested = is_in_container(ret) };
	memcpy(ret->pod_uid, uid, sizeof(uid));
	return true;
}

static void begin_container(struct cgroup_path *ret)
{
	ret->is_nested = is_in_container(ret);
	ret->unit[0] = ret->container_id[0] = ret->container_name[0] = '\0';
}

static bool parse_container(struct part part, struct cgroup_path *ret)
{
	const char *monitor = "conmon-";
	struct part name = part;
	size_t kind;

	if (take_prefix(&name, "lxc.payload.") ||
	    (take_prefix(&name, "systemd-nspawn@") && take_suffix(&name, ".service"))) {
		begin_container(ret);
		copy_unescaped(&name, ret->container_name, sizeof(ret->container_name));
		return true;
	}
	(void)take_suffix(&part, ".scope");
	if (part.size < ID_DIGITS)
		return false;
	kind = part.size - ID_DIGITS;
	if (count_hex(part.text + kind, ID_DIGITS) != ID_DIGITS ||
	    (kind > 0 && part.text[kind - 1] != '-'))
		return false;
	/* crio-conmon-ID.scope has the process that watches over the container. */
	if (kind >= strlen(monitor) &&
	    memcmp(part.text + kind - strlen(monitor), monitor, strlen(monitor)) == 0)
		return false;
	begin_container(ret);
	memcpy(ret->container_id, part.text + kind, ID_DIGITS);
	ret->container_id[ID_DIGITS] = '\0';
	return true;
}

static void parse_part(struct part part, bool *is_in_pods, struct cgroup_path *ret)
{
	const char *colon;

	if (parse_pod(part, is_in_pods, ret) || parse_container(part, ret))
		return;
	/* containerd without systemd: SLICE:cri-containerd:ID */
	colon = memmem(part.text, part.size, ".slice:", strlen(".slice:"));
	if (colon) {
		const char *last = memrchr(part.text, ':', part.size);
		struct part slice = { part.text, (size_t)(colon - part.text) + strlen(".slice") };
		struct part id = { last + 1, part.size - (size_t)(last + 1 - part.text) };

		(void)parse_pod(slice, is_in_pods, ret);
		(void)parse_container(id, ret);
		return;
	}
	/* A scope in a service's cgroup, such as an application of user@1000.service, is no part of it. */
	if (take_suffix(&part, ".service"))
		copy_unescaped(&part, ret->unit, sizeof(ret->unit));
	else if (has_suffix(&part, ".scope"))
		ret->unit[0] = '\0';
}

/* Root's services hold no others, but for root's own manager, unless somebody has made these. */
static bool is_of_user(struct part part, bool *is_in_service)
{
	bool is_of_root = part.size == strlen("user@0.service") &&
			  memcmp(part.text, "user@0.service", part.size) == 0;
	bool is_service = take_suffix(&part, ".service") && !is_of_root, was_in = *is_in_service;

	*is_in_service |= is_service;
	return is_service && (was_in || take_prefix(&part, "user@"));
}

void cgroup_path_parse(const char *path, struct cgroup_path *ret)
{
	bool is_in_pods = false, is_in_service = false, is_users = false;

	*ret = (struct cgroup_path){ 0 };
	while (*path) {
		struct part part = { path, strcspn(path, "/") };

		is_users |= is_of_user(part, &is_in_service);
		if (part.size > 0)
			parse_part(part, &is_in_pods, ret);
		/* A container has services of its own. */
		if (!ret->unit[0] && (ret->container_id[0] || ret->container_name[0]))
			is_in_service = false;
		path += part.size;
		path += *path == '/';
	}
	ret->is_of_user = is_users;
}

bool cgroup_path_is_below(const char *path, const char *cgroup)
{
	size_t n = strlen(cgroup);

	while (n > 0 && cgroup[n - 1] == '/')
		n--;
	return strncmp(path, cgroup, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

static bool is_root(const char *path)
{
	return path[0] == '\0' || strcmp(path, "/") == 0;
}

void cgroup_path_read(FILE *from, char ret[CGROUP_PATH_SIZE])
{
	char line[CGROUP_PATH_SIZE + 64];

	ret[0] = '\0';
	while (fgets(line, sizeof(line), from)) {
		const char *path = NULL, *name = strstr(line, ":name=systemd:");

		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0::", 3) == 0)
			path = line + 3;
		else if (name && name == strchr(line, ':'))
			path = name + strlen(":name=systemd:");
		/* The line of version 2 is the last. */
		if (path && (is_root(ret) || !is_root(path)))
			snprintf(ret, CGROUP_PATH_SIZE, "%.*s", CGROUP_PATH_SIZE - 1, path);
	}
}
