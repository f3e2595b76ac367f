// SPDX-License-Identifier: Apache-2.0
/* What a confined process gets that opens files, and what it does not. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/confine.h"
#include "sandbox/message.h"
#include "sandbox/namer.h"
#include "sandbox/opener.h"

#define OTHER 4321
#define PATH_SIZE 256

static char directory[] = "/tmp/dwarfprof-test-XXXXXX";
static int sockets[2];
static struct opener opener;
static pid_t child;
static const char *fetched; /* what the server was asked for */
static char last_fetched[64];

static int fetch(void *arg, const unsigned char *build_id, size_t size)
{
	(void)arg;
	snprintf(last_fetched, sizeof(last_fetched), "%zu bytes, 0x%02x", size, build_id[0]);
	fetched = last_fetched;
	return size == 20 ? open("/proc/self/exe", O_RDONLY | O_CLOEXEC) : -1;
}

/* Opens what it is told to. A path of a mapped file lies where reading it may wait. */
static void be_confined(int socket)
{
	struct confinement confinement;
	int opens[OPENER_N_ENDS] = { -1, -1, -1 }, fds[MESSAGE_MAX_FDS],
	    mapped = open("/proc/self/exe", O_RDONLY);
	const char *in_file = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, mapped, 0);
	char path[PATH_SIZE];

	opener_open_self(opens);
	confine_self(&confinement, &opens[OPENER_LISTENER]);
	(void)message_send(socket, "", 1, opens, OPENER_N_ENDS);
	opener_close(opens);
	while (message_receive(socket, path, sizeof(path), fds) == 0) {
		int fd = open(strcmp(path, "mapped") == 0 ? in_file : path, O_RDONLY | O_CLOEXEC);
		int err = fd < 0 ? -errno : 0;

		if (fd >= 0)
			close(fd);
		(void)message_send(socket, &err, sizeof(err), NULL, 0);
	}
	_exit(0);
}

static void begin(void)
{
	int fds[MESSAGE_MAX_FDS];
	struct stat st;

	cr_assert(mkdtemp(directory) && chmod(directory, 0755) == 0);
	cr_assert(chdir(directory) == 0 && stat(".", &st) == 0);
	cr_assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
	child = fork();
	if (child == 0) {
		close(sockets[0]);
		be_confined(sockets[1]);
	}
	close(sockets[1]);
	cr_assert(message_receive(sockets[0], &(char){ 0 }, 1, fds) == 0);
	cr_assert(fds[0] >= 0, "opens cannot be passed on");
	opener = (struct opener){
		.ends = { fds[0], fds[1], fds[2] },
		.device = st.st_dev,
		.user = OTHER,
		.fetch = fetch,
	};
}

static void end(void)
{
	DIR *files = opendir(directory);
	struct dirent *file;

	close(sockets[0]);
	opener_close(opener.ends);
	waitpid(child, NULL, 0);
	while ((file = readdir(files)))
		if (unlinkat(dirfd(files), file->d_name, 0) < 0)
			(void)unlinkat(dirfd(files), file->d_name, AT_REMOVEDIR);
	closedir(files);
	rmdir(directory);
}

TestSuite(opener, .init = begin, .fini = end, .timeout = 60);

/* What the confined process gets for a path: 0 or a negative errno. */
static int attempt(const char *name)
{
	struct pollfd ready[] = { { .fd = sockets[0], .events = POLLIN },
				  { .fd = opener.ends[OPENER_LISTENER], .events = POLLIN } };
	char path[PATH_SIZE] = "";
	int fds[MESSAGE_MAX_FDS], err;

	if (strchr(name, '/') || strcmp(name, "mapped") == 0)
		snprintf(path, sizeof(path), "%s", name);
	else
		snprintf(path, sizeof(path), "%s/%s", directory, name);
	cr_assert(message_send(sockets[0], path, sizeof(path), NULL, 0) == 0);
	for (;;) {
		cr_assert_gt(poll(ready, 2, -1), 0);
		if (ready[0].revents)
			break;
		opener_answer(&opener);
	}
	cr_assert(message_receive(sockets[0], &err, sizeof(err), fds) == 0);
	return err;
}

static void make(const char *name, const char *text, size_t size, uid_t owner, mode_t mode)
{
	_cleanup_close_ int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	cr_assert(fd >= 0 && write(fd, text, size) == (ssize_t)size);
	cr_assert(fchmod(fd, mode) == 0);
	cr_assert(geteuid() != 0 || fchown(fd, owner, owner) == 0);
}

