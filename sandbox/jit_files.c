// SPDX-License-Identifier: Apache-2.0
#include "sandbox/jit_files.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "sandbox/finders.h"
#include "sandbox/parsers.h"
#include "symbols/jit_reader.h"

struct jit_files {
	struct parsers *parsers;
	enum names_demangle style;
};

static int open_map(void *arg, uid_t payer, int root, pid_t pid, uid_t user)
{
	const struct jit_files *files = arg;

	return finders_open_map(parsers_finders(files->parsers), payer, root, pid, user);
}

static int open_dump(void *arg, uid_t payer, int place, const char *path, uint64_t inode)
{
	const struct jit_files *files = arg;
	struct finders *finders = parsers_finders(files->parsers);
	struct found_file found;
	int err = path ? finders_look_up(finders, payer, place, path, inode, &found) :
			 finders_open(finders, payer, place, &found);

	return err < 0 ? err : found.fd;
}

/* -ENODATA is no error of these files: it stands for a parser that never gets on. */
static int read_file(void *arg, uid_t payer, enum jit_kind kind, int fd, struct jit_position *at,
		     struct jit_pieces *to)
{
	const struct jit_files *files = arg;
	const struct parse_request request = {
		.kind = PARSE_JIT,
		.fd = fd,
		.other = -1,
		.user = payer,
		.jit_kind = kind,
		.position = *at,
		.style = files->style,
		.stuck_ns = JIT_FILES_STUCK_NS,
	};
	struct parse_result result;
	clockid_t clock = 0;
	int err = parsers_ask(files->parsers, &request, &clock, &result);

	if (err == -EAGAIN)
		return 0;
	if (err < 0)
		return err;
	/* A parser that was taken over must not keep this process busy. */
	if (result.has_more && result.position.at <= at->at) {
		parse_result_done(&result);
		return -ENODATA;
	}
	*at = result.position;
	*to = result.pieces;
	return result.has_more;
}

static void end(void *arg)
{
	struct jit_files *files = arg;

	parsers_drop(files->parsers);
	free(files);
}

static const struct jit_reader reader = {
	.open_map = open_map,
	.open_dump = open_dump,
	.read = read_file,
	.free = end,
};

int jit_files_start(struct parsers *parsers, struct names *names)
{
	struct jit_files *files = malloc(sizeof(*files));

	if (!files)
		return -ENOMEM;
	*files = (struct jit_files){ parsers_hold(parsers), names_options(names)->demangle };
	names_set_jit_reader(names, &reader, files);
	return 0;
}
