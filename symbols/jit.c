// SPDX-License-Identifier: Apache-2.0
#include "symbols/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/mapped_file.h"
#include "symbols/demangle.h"
#include "symbols/jit_dump.h"
#include "symbols/jit_index.h"
#include "symbols/jit_map.h"
#include "symbols/names_parts.h"

/* The minimum time between two reads of the files: if an address is not found, and if it is. */
#define AGAIN_MISSING_NS UINT64_C(10000000)
#define AGAIN_FOUND_NS UINT64_C(100000000)

/*
 * A located address: the index of the source, the number of the piece of code in it, and the offset
 * from its start. Addresses in processes never have the two highest bits set.
 */
#define LOCATED (UINT64_C(1) << 63)
#define LOCATED_SOURCE_SHIFT 54
#define LOCATED_SOURCE_MASK UINT64_C(0xff)
#define LOCATED_CODE_SHIFT 32
#define LOCATED_CODE_MASK UINT64_C(0x3fffff)
#define LOCATED_OFFSET_MASK UINT64_C(0xffffffff)
_Static_assert(JIT_INDEX_MAX - 1 <= LOCATED_CODE_MASK, "");

/* In the order of look-up. Functions from a recording are in the index of the first one. */
enum {
	SOURCE_DUMP,
	SOURCE_MAP,
	N_SOURCES,
};

/* The files to open, set by callers that must not wait while one is being read. */
struct places {
	int root; /* -1: look for no map */
	pid_t pid;
	uid_t user;
	int dump;   /* refers to a jitdump to open; -1: none */
	char *path; /* not NULL: it is below `dump`, a root, and has this inode */
	uint64_t inode;
};

