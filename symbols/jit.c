// SPDX-License-Identifier: Apache-2.0
#include "symbols/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file_stat.h"
#include "elf/mapped_file.h"
#include "limits/limit_hits.h"
#include "limits/limits.h"
#include "symbols/demangle.h"
#include "symbols/jit_dump.h"
#include "symbols/jit_excess.h"
#include "symbols/jit_index.h"
#include "symbols/jit_map.h"
#include "symbols/jit_reader.h"
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

/*
 * Sources are enum jit_kind, in the order of look-up. Functions from a recording are in the index of the
 * first one.
 */
#define SOURCE_DUMP JIT_DUMP
#define SOURCE_MAP JIT_MAP
#define N_SOURCES JIT_N_KINDS

/* A file, once it is open. */
struct source {
	int fd; /* owned; -1: it is not open */
	struct jit_position at;
	struct stat seen;         /* as it was read last */
	struct limit_hits limits; /* that leave out some of its names */
};

/* The files to open, set by callers that must not wait while one is being read. */
struct places {
	int root; /* -1: look for no map */
	pid_t pid;
	uid_t user;
	uid_t payer; /* for the reader (jit_reader.h) */
	int dump;    /* refers to a jitdump to open; -1: none */
	char *path;  /* not NULL: it is below `dump`, a root, and has this inode */
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
	struct source files[N_SOURCES];
	uint64_t map_missed; /* when there was none */
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
	jit->files[SOURCE_DUMP].fd = jit->files[SOURCE_MAP].fd = -1;
	*ret = jit;
	return 0;
}