static void make_elf(const char *name, uid_t owner, mode_t mode)
{
	make(name, "\177ELF", 4, owner, mode);
}

Test(opener, gives_what_belongs_to_the_file)
{
	struct stat st;

	if (geteuid() != 0)
		opener.user = geteuid();
	make_elf("own", OTHER, 0600);
	make_elf("root", 0, 0644);
	cr_assert(symlink("own", "link") == 0);
	cr_assert_eq(attempt("own"), 0);
	cr_assert_eq(attempt("link"), 0);
	cr_assert(geteuid() != 0 || attempt("root") == 0);
	cr_assert_eq(opener.n_forbidden, 0);
	cr_assert_eq(opener.opened, geteuid() == 0 ? 12 : 8);
	cr_assert(stat("own", &st) == 0);
	opener.own_device = st.st_dev;
	opener.own_inode = st.st_ino;
	cr_assert_eq(attempt("own"), -ENOENT);
	/* As libdw has it, a binary is not its own debug file, even if that place has another one by now. */
	make_elf("again", OTHER, 0600);
	cr_assert_eq(attempt("again"), 0);
	snprintf(opener.own_path, sizeof(opener.own_path), "%s/again", directory);
	cr_assert_eq(attempt("again"), -ENOENT);
}

Test(opener, refuses_what_is_another_s)
{
	if (geteuid() != 0)
		cr_skip("takes files of other users");
	make_elf("secret", 0, 0600);
	make_elf("other", OTHER + 1, 0644);
	make_elf("root", 0, 0644); /* in a directory that may be closed to the owner */
	cr_assert(symlink("secret", "link") == 0);
	cr_assert(symlink("root", "link to root's") == 0);
	cr_assert_eq(attempt("secret"), -ENOENT);
	cr_assert_eq(attempt("link"), -ENOENT);
	cr_assert_eq(attempt("link to root's"), -ENOENT);
	cr_assert_eq(attempt("other"), -ENOENT);
	cr_assert_eq(opener.n_forbidden, 4);
	cr_assert_eq(opener.opened, 0);
}

/* None is waited for, and no device is opened. */
Test(opener, refuses_what_is_no_binary)
{
	make("text", "no binary", 9, OTHER, 0644);
	make("short", "\177E", 2, OTHER, 0644);
	cr_assert(mkfifo("fifo", 0644) == 0);
	cr_assert(symlink("fifo", "link") == 0);
	cr_assert(mkdir("directory", 0755) == 0);
	cr_assert(geteuid() != 0 || mknod("device", S_IFCHR | 0644, makedev(1, 5)) == 0);
	cr_assert_eq(attempt("text"), -ENOENT);
	cr_assert_eq(attempt("short"), -ENOENT);
	cr_assert_eq(opener.n_forbidden, 2);
	cr_assert_lt(attempt("fifo"), 0);
	cr_assert_lt(attempt("link"), 0);
	cr_assert_lt(attempt("directory"), 0);
	cr_assert_lt(attempt("device"), 0);
	cr_assert_lt(attempt("/dev/zero"), 0);
	cr_assert_eq(attempt("none"), -ENOENT);
	cr_assert_eq(attempt("./text"), -ENOENT);
	cr_assert_eq(opener.opened, 0);
}

/* Its page may be of a file that the target serves. */
Test(opener, reads_no_path_from_a_file)
{
	cr_assert_eq(attempt("mapped"), -EACCES);
}

Test(opener, asks_servers)
{
	cr_assert_eq(attempt(NAMER_SERVER "00112233445566778899aabbccddeeff00112233"), 0);
	cr_assert_str_eq(fetched, "20 bytes, 0x00");
	cr_assert_eq(attempt(NAMER_SERVER "ab"), -ENOENT);
	cr_assert_str_eq(fetched, "1 bytes, 0xab");
	fetched = NULL;
	cr_assert_eq(attempt(NAMER_SERVER "no number"), -EINVAL);
	cr_assert_eq(attempt(NAMER_SERVER), -EINVAL);
	cr_assert_eq(attempt(NAMER_SERVER "abc"), -EINVAL);
	/* What scanf() takes for numbers. */
	cr_assert_eq(attempt(NAMER_SERVER " a"), -EINVAL);
	cr_assert_eq(attempt(NAMER_SERVER "+a"), -EINVAL);
	cr_assert_eq(attempt(NAMER_SERVER "ab0x"), -EINVAL);
	cr_assert_null(fetched);
}
