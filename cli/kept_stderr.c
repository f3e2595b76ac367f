// SPDX-License-Identifier: Apache-2.0
#include "cli/kept_stderr.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is kept of many messages: at least half of it. */
#define MAX_KEPT (128 * 1024)

static void close_both(struct kept_stderr *kept)
{
	if (kept->old_fd >= 0)
		close(kept->old_fd);
	if (kept->kept_fd >= 0)
		close(kept->kept_fd);
	kept->old_fd = kept->kept_fd = -1;
}

void kept_stderr_begin(struct kept_stderr *ret)
{
	*ret = (struct kept_stderr){
		.old_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0),
		.kept_fd = memfd_create("stderr", MFD_CLOEXEC),
	};
	pthread_mutex_init(&ret->lock, NULL);
	if (ret->old_fd < 0 || ret->kept_fd < 0 || dup2(ret->kept_fd, STDERR_FILENO) < 0)
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

void kept_stderr_trim(struct kept_stderr *kept)
{
	struct stat status;
	off_t start;

	pthread_mutex_lock(&kept->lock);
	if (kept->kept_fd >= 0 && fstat(kept->kept_fd, &status) == 0 &&
	    status.st_size - kept->start > MAX_KEPT) {
		start = status.st_size - MAX_KEPT / 2;
		kept->n_dropped += count_lines(kept->kept_fd, kept->start, start);
		kept->start = start;
		fallocate(kept->kept_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, start);
	}
	pthread_mutex_unlock(&kept->lock);
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

void kept_stderr_end(struct kept_stderr *kept)
{
	off_t start;

	pthread_mutex_lock(&kept->lock);
	start = kept->start;
	if (kept->kept_fd >= 0) {
		dup2(kept->old_fd, STDERR_FILENO);
		if (start > 0) {
			dprintf(STDERR_FILENO,
				"dwarfprof: %" PRIu64 " earlier lines are left out\n",
				kept->n_dropped + 1);
			start = next_line(kept->kept_fd, start);
		}
		copy(kept->kept_fd, start, STDERR_FILENO);
	}
	close_both(kept);
	pthread_mutex_unlock(&kept->lock);
}

void kept_stderr_rescue(const struct kept_stderr *kept)
{
	if (kept->kept_fd < 0)
		return;
	dup2(kept->old_fd, STDERR_FILENO);
	copy(kept->kept_fd, kept->start, STDERR_FILENO);
}