struct jit {
	struct names *names;
	_Atomic uint64_t taken;     /* by jit_take_memory() */
	pthread_mutex_t given_lock; /* protects the next ones; held only briefly */
	struct places given;
	bool has_dump;        /* a dump has been set */
	pthread_mutex_t lock; /* protects what follows */
	struct places at;
	struct jit_map map;
	struct jit_dump dump;
	struct jit_index indexes[N_SOURCES];
	uint64_t read;          /* when the files were last read */
	unsigned int n_settled; /* value in names at that time */
	uint64_t timed_read;    /* the index has everything with times from before then */
	struct source_location location;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void unlock(pthread_mutex_t **lock)
{
	pthread_mutex_unlock(*lock);
}

#define LOCK(jit)                                                                                  \
	_cleanup_(unlock) pthread_mutex_t *locked = &(jit)->lock;                                  \
	pthread_mutex_lock(locked)

int jit_new(struct names *names, struct jit **ret)
{
	struct jit *jit = calloc(1, sizeof(*jit));

	if (!jit)
		return -ENOMEM;
	jit->names = names;
	pthread_mutex_init(&jit->given_lock, NULL);
	pthread_mutex_init(&jit->lock, NULL);
	jit->given.root = jit->given.dump = jit->at.root = -1;
	jit->map.fd = jit->dump.fd = -1;
	*ret = jit;
	return 0;
}

static void close_map_file(struct jit *jit)
{
	if (jit->map.fd >= 0)
		close(jit->map.fd);
	jit->map.fd = -1;
}

static void close_place(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int find_map_file(const struct jit *jit, uint64_t flags, struct stat *ret)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int fd = -1;
	char path[32];

	snprintf(path, sizeof(path), "tmp/perf-%d.map", jit->at.pid);
	fd = (int)syscall(SYS_openat2, jit->at.root, path, &how, sizeof(how));
	if (fd < 0 || fstat(fd, ret) < 0)
		return -1;
	return steal_fd(&fd);
}

/*
 * Anyone may place files, links and mounts at this path to redirect it to any file of the machine.
 * So it is resolved within the root, and only opened if it is a regular file of the process's user;
 * or one of root, which some agents leave, if it is world-readable and no link leads there. A link
 * has to be the user's or root's itself. Without openat2() (Linux 5.6) there is no map.
 */
static int open_map_file(const struct jit *jit)
{
	struct stat st;
	_cleanup_close_ int fd = find_map_file(jit, O_NOFOLLOW, &st);
	bool is_link = fd >= 0 && S_ISLNK(st.st_mode);
	char path[32];

	if (is_link) {
		if (st.st_uid != jit->at.user && st.st_uid != 0)
			return -1;
		close(fd);
		fd = find_map_file(jit, 0, &st);
	}
	if (fd < 0 || !S_ISREG(st.st_mode))
		return -1;
	if (st.st_uid != jit->at.user && (st.st_uid != 0 || is_link || !(st.st_mode & S_IROTH)))
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

static bool open_map(struct jit *jit)
{
	if (jit->map.fd < 0 && jit->at.root >= 0) {
		jit->map.fd = open_map_file(jit);
		jit->map.position = 0;
	}
	return jit->map.fd >= 0;
}

static int read_map(struct jit *jit, struct jit_index *index, size_t max_memory)
{
	return jit_map_read(&jit->map, jit->names, index, max_memory);
}

static void close_map(struct jit *jit)
{
	close_map_file(jit);
	close_place(&jit->at.root);
}

/* take_given() has opened it once the process had mapped it. */
static bool open_dump(struct jit *jit)
{
	return jit->dump.fd >= 0;
}

static int read_dump(struct jit *jit, struct jit_index *index, size_t max_memory)
{
	return jit_dump_read(&jit->dump, jit->names, index, max_memory);
}

static void close_dump(struct jit *jit)
{
	jit_dump_done(&jit->dump);
}

/* The files that processes write about generated code, each with an index of its own. */
static const struct {
	/* Opens the file if it is not open. False: there is none. */
	bool (*open)(struct jit *jit);
	/* Reads what has been added. A negative errno: no more can be read. */
	int (*read)(struct jit *jit, struct jit_index *index, size_t max_memory);
	void (*close)(struct jit *jit);
	bool has_times; /* with times; otherwise code is treated as if it had always been there */
} sources[N_SOURCES] = {
	[SOURCE_DUMP] = { open_dump, read_dump, close_dump, true },
	[SOURCE_MAP] = { open_map, read_map, close_map, false },
};

struct jit *jit_free(struct jit *jit)
{
	if (!jit)
		return NULL;
	for (size_t i = 0; i < N_SOURCES; i++) {
		sources[i].close(jit);
		jit->names->jit_memory -= jit->indexes[i].memory;
		jit_index_done(&jit->indexes[i]);
	}
	jit->names->jit_memory -= jit->taken;
	close_place(&jit->given.root);
	close_place(&jit->given.dump);
	free(jit->given.path);
	pthread_mutex_destroy(&jit->lock);
	pthread_mutex_destroy(&jit->given_lock);
	free(jit);
	return NULL;
}

void jit_set_root(struct jit *jit, int root, pid_t pid, uid_t user)
{
	pthread_mutex_lock(&jit->given_lock);
	close_place(&jit->given.root);
	jit->given.root = root;
	jit->given.pid = pid;
	jit->given.user = user;
	pthread_mutex_unlock(&jit->given_lock);
}

/* Takes over fd and path. */
static void give_dump(struct jit *jit, int fd, char *path, uint64_t inode)
{
	pthread_mutex_lock(&jit->given_lock);
	if (jit->has_dump) { /* it was mapped again */
		close(fd);
		free(path);
	} else {
		jit->given.dump = fd;
		jit->given.path = path;
		jit->given.inode = inode;
	}
	jit->has_dump = true;
	pthread_mutex_unlock(&jit->given_lock);
}

void jit_set_dump(struct jit *jit, int fd)
{
	give_dump(jit, fd, NULL, 0);
}

void jit_set_dump_path(struct jit *jit, int root, const char *path, uint64_t inode)
{
	char *copy = strdup(path);

	if (copy)
		give_dump(jit, root, copy, inode);
	else
		close(root);
}

/* Opening and reading the dump may take as long as its file system likes. */
static void take_given(struct jit *jit)
{
	struct places given;

	pthread_mutex_lock(&jit->given_lock);
	given = jit->given;
	jit->given.root = jit->given.dump = -1;
	jit->given.path = NULL;
	pthread_mutex_unlock(&jit->given_lock);
	if (given.root >= 0) {
		close_place(&jit->at.root);
		jit->at = given;
	}
	if (given.dump < 0)
		return;
	jit->dump.fd = given.path ? rooted_file_open(given.dump, given.path, given.inode) :
				    file_reopen(given.dump);
	close(given.dump);
	free(given.path);
	if (jit->dump.fd >= 0)
		return;
	/* Another mapping of it tries again. */
	pthread_mutex_lock(&jit->given_lock);
	jit->has_dump = false;
	pthread_mutex_unlock(&jit->given_lock);
}

static size_t memory_left(const struct jit *jit, const struct jit_index *index)
{
	uint64_t others = jit->names->jit_memory - index->memory;
	uint64_t left = others < JIT_MEMORY_ALL ? JIT_MEMORY_ALL - others : 0;

	return left < JIT_MEMORY ? left : JIT_MEMORY;
}

/* A damaged or too large file is read no further. */
static void read_source(struct jit *jit, size_t i)
{
	struct jit_index *index = &jit->indexes[i];
	size_t before = index->memory;

	if (!sources[i].open(jit))
		return;
	if (sources[i].read(jit, index, memory_left(jit, index)) < 0)
		sources[i].close(jit);
	jit->names->jit_memory += index->memory - before;
}

static void read_timed(struct jit *jit)
{
	take_given(jit);
	jit->timed_read = now_ns();
	for (size_t i = 0; i < N_SOURCES; i++)
		if (sources[i].has_times)
			read_source(jit, i);
}

/* Reads what has been added to the files. */
static void read_on(struct jit *jit)
{
	unsigned int n_settled = jit->names->n_settled;

	take_given(jit);
	for (size_t i = 0; i < N_SOURCES; i++)
		if (!sources[i].has_times)
			read_source(jit, i);
	read_timed(jit);
	jit->read = now_ns();
	jit->n_settled = n_settled;
}

void jit_close(struct jit *jit)
{
	LOCK(jit);

	read_on(jit);
	for (size_t i = 0; i < N_SOURCES; i++)
		sources[i].close(jit);
}

static uint64_t located_as(size_t source, uint32_t code, uint64_t offset)
{
	return LOCATED | (uint64_t)source << LOCATED_SOURCE_SHIFT |
	       (uint64_t)code << LOCATED_CODE_SHIFT | offset;
}

static uint64_t look_up(struct jit *jit, uint64_t address, uint64_t time)
{
	for (size_t i = 0; i < N_SOURCES; i++) {
		uint64_t offset;
		uint32_t code = jit_index_find(&jit->indexes[i], address,
					       sources[i].has_times ? time : UINT64_MAX, &offset);

		if (code != JIT_CODE_NONE)
			return located_as(i, code, offset);
	}
	return address;
}

static bool has_given_dump(struct jit *jit)
{
	bool has;

	pthread_mutex_lock(&jit->given_lock);
	has = jit->given.dump >= 0;
	pthread_mutex_unlock(&jit->given_lock);
	return has;
}

static uint64_t locate(struct jit *jit, uint64_t address, uint64_t time)
{
	uint64_t now = now_ns(), located;

	if (names_disabled(jit->names))
		return address;
	if (now >= jit->read + AGAIN_FOUND_NS || jit->n_settled != jit->names->n_settled)
		read_on(jit);
	/* Another piece of code may have replaced the known one since. */
	if (time != UINT64_MAX && (time >= jit->timed_read || has_given_dump(jit)))
		read_timed(jit);
	located = look_up(jit, address, time);
	if (located == address && now >= jit->read + AGAIN_MISSING_NS) {
		read_on(jit);
		located = look_up(jit, address, time);
	}
	return located;
}

uint64_t jit_locate(struct jit *jit, uint64_t address, uint64_t time)
{
	LOCK(jit);

	return locate(jit, address, time);
}

int jit_add(struct jit *jit, const char *function, const char *file, unsigned int line,
	    uint64_t *ret)
{
	struct jit_code code = { .name = strdup(function), .size = 1 };
	uint32_t number;
	size_t before;
	int err;
	LOCK(jit);

	if (file[0] != '\0') {
		code.files_size = strlen(file) + 1;
		code.files = strdup(file);
		code.lines = calloc(1, sizeof(*code.lines));
		code.n_lines = 1;
	}
	if (!code.name || (code.n_lines > 0 && (!code.files || !code.lines))) {
		free(code.name);
		free(code.files);
		free(code.lines);
		return -ENOMEM;
	}
	if (code.n_lines > 0)
		code.lines[0].line = line;
	before = jit->indexes[SOURCE_DUMP].memory;
	err = jit_index_add_code(&jit->indexes[SOURCE_DUMP], &code, &number);
	jit->names->jit_memory += jit->indexes[SOURCE_DUMP].memory - before;
	if (err == 0)
		*ret = located_as(SOURCE_DUMP, number, 0);
	return err;
}

bool jit_take_memory(struct jit *jit, size_t size)
{
	if (jit->taken + size > JIT_MEMORY || jit->names->jit_memory + size > JIT_MEMORY_ALL)
		return false;
	jit->taken += size;
	jit->names->jit_memory += size;
	return true;
}

/* The last line that starts at or before an offset. */
static const struct jit_line *find_line(const struct jit_code *code, uint64_t offset)
{
	size_t lo = 0, hi = code->n_lines;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (code->lines[mid].offset <= offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > 0 ? &code->lines[lo - 1] : NULL;
}

/* Some compilers write mangled names. */
static void demangle_once(struct jit_code *code, enum names_demangle style)
{
	char *name;

	if (code->is_demangled)
		return;
	code->is_demangled = true;
	name = mangling_find(code->name) != MANGLING_NONE ? demangle(code->name, style) : NULL;
	if (!name)
		return;
	free(code->name);
	code->name = name;
}

bool jit_find(struct jit *jit, uint64_t located, bool lines, const struct source_location **ret)
{
	const struct jit_line *line;
	struct jit_index *index;
	struct jit_code *code;
	uint64_t source;
	uint32_t number;
	LOCK(jit);

	if (names_disabled(jit->names))
		return false;
	if (!(located & LOCATED))
		located = locate(jit, located, UINT64_MAX);
	if (!(located & LOCATED))
		return false;
	source = located >> LOCATED_SOURCE_SHIFT & LOCATED_SOURCE_MASK;
	if (source >= N_SOURCES)
		return false;
	index = &jit->indexes[source];
	number = (uint32_t)(located >> LOCATED_CODE_SHIFT & LOCATED_CODE_MASK);
	if (number >= index->n_codes)
		return false;
	code = &index->codes[number];
	demangle_once(code, jit->names->options.demangle);
	jit->location = (struct source_location){ .function = code->name };
	line = lines ? find_line(code, located & LOCATED_OFFSET_MASK) : NULL;
	if (line) {
		jit->location.file = code->files + line->file;
		jit->location.line = line->line;
	}
	*ret = &jit->location;
	return true;
}
