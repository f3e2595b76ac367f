// SPDX-License-Identifier: Apache-2.0
#include "agent/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/cleanup.h"

#define UNIX "unix:"
#define BACKLOG 16

static int parse_unix(const char *path, struct address *ret)
{
	struct sockaddr_un *un = (struct sockaddr_un *)&ret->socket;
	size_t n = strlen(path);

	if (path[0] != '/' || n >= sizeof(un->sun_path))
		return -EINVAL;
	un->sun_family = AF_UNIX;
	memcpy(un->sun_path, path, n + 1);
	ret->size = (socklen_t)sizeof(*un);
	ret->is_local = true;
	return 0;
}

static int parse_port(const char *text, in_port_t *ret)
{
	char *end;
	unsigned long port = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || port == 0 || port > UINT16_MAX)
		return -EINVAL;
	*ret = htons((uint16_t)port);
	return 0;
}

static int parse_host(const char *host, in_port_t port, struct address *ret)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&ret->socket;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&ret->socket;

	if (strcmp(host, "localhost") == 0)
		host = "127.0.0.1";
	if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = port;
		ret->size = (socklen_t)sizeof(*v4);
		ret->is_local = ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
		return 0;
	}
	if (inet_pton(AF_INET6, host, &v6->sin6_addr) != 1)
		return -EINVAL;
	v6->sin6_family = AF_INET6;
	v6->sin6_port = port;
	ret->size = (socklen_t)sizeof(*v6);
	ret->is_local = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
	return 0;
}

int address_parse(const char *text, struct address *ret)
{
	_cleanup_free_ char *host = strdup(text[0] == '[' ? text + 1 : text);
	char *colon = host ? strrchr(host, ':') : NULL;
	in_port_t port;

	*ret = (struct address){ 0 };
	if (strncmp(text, UNIX, strlen(UNIX)) == 0)
		return parse_unix(text + strlen(UNIX), ret);
	if (!colon || parse_port(colon + 1, &port) < 0)
		return -EINVAL;
	*colon = '\0';
	if (text[0] == '[') {
		if (colon == host || colon[-1] != ']')
			return -EINVAL;
		colon[-1] = '\0';
	}
	return parse_host(host, port, ret);
}

int address_listen(const struct address *a, struct unix_listener *ret)
{
	_cleanup_close_ int fd = -1;

	*ret = (struct unix_listener){ 0 };
	if (a->socket.ss_family == AF_UNIX)
		return unix_listener_open(((const struct sockaddr_un *)&a->socket)->sun_path,
					  BACKLOG, NULL, ret);
	fd = socket(a->socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(fd, (const struct sockaddr *)&a->socket, a->size) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	return steal_fd(&fd);
}
