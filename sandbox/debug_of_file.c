// SPDX-License-Identifier: Apache-2.0
#include "sandbox/debug_of_file.h"

#include <errno.h>

#include "base/cleanup.h"
#include "elf/debug_search.h"
#include "sandbox/finders.h"

struct whose {
	struct parsers *parsers;
	uid_t user;
	int fd;
	uint64_t cpu_ns;
	int err; /* what has kept from a place where a debug file may be */
};

static bool is_debug_file(void *arg, int fd, const struct debug_wanted *wanted)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	struct whose *w = arg;
	const struct parse_request request = {
		.kind = PARSE_DEBUG,
		.fd = w->fd,
		.other = fd,
		.user = w->user,
		.cpu_ns = w->cpu_ns,
	};
	clockid_t clock = 0;
	int err = parsers_ask(w->parsers, &request, &clock, &result);

	(void)wanted;
	w->err = err < 0 ? err : w->err;
	return err == 0 && result.is_so;
}

/* Its name is the file's, and may lead to where nobody answers. */
static int open_debug_file(void *arg, const struct debug_place *place, int root)
{
	struct whose *w = arg;
	int fd = finders_open_debug(parsers_finders(w->parsers), w->user, place, root);

	if (fd == -ETIMEDOUT || fd == -EBUSY || fd == -EAGAIN)
		w->err = fd;
	return fd;
}

int debug_of_file(struct parsers *parsers, uid_t user, int fd, uint64_t cpu_ns,
		  const struct parse_result *told)
{
	struct whose whose = { parsers, user, fd, cpu_ns, 0 };
	const struct debug_reader reader = { is_debug_file, open_debug_file, &whose };
	const struct debug_wanted wanted = { told->facts.origin.build_id, told->debug_link,
					     told->debug_link_checksum };
	int found = debug_search(fd, &wanted, &reader);

	return found < 0 && whose.err < 0 ? whose.err : found;
}
