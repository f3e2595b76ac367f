// SPDX-License-Identifier: Apache-2.0
#include "sandbox/passage.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/mapped_file.h"
#include "sandbox/finders.h"
#include "sandbox/message.h"

int passage_init(struct passage *ret, int file)
{
	int ends[2];

	*ret = (struct passage){ .file = file, .from = -1, .to = -1 };
	if (file < 0 || !file_is_reference(file))
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	ret->from = ends[0];
	ret->to = ends[1];
	return 0;
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(steal_fd(fd));
}

void passage_done(struct passage *p)
{
	close_end(&p->from);
	close_end(&p->to);
}

int passage_end(const struct passage *p)
{
	return p->from >= 0 ? p->from : p->file;
}

int passage_complete(struct passage *p, struct finders *finders, uid_t user)
{
	int err;

	if (p->to < 0)
		return 0;
	/* The helper alone has this end, so the file is never closed by this process. */
	close_end(&p->from);
	err = finders_pass(finders, user, p->file, p->to);
	close_end(&p->to);
	return err == -EPIPE ? -ECONNABORTED : err;
}

void passage_take(int *fd)
{
	struct stat st;
	int socket = *fd, fds[MESSAGE_MAX_FDS];
	char nothing;

	if (socket < 0 || fstat(socket, &st) < 0 || !S_ISSOCK(st.st_mode))
		return;
	*fd = -1;
	if (message_receive(socket, &nothing, sizeof(nothing), fds) == 0)
		*fd = steal_fd(&fds[0]);
	message_close(fds);
	close(socket);
}
