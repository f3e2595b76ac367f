// SPDX-License-Identifier: Apache-2.0
#include "profiler/output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MODE 0600
/* How often it is looked whether a pipe has a reader. */
#define READER_LOOK_MS 20

/* A number in a variable that sudo sets for root. False: there is none. */
static bool read_sudo(const char *name, unsigned int *ret)
{
	const char *text = geteuid() == 0 ? getenv(name) : NULL;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret = (unsigned int)strtoul(text, &end, 10);
	return errno == 0 && *end == '\0';
}

/* Is the file of someone who may choose where this process writes? */
static bool is_trusted(const struct stat *st)
{
	uid_t caller;

	return st->st_uid == 0 || st->st_uid == geteuid() ||
	       (read_sudo("SUDO_UID", &caller) && st->st_uid == caller);
}

/* Gives a new file to the user who has called sudo. Root can write to it in any case. */
static void give_to_caller(int fd)
{
	uid_t user;
	gid_t group;
	struct stat st;

	if (read_sudo("SUDO_UID", &user) && read_sudo("SUDO_GID", &group) && fstat(fd, &st) == 0 &&
	    st.st_uid == geteuid())
		(void)!fchown(fd, user, group);
}

static int make(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE);

	if (fd < 0)
		return -errno;
	give_to_caller(fd);
	return fd;
}

static int make_beside(const char *path, char **ret_name)
{
	int fd;

	if (asprintf(ret_name, "%s.XXXXXX", path) < 0) {
		*ret_name = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(*ret_name, O_CLOEXEC); /* with mode 0600 */
	if (fd < 0) {
		fd = -errno;
		free(*ret_name);
		*ret_name = NULL;
		return fd;
	}
	give_to_caller(fd);
	return fd;
}

/* Does the directory let this user replace another's file? Sticky ones do not, rename(2). */
static bool may_replace(const char *path)
{
	_cleanup_free_ char *copy = strdup(path);
	struct stat st;

	if (!copy || stat(dirname(copy), &st) < 0)
		return false;
	return !(st.st_mode & S_ISVTX) || geteuid() == 0 || st.st_uid == geteuid();
}

/* Makes a file that is to take the place of the one at path. */
static int replace(const char *path, const struct stat *old, char **ret_beside)
{
	int fd;

	if (is_trusted(old))
		return make_beside(path, ret_beside);
	fd = may_replace(path) ? make_beside(path, ret_beside) : -EACCES;
	return fd == -EACCES ? -EOWNERDEAD : fd;
}

/* Waits for a pipe's reader. */
static int open_pipe(const char *path, int end)
{
	struct pollfd ended = { .fd = end, .events = POLLIN };
	int fd;

	while ((fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK)) < 0 && errno == ENXIO)
		if (poll(&ended, 1, READER_LOOK_MS) > 0)
			return -ECANCELED;
	if (fd < 0)
		return -errno;
	(void)fcntl(fd, F_SETFL, O_WRONLY);
	return fd;
}

static int open_what_is_there(const char *path, int end)
{
	struct stat st;
	int fd;

	if (stat(path, &st) == 0 && S_ISFIFO(st.st_mode))
		return open_pipe(path, end);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Follows a link, which may lead nowhere yet. */
static int open_link(const char *path, int end)
{
	int fd = open_what_is_there(path, end);

	if (fd != -ENOENT)
		return fd;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, MODE);
	if (fd < 0)
		return -errno;
	give_to_caller(fd);
	return fd;
}

/* Opens the file at `place`, which cannot be exchanged for another one meanwhile. */
static int open_place(int place, int end)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	return open_what_is_there(link, end);
}

/* Opens what is there. *ret_beside: the name of a new file that is to take its place. */
static int open_existing(const char *path, int end, char **ret_beside)
{
	_cleanup_close_ int place = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (place < 0 || fstat(place, &st) < 0)
		return -errno;
	if (S_ISREG(st.st_mode) && (!is_trusted(&st) || st.st_nlink > 1))
		return replace(path, &st, ret_beside);
	if ((S_ISLNK(st.st_mode) || S_ISFIFO(st.st_mode)) && !is_trusted(&st))
		return -EOWNERDEAD;
	return S_ISLNK(st.st_mode) ? open_link(path, end) : open_place(place, end);
}

/* Never the same file as another output's, even if it is: nothing there is overwritten. */
static int open_stderr(const char *path, struct output *ret)
{
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	*ret = (struct output){ .path = path, .is_shared = true, .file = file };
	if (file)
		return 0;
	if (fd >= 0)
		close(fd);
	return fd < 0 ? -errno : -ENOMEM;
}

int output_open(const char *path, int end, struct output *ret)
{
	struct output o = { .path = path, .made = true };
	struct stat st = { 0 };
	int fd;

	if (!path) {
		(void)!fstat(STDOUT_FILENO, &st);
		*ret = (struct output){ .file = stdout, .device = st.st_dev, .inode = st.st_ino };
		return 0;
	}
	if (strcmp(path, OUTPUT_STDERR) == 0)
		return open_stderr(path, ret);
	fd = make(path);
	if (fd == -EEXIST) {
		o.made = false;
		fd = open_existing(path, end, &o.beside);
	}
	if (fd < 0)
		return fd;
	o.file = fdopen(fd, "w");
	if (!o.file) {
		close(fd);
		free(o.beside);
		return -ENOMEM;
	}
	if (o.beside ? stat(path, &st) == 0 : fstat(fd, &st) == 0) {
		o.device = st.st_dev;
		o.inode = st.st_ino;
	}
	*ret = o;
	return 0;
}

int output_begin(struct output *o)
{
	struct stat st;

	o->begun = true;
	if (!o->path || o->is_shared)
		return 0;
	if (o->beside) {
		if (rename(o->beside, o->path) < 0)
			return -errno;
		free(steal_ptr(o->beside));
		return 0;
	}
	if (fstat(fileno(o->file), &st) < 0)
		return -errno;
	/* Pipes and devices have no size. */
	return S_ISREG(st.st_mode) && ftruncate(fileno(o->file), 0) < 0 ? -errno : 0;
}

void output_leave(struct output *o)
{
	o->made = false;
	free(steal_ptr(o->beside));
}

int output_close(struct output *o)
{
	int err = 0;

	if (!o->path)
		return fflush(o->file) != 0 ? -errno : 0;
	if (fclose(o->file) != 0)
		err = -errno;
	if (o->beside)
		unlink(o->beside);
	free(o->beside);
	if (o->made && !o->begun)
		unlink(o->path);
	*o = (struct output){ 0 };
	return err;
}
