// SPDX-License-Identifier: Apache-2.0
#include "report/piped.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "symbols/names.h"

/* How often it is looked whether sampling is over. Not more of a wait counts: this process may have been stopped. */
#define LOOK_NS UINT64_C(50000000)

struct piped {
	FILE *file;
	int fd;
	bool is_socket, may_block;
	const struct names *names;
	atomic_bool is_over;
	bool is_given_up;
	uint64_t waited_ns; /* for the reader, since sampling is over */
	uint64_t n_bytes;   /* that the pipe has taken */
	uint64_t n_samples; /* that were counted */
	uint64_t
		n_complete; /* of these, all of whose bytes it has taken, as far as that was looked at */
	/* Where the next ones end, in bytes; those that the report holds are not among them. */
	uint64_t *ends;
	size_t n_ends, ends_size;
	char buffer[PIPE_BUF];
};

bool piped_may_block(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

/* Waits until there may be room for more, or the reader is given up. */
static void wait_for_room(struct piped *p)
{
	struct pollfd room = { .fd = p->fd, .events = POLLOUT };
	bool has_room = false;

	while (!has_room && !p->is_given_up) {
		uint64_t since = clock_now_ns(), took;

		has_room = poll(&room, 1, (int)(LOOK_NS / 1000000)) > 0;
		took = clock_now_ns() - since;
		if (atomic_load(&p->is_over))
			p->waited_ns += took < LOOK_NS ? took : LOOK_NS;
		p->is_given_up = p->waited_ns >= PIPED_PATIENCE_NS;
	}
}

/* -EAGAIN: there is no room. poll(2) promises PIPE_BUF, if nobody else writes to the pipe. */
static ssize_t write_some(const struct piped *p, const char *bytes, size_t size)
{
	struct pollfd room = { .fd = p->fd, .events = POLLOUT };
	size_t n = size < PIPE_BUF ? size : PIPE_BUF;
	ssize_t written;

	if (p->may_block && poll(&room, 1, 0) == 0)
		return -EAGAIN;
	written = p->is_socket ? send(p->fd, bytes, n, MSG_DONTWAIT) : write(p->fd, bytes, n);
	return written < 0 ? -errno : written;
}

static void note_taken(struct piped *p, size_t n)
{
	p->n_bytes += n;
	if (!names_disabled(p->names))
		p->waited_ns = 0;
}

static ssize_t piped_write(void *arg, const char *bytes, size_t size)
{
	struct piped *p = arg;
	size_t done = 0;

	while (done < size && !p->is_given_up) {
		ssize_t n = write_some(p, bytes + done, size - done);

		if (n >= 0) {
			done += (size_t)n;
			note_taken(p, (size_t)n);
		} else if (n == -EAGAIN) {
			wait_for_room(p);
		} else if (n != -EINTR) {
			errno = (int)-n;
			return (ssize_t)done;
		}
	}
	if (done < size)
		errno = ETIMEDOUT;
	return (ssize_t)done;
}

/*
 * A description of its own does not block, and the flags of the other one, which may be another program's as
 * well, stay as they are. There is none of a socket, nor of another user's pipe.
 */
static void open_own(struct piped *p, int fd)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	p->fd = open(link, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	p->may_block = p->fd < 0;
	if (p->may_block)
		p->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int piped_new(int fd, const struct names *names, struct piped **ret)
{
	static const cookie_io_functions_t functions = { .write = piped_write };
	struct piped *p = calloc(1, sizeof(*p));
	struct stat st;
	int err;

	*ret = NULL;
	if (!p)
		return -ENOMEM;
	p->names = names;
	open_own(p, fd);
	err = p->fd < 0 || fstat(p->fd, &st) < 0 ? -errno : 0;
	p->is_socket = err == 0 && S_ISSOCK(st.st_mode);
	p->file = err == 0 ? fopencookie(p, "w", functions) : NULL;
	if (!p->file) {
		piped_free(p);
		return err < 0 ? err : -ENOMEM;
	}
	setvbuf(p->file, p->buffer, _IOFBF, sizeof(p->buffer));
	*ret = p;
	return 0;
}

FILE *piped_file(const struct piped *p)
{
	return p->file;
}

void piped_end(struct piped *p)
{
	atomic_store(&p->is_over, true);
}

/* Forgets the ends of those that are complete. */
static void note_complete(struct piped *p)
{
	size_t n = 0;

	while (n < p->n_ends && p->ends[n] <= p->n_bytes)
		n++;
	for (size_t i = n; n > 0 && i < p->n_ends; i++)
		p->ends[i - n] = p->ends[i];
	p->n_ends -= n;
	p->n_complete += n;
}

int piped_count(struct piped *p, size_t n_held)
{
	uint64_t end = p->n_bytes + __fpending(p->file);

	p->n_samples++;
	if (p->is_given_up)
		return 0;
	note_complete(p);
	while (p->n_complete + p->n_ends + n_held < p->n_samples) {
		if (array_reserve(p->ends, p->n_ends, p->ends_size) < 0)
			return -ENOMEM;
		p->ends[p->n_ends++] = end;
	}
	return 0;
}

bool piped_is_given_up(const struct piped *p)
{
	return p->is_given_up;
}

uint64_t piped_n_missing(const struct piped *p)
{
	size_t n = 0;

	while (n < p->n_ends && p->ends[n] <= p->n_bytes)
		n++;
	return p->n_samples - p->n_complete - n;
}

uint64_t piped_n_samples(const struct piped *p)
{
	return p->n_samples;
}

int piped_flush(struct piped *p)
{
	return p->is_given_up || fflush(p->file) == 0 ? 0 : -errno;
}

struct piped *piped_free(struct piped *p)
{
	if (!p)
		return NULL;
	/* What is still in its buffer is given up: nobody has flushed it. */
	p->is_given_up = true;
	if (p->file)
		fclose(p->file);
	if (p->fd >= 0)
		close(p->fd);
	free(p->ends);
	free(p);
	return NULL;
}
