// SPDX-License-Identifier: Apache-2.0
#include "sandbox/debug_of_file.h"

#include "base/cleanup.h"
#include "elf/debug_search.h"
#include "sandbox/finders.h"

struct whose {
	struct parsers *parsers;
	uid_t user;
	int fd;
};

static bool is_debug_file(void *arg, int fd, const struct debug_wanted *wanted)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	const struct whose *w = arg;
	const struct parse_request request = {
		.kind = PARSE_DEBUG, .fd = w->fd, .other = fd, .user = w->user
	};
	clockid_t clock = 0;

	(void)wanted;
	return parsers_ask(w->parsers, &request, &clock, &result) == 0 && result.is_so;
}

/* Its name is the file's, and may lead to where nobody answers. */
static int open_debug_file(void *arg, const struct debug_place *place, int root)
{
	const struct whose *w = arg;

	return finders_open_debug(parsers_finders(w->parsers), w->user, place, root);
}

int debug_of_file(struct parsers *parsers, uid_t user, int fd, const struct parse_result *told)
{
	struct whose whose = { parsers, user, fd };
	const struct debug_reader reader = { is_debug_file, open_debug_file, &whose };
	const struct debug_wanted wanted = { told->facts.origin.build_id, told->debug_link,
					     told->debug_link_checksum };

	return debug_search(fd, &wanted, &reader);
}