static void close_place(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/*
 * Opens the map once there is one; take_given() has opened a dump once the process had mapped it. A reader's
 * search costs more than one here.
 */
static bool open_map(struct jit *jit, uint64_t now, bool again)
{
	const struct jit_reader *reader = jit->names->jit_reader;
	struct source *map = &jit->files[SOURCE_MAP];
	const struct places *at = &jit->at;

	if (map->fd >= 0 || at->root < 0)
		return map->fd >= 0;
	if (reader && !again && now < jit->map_missed + AGAIN_FOUND_NS)
		return false;
	map->at = (struct jit_position){ 0 };
	map->seen = (struct stat){ 0 };
	map->fd = reader ? reader->open_map(jit->names->jit_reader_arg, at->payer, at->root,
					    at->pid, at->user) :
			   jit_map_open(at->root, at->pid, at->user);
	jit->map_missed = now;
	return map->fd >= 0;
}

static void close_source(struct jit *jit, size_t i)
{
	close_place(&jit->files[i].fd);
	if (i == SOURCE_MAP)
		close_place(&jit->at.root);
}

int jit_file_read(enum jit_kind kind, int fd, struct jit_position *at, struct jit_pieces *to)
{
	return kind == JIT_DUMP ? jit_dump_read(fd, at, to) : jit_map_read(fd, at, to);
}

void names_set_jit_reader(struct names *names, const struct jit_reader *reader, void *arg)
{
	if (names->jit_reader)
		names->jit_reader->free(names->jit_reader_arg);
	names->jit_reader = reader;
	names->jit_reader_arg = arg;
}

struct jit *jit_free(struct jit *jit)
{
	if (!jit)
		return NULL;
	for (size_t i = 0; i < N_SOURCES; i++) {
		close_source(jit, i);
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

void jit_set_root(struct jit *jit, int root, pid_t pid, uid_t user, uid_t payer)
{
	pthread_mutex_lock(&jit->given_lock);
	close_place(&jit->given.root);
	jit->given.root = root;
	jit->given.pid = pid;
	jit->given.user = user;
	jit->given.payer = payer;
	pthread_mutex_unlock(&jit->given_lock);
}

/* Takes over fd and path. */
static void give_dump(struct jit *jit, int fd, char *path, uint64_t inode, uid_t payer)
{
	pthread_mutex_lock(&jit->given_lock);
	if (jit->has_dump) { /* it was mapped again */
		close(fd);
		free(path);
	} else {
		jit->given.dump = fd;
		jit->given.path = path;
		jit->given.inode = inode;
		jit->given.payer = payer;
	}
	jit->has_dump = true;
	pthread_mutex_unlock(&jit->given_lock);
}

void jit_set_dump(struct jit *jit, int fd, uid_t payer)
{
	give_dump(jit, fd, NULL, 0, payer);
}

void jit_set_dump_path(struct jit *jit, int root, const char *path, uint64_t inode, uid_t payer)
{
	char *copy = strdup(path);

	if (copy)
		give_dump(jit, root, copy, inode, payer);
	else
		close(root);
}

static int open_dump(const struct jit *jit, const struct places *given)
{
	const struct jit_reader *reader = jit->names->jit_reader;

	if (reader)
		return reader->open_dump(jit->names->jit_reader_arg, given->payer, given->dump,
					 given->path, given->inode);
	return given->path ? rooted_file_open(given->dump, given->path, given->inode) :
			     file_reopen(given->dump);
}

/* As of the files that are given. */
static uid_t payer_of(struct jit *jit)
{
	uid_t payer;

	pthread_mutex_lock(&jit->given_lock);
	payer = jit->given.payer;
	pthread_mutex_unlock(&jit->given_lock);
	return payer;
}

/* Without a reader, opening and reading the dump may take as long as its file system likes. */
/* Is it an error that may be over soon, as a program maps its dump once? */
static bool is_for_now(int err)
{
	return err == -EAGAIN || err == -EBUSY || err == -ETIMEDOUT || err == -EMFILE ||
	       err == -ENFILE;
}

/* Leaves a dump for the next turn, unless there is a newer one. */
static bool give_back(struct jit *jit, const struct places *dump)
{
	bool is_back;

	pthread_mutex_lock(&jit->given_lock);
	is_back = jit->given.dump < 0;
	if (is_back) {
		jit->given.dump = dump->dump;
		jit->given.path = dump->path;
		jit->given.inode = dump->inode;
		jit->given.payer = dump->payer;
	}
	pthread_mutex_unlock(&jit->given_lock);
	return is_back;
}

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
		jit->at = (struct places){ .root = given.root,
					   .pid = given.pid,
					   .user = given.user,
					   .payer = given.payer,
					   .dump = -1 };
	}
	if (given.dump < 0)
		return;
	jit->at.payer = given.payer;
	jit->files[SOURCE_DUMP].fd = open_dump(jit, &given);
	if (is_for_now(jit->files[SOURCE_DUMP].fd) && give_back(jit, &given))
		return;
	close(given.dump);
	free(given.path);
	if (jit->files[SOURCE_DUMP].fd >= 0)
		return;
	/* Another mapping of it tries again. */
	pthread_mutex_lock(&jit->given_lock);
	jit->has_dump = false;
	pthread_mutex_unlock(&jit->given_lock);
}

/* A reader is not asked about what it has read. Of files elsewhere, their servers know more than this. */
static bool is_unchanged(const struct source *source)
{
	struct stat st;

	return source->seen.st_ino != 0 && !file_is_reference(source->fd) &&
	       file_stat(source->fd, &st) == 0 && st.st_size == source->seen.st_size &&
	       st.st_mtim.tv_sec == source->seen.st_mtim.tv_sec &&
	       st.st_mtim.tv_nsec == source->seen.st_mtim.tv_nsec;
}

/* Returns 1 if there may be more, else 0 or a negative errno. */
static int read_part(struct jit *jit, size_t i)
{
	const struct jit_reader *reader = jit->names->jit_reader;
	_cleanup_(jit_pieces_done) struct jit_pieces pieces = { .bytes = NULL };
	struct jit_index *index = &jit->indexes[i];
	struct source *source = &jit->files[i];
	size_t limit = jit_memory_left(jit->names, index->memory);
	struct limit_hits hits = { 0 }, *before = limit_hits_collect(&hits);
	int more, err;

	more = reader ? reader->read(jit->names->jit_reader_arg, jit->at.payer, (enum jit_kind)i,
				     source->fd, &source->at, &pieces) :
			jit_file_read((enum jit_kind)i, source->fd, &source->at, &pieces);
	(void)limit_hits_collect(before);
	jit_excess_tell_limits(jit->names, source->fd, &hits, &source->limits);
	err = jit_pieces_place(&pieces, limit, index);
	if (err == -E2BIG && limit < JIT_MEMORY && index->memory > limit)
		return -ENOSPC; /* others have what this one lacks */
	return err < 0 ? err : more;
}

/* A damaged or too large file is read no further. False: there is more. */
static bool read_source(struct jit *jit, size_t i, uint64_t until)
{
	struct source *source = &jit->files[i];
	struct jit_index *index = &jit->indexes[i];
	struct stat st = { 0 };
	int more = 1;

	if (jit->names->jit_reader && is_unchanged(source))
		return true;
	/* What is written from now on is read later. */
	(void)file_stat(source->fd, &st);
	while (more > 0 && now_ns() < until && !names_disabled(jit->names)) {
		size_t before = index->memory;

		more = read_part(jit, i);
		jit->names->jit_memory += index->memory - before;
	}
	if (more == 0)
		source->seen = st;
	jit_excess_tell(jit->names, source->fd, more);
	if (more < 0 && more != -EAGAIN)
		close_source(jit, i);
	return more <= 0 && more != -EAGAIN;
}

static void read_dump(struct jit *jit, uint64_t until)
{
	uint64_t begun;

	take_given(jit);
	begun = now_ns();
	if (jit->files[SOURCE_DUMP].fd < 0 || read_source(jit, SOURCE_DUMP, until))
		jit->timed_read = begun;
}

static void read_all(struct jit *jit, uint64_t until)
{
	unsigned int n_settled = jit->names->n_settled;

	take_given(jit);
	if (open_map(jit, now_ns(), n_settled != jit->n_settled))
		(void)read_source(jit, SOURCE_MAP, until);
	read_dump(jit, until);
	jit->read = now_ns();
	jit->n_settled = n_settled;
}

/*
 * Reads what has been added to the files, or to a dump alone. To the end if sampling has ended. A reader is not
 * asked for a user who has had their share of its time.
 */
static void read_on(struct jit *jit, bool dump_only, bool to_end)
{
	const struct jit_reader *reader = jit->names->jit_reader;
	void *arg = jit->names->jit_reader_arg;
	uint64_t begun = now_ns(), turn = to_end ? JIT_END_NS : JIT_TURN_NS;
	uint64_t until = reader ? begun + turn : UINT64_MAX;
	uid_t payer = payer_of(jit);

	if (reader && !reader->may_read(arg, payer)) {
		jit->read = begun;
		return;
	}
	if (dump_only)
		read_dump(jit, until);
	else
		read_all(jit, until);
	if (reader)
		reader->charge(arg, payer, now_ns() - begun);
}

void jit_close(struct jit *jit)
{
	LOCK(jit);

	read_on(jit, false, true);
	for (size_t i = 0; i < N_SOURCES; i++)
		close_source(jit, i);
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
					       i == SOURCE_DUMP ? time : UINT64_MAX, &offset);

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

/* For each sample; but if a server has to be asked each time, that takes too long. */
static bool may_read_dump(const struct jit *jit, uint64_t now)
{
	int fd = jit->files[SOURCE_DUMP].fd;

	return fd >= 0 && (!file_is_reference(fd) || now >= jit->timed_read + AGAIN_FOUND_NS);
}

static uint64_t locate(struct jit *jit, uint64_t address, uint64_t time)
{
	bool is_settled = jit->n_settled != jit->names->n_settled;
	uint64_t now = now_ns(), located;

	if (names_disabled(jit->names))
		return address;
	if (now >= jit->read + AGAIN_FOUND_NS || is_settled)
		read_on(jit, false, is_settled);
	/* Another piece of code may have replaced the known one since. */
	if (time != UINT64_MAX &&
	    ((time >= jit->timed_read && may_read_dump(jit, now)) || has_given_dump(jit)))
		read_on(jit, true, false);
	located = look_up(jit, address, time);
	if (located == address && now >= jit->read + AGAIN_MISSING_NS) {
		read_on(jit, false, false);
		located = look_up(jit, address, time);
	}
	return located;
}

uint64_t jit_locate(struct jit *jit, uint64_t address, uint64_t time)
{
	LOCK(jit);

	return locate(jit, address, time);
}

int jit_add(struct jit *jit, const struct source_location *location, uint64_t *ret)
{
	struct jit_code code = { .name = strdup(location->function), .size = 1 };
	const char *file = location->file ?: "";
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
	if (code.n_lines > 0) {
		code.lines[0].line = location->line;
		code.column = location->column;
	}
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
		jit->location.column = code->column;
	}
	*ret = &jit->location;
	return true;
}
