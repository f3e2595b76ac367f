// SPDX-License-Identifier: Apache-2.0
#include "sandbox/jit_files.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "limits/limits.h"
#include "log/clock.h"
#include "sandbox/cpu_budget.h"
#include "sandbox/fetch_shares.h"
#include "sandbox/finders.h"
#include "sandbox/parsers.h"
#include "symbols/jit_reader.h"

struct jit_files {
	struct parsers *parsers;
	enum names_demangle style;
	pthread_mutex_t lock; /* protects what follows */
	struct fetch_shares shares;
};

static bool may_read(void *arg, uid_t payer)
{
	struct jit_files *files = arg;
	bool may;

	/* They are read once there is something to spend, as tables and names are. */
	if (cpu_budget_pause_ns(parsers_budget(files->parsers), payer) > 0)
		return false;
	pthread_mutex_lock(&files->lock);
	may = fetch_shares_allow(&files->shares, payer, clock_now_ns());
	pthread_mutex_unlock(&files->lock);
	return may;
}

static void charge(void *arg, uid_t payer, uint64_t ns)
{
	struct jit_files *files = arg;

	pthread_mutex_lock(&files->lock);
	fetch_shares_charge(&files->shares, payer, clock_now_ns(), ns);
	pthread_mutex_unlock(&files->lock);
}

static int open_map(void *arg, uid_t payer, int root, pid_t pid, uid_t user)
{
	const struct jit_files *files = arg;

	return finders_open_map(parsers_finders(files->parsers), payer, root, pid, user);
}

static int open_dump(void *arg, uid_t payer, int place, const char *path, uint64_t inode)
{
	const struct jit_files *files = arg;

	return finders_open_dump(parsers_finders(files->parsers), payer, place, path, inode);
}

static const char *failure(int err)
{
	return err == -ETIMEDOUT ? "file system does not answer" : parsers_failure(err);
}

static void note_failure(const struct jit_files *files, int fd, int err)
{
	char link[32], path[PATH_MAX];
	ssize_t n;

	if (!failure(err))
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	parsers_note_failure(files->parsers, path, "has no names of generated code", failure(err));
}

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
		.cpu_ns = JIT_FILES_CPU_NS,
		.stuck_ns = JIT_FILES_STUCK_NS,
	};
	struct parse_result result;
	clockid_t clock = 0;
	int err = parsers_ask(files->parsers, &request, &clock, &result);

	note_failure(files, fd, err);
	if (err < 0)
		return err;
	*at = result.position;
	*to = result.pieces;
	return result.has_more;
}

static void end(void *arg)
{
	struct jit_files *files = arg;

	parsers_drop(files->parsers);
	fetch_shares_done(&files->shares);
	pthread_mutex_destroy(&files->lock);
	free(files);
}

static const struct jit_reader reader = {
	.may_read = may_read,
	.charge = charge,
	.open_map = open_map,
	.open_dump = open_dump,
	.read = read_file,
	.free = end,
};

int jit_files_start(struct parsers *parsers, struct names *names)
{
	struct jit_files *files = calloc(1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	files->parsers = parsers_hold(parsers);
	files->style = names_options(names)->demangle;
	files->shares.waited_ns = JIT_FILES_SHARE_NS;
	pthread_mutex_init(&files->lock, NULL);
	names_set_jit_reader(names, &reader, files);
	return 0;
}
