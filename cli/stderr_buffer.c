// SPDX-License-Identifier: Apache-2.0
#include "cli/stderr_buffer.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is kept of many messages: at least half of it. */
#define MAX_KEPT (128 * 1024)

static void close_both(struct stderr_buffer *b)
{
	if (b->old_fd >= 0)
		close(b->old_fd);
	if (b->buffer_fd >= 0)
		close(b->buffer_fd);
	b->old_fd = b->buffer_fd = -1;
}

void stderr_buffer_begin(struct stderr_buffer *ret)
{
	*ret = (struct stderr_buffer){
		.old_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0),
		.buffer_fd = memfd_create("stderr", MFD_CLOEXEC),
	};
	pthread_mutex_init(&ret->lock, NULL);
	if (ret->old_fd < 0 || ret->buffer_fd < 0 || dup2(ret->buffer_fd, STDERR_FILENO) < 0)
		close_both(ret);
}

/* Counts the lines of a part. */
static uint64_t count_lines(int fd, off_t at, off_t end)
{
	uint64_t n_lines = 0;
	char text[4096];
	ssize_t n;

	for (; at < end; at += n) {
		size_t size = end - at < (off_t)sizeof(text) ? (size_t)(end - at) : sizeof(text);

		n = pread(fd, text, size, at);
		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			n_lines += text[i] == '\n';
	}
	return n_lines;
}

void stderr_buffer_trim(struct stderr_buffer *b)
{
	struct stat status;
	off_t start;

	pthread_mutex_lock(&b->lock);
	if (b->buffer_fd >= 0 && fstat(b->buffer_fd, &status) == 0 &&
	    status.st_size - b->start > MAX_KEPT) {
		start = status.st_size - MAX_KEPT / 2;
		b->n_dropped += count_lines(b->buffer_fd, b->start, start);
		b->start = start;
		fallocate(b->buffer_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, start);
	}
	pthread_mutex_unlock(&b->lock);
}

static void copy(int from, off_t at, int to)
{
	char text[4096];
	ssize_t n;

	for (; (n = pread(from, text, sizeof(text), at)) > 0; at += n)
		(void)!write(to, text, (size_t)n);
}

/* The end of the line that was cut when others were dropped. */
static off_t next_line(int fd, off_t at)
{
	char c;

	while (pread(fd, &c, 1, at) == 1 && c != '\n')
		at++;
	return at + 1;
}

void stderr_buffer_end(struct stderr_buffer *b)
{
	off_t start;

	pthread_mutex_lock(&b->lock);
	start = b->start;
	if (b->buffer_fd >= 0) {
		dup2(b->old_fd, STDERR_FILENO);
		if (start > 0) {
			dprintf(STDERR_FILENO,
				"dwarfprof: %" PRIu64 " earlier lines are left out\n",
				b->n_dropped + 1);
			start = next_line(b->buffer_fd, start);
		}
		copy(b->buffer_fd, start, STDERR_FILENO);
	}
	close_both(b);
	pthread_mutex_unlock(&b->lock);
}

void stderr_buffer_rescue(const struct stderr_buffer *b)
{
	if (b->buffer_fd < 0)
		return;
	dup2(b->old_fd, STDERR_FILENO);
	copy(b->buffer_fd, b->start, STDERR_FILENO);
}
