// SPDX-License-Identifier: Apache-2.0
/*
 * Paths that a namer which was taken over wants to open: it gets what belongs to the owner of its
 * binary, or to everyone. They are also the names of .dwo, dwz and debug files that a binary chooses.
 * Input: the owner (1, the low 2 bits), whether the path's memory ends early (1, the lowest bit), a
 * list: below this, a part of the path (1), else that many bytes more, as they are.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "elf/tests/debug_tree.h"
#include "sandbox/namer.h"
#include "sandbox/opener.h"

#define N_PARTS 0xc0
#define LISTENER 1000000
#define THERE 7 /* the descriptor in the helper */

static struct opener opener = { .ends = { LISTENER, -1, -1 } };
static const char *path;    /* in the helper's memory, which is this process's */
static const char *fetched; /* what a server was asked for */
static int answers, passed; /* how often the helper was answered, and got a file */
static bool has_whole_path;
static char *memory; /* PATH_MAX bytes, behind which is nothing */

int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);

static void check_file(const struct seccomp_notif_addfd *add)
{
	struct stat st;

	EXPECT(++passed == 1 && has_whole_path && path[0] == '/');
	EXPECT(fstat((int)add->srcfd, &st) == 0 && st.st_ino != opener.own_inode);
	EXPECT(strcmp(path, opener.own_path) != 0);
	if (!fetched)
		tree_check((int)add->srcfd, path, opener.user);
}

static int answer(const struct seccomp_notif_resp *response)
{
	EXPECT(++answers == 1);
	EXPECT(response->error < 0 || (passed == 1 && response->val == THERE));
	return 0;
}

/* The kernel's side of the listener. */
int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *arg;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	if (fd != LISTENER)
		return __real_ioctl(fd, request, arg);
	switch (request) {
	case SECCOMP_IOCTL_NOTIF_RECV:
		((struct seccomp_notif *)arg)->data.args[1] = (uintptr_t)path;
		return 0;
	case SECCOMP_IOCTL_NOTIF_ADDFD:
		check_file(arg);
		return THERE;
	case SECCOMP_IOCTL_NOTIF_SEND:
		return answer(arg);
	}
	return 0;
}

/* The path has the build id in hex, and nothing else. */
static int fetch(void *arg, const unsigned char *build_id, size_t size)
{
	const char *hex = path + strlen(NAMER_SERVER);

	EXPECT(size > 0 && strlen(hex) == 2 * size);
	for (size_t i = 0; i < size; i++) {
		char digits[3];

		snprintf(digits, sizeof(digits), "%02x", build_id[i]);
		EXPECT(memcmp(hex + 2 * i, digits, 2) == 0);
	}
	fetched = path;
	return open(tree_path("in/public"), O_RDONLY | O_CLOEXEC);
}

static void begin(void)
{
	struct stat st;

	tree_make();
	EXPECT(stat(tree_path("in/program"), &st) == 0);
	opener_open_self(opener.ends);
	opener.device = opener.own_device = st.st_dev;
	opener.own_inode = st.st_ino;
	opener.fetch = fetch;
	snprintf(opener.own_path, sizeof(opener.own_path), "%s", tree_path("in/p.debug"));
	memory = mmap(NULL, PATH_MAX + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	EXPECT(memory != MAP_FAILED && munmap(memory + PATH_MAX, 4096) == 0);
}

static size_t add(char *to, size_t n, const char *bytes, size_t size)
{
	size = size < PATH_MAX - n ? size : PATH_MAX - n;
	memcpy(to + n, bytes, size);
	return n + size;
}

/* Names of the tree and of what is elsewhere. */
static const char *part_at(uint8_t which)
{
	static const char *const others[] = {
		"/",
		".",
		"..",
		"/proc/self/fd/3",
		"/proc/self/root",
		"/usr/lib/debug",
		NAMER_SERVER,
		"//",
		"/etc",
		"passwd",
		"shadow",
		"/dev/null",
		"/proc/self/exe",
		"/bin/sh",
		"ab",
		"0123456789abcdef",
	};

	which %= ARRAY_SIZE(others) + ARRAY_SIZE(tree_files) + 1;
	if (which < ARRAY_SIZE(others))
		return others[which];
	which -= ARRAY_SIZE(others);
	return which < ARRAY_SIZE(tree_files) ? tree_files[which].name : tree_root;
}

static void feed_path(struct feed *f, bool ends_early)
{
	static char text[PATH_MAX];
	size_t n = 0;

	while (f->pos < f->end) {
		uint8_t code = feed_u8(f);
		size_t left = (size_t)(f->end - f->pos), some = code - N_PARTS + 1U;

		if (code < N_PARTS) {
			n = add(text, n, part_at(code), strlen(part_at(code)));
			continue;
		}
		some = some < left ? some : left;
		n = add(text, n, (const char *)f->pos, some);
		f->pos += some;
	}
	if (!ends_early)
		n = add(text, n, "", 1);
	path = memory + PATH_MAX - n;
	memcpy(memory + PATH_MAX - n, text, n);
	has_whole_path = memchr(path, '\0', n) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uid_t owners[] = { TREE_USER, geteuid(), geteuid() + 1, 0 };
	struct feed feed = { data, data + size };

	if (!memory)
		begin();
	opener.user = owners[feed_u8(&feed) & 3];
	feed_path(&feed, feed_u8(&feed) & 1);
	answers = passed = 0;
	fetched = NULL;
	opener_answer(&opener);
	EXPECT(answers == 1);
	return 0;
}
