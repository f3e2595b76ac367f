// SPDX-License-Identifier: Apache-2.0
#include "sandbox/module_parse.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "elf/code_pages.h"

/* That its parser has too little memory is no reason to end what this process does. */
static int own_error(int err)
{
	return err == -ENOMEM ? -EAGAIN : err;
}

int module_parse_build_id(struct parsers *parsers, int fd, char ret[MODULE_BUILD_ID_SIZE])
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	const struct parse_request request = { .kind = PARSE_BUILD_ID, .fd = fd, .other = -1 };
	clockid_t clock;
	int err = parsers_ask(parsers, &request, &clock, &result);

	snprintf(ret, MODULE_BUILD_ID_SIZE, "%s", result.facts.origin.build_id);
	return own_error(err);
}

int module_parse_pages(struct parsers *parsers, const struct module *module,
		       struct code_pages **ret, size_t *ret_n)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	const struct parse_request request = {
		.kind = PARSE_FACTS, .fd = module->fd, .other = -1, .user = module->user
	};
	clockid_t clock;
	int err = parsers_ask(parsers, &request, &clock, &result);

	return err < 0 ? own_error(err) :
			 code_pages_of(result.facts.segments, result.facts.n_segments, ret, ret_n);
}

int module_parse_code(struct parsers *parsers, const struct module *module, uint64_t start,
		      uint64_t end, struct code_line **ret, size_t *ret_n)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	const struct parse_request request = { .kind = PARSE_CODE,
					       .fd = module->fd,
					       .other = -1,
					       .user = module->user,
					       .start = start,
					       .end = end };
	clockid_t clock;
	int err = parsers_ask(parsers, &request, &clock, &result);

	*ret = steal_ptr(result.lines);
	*ret_n = result.n_lines;
	return own_error(err);
}
