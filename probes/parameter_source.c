// SPDX-License-Identifier: Apache-2.0
#include "probes/parameter_source.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/debug_of_file.h"
#include "sandbox/parsers.h"

static int ask(const struct parameter_source *s, struct parse_request *request,
	       struct parse_result *ret)
{
	clockid_t clock = 0;

	request->fd = s->fd;
	request->user = s->user;
	request->cpu_ns = probe_cpu_ns(s->user);
	return parsers_ask(s->parsers, request, &clock, ret);
}

/* Without one, the file itself has to have the debug information. */
static void find_debug_file(struct parameter_source *s)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	struct parse_request request = { .kind = PARSE_FACTS, .other = -1 };

	if (ask(s, &request, &result) == 0)
		s->debug_fd =
			debug_of_file(s->parsers, s->user, s->fd, probe_cpu_ns(s->user), &result);
}

int parameter_source_ask(struct parameter_source *s, const struct parameter_wanted *wanted,
			 size_t n, uint64_t offset, struct parse_result *ret)
{
	struct parse_request request = { .kind = PARSE_PARAMETERS,
					 .other = s->debug_fd,
					 .offset = offset,
					 .wanted = wanted,
					 .n_wanted = n };
	int err = ask(s, &request, ret);

	if (err != -ENODATA || s->is_searched)
		return err;
	find_debug_file(s);
	s->is_searched = true;
	request.other = s->debug_fd;
	return s->debug_fd < 0 ? -ENODATA : ask(s, &request, ret);
}

void parameter_source_done(struct parameter_source *s)
{
	if (s->debug_fd >= 0)
		close(s->debug_fd);
	s->debug_fd = -1;
}
