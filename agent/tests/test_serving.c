// SPDX-License-Identifier: Apache-2.0
/* When one server gives way to another. Both are these here, and so are the profiles that they ask for. */
#include "agent/serving.h"

#include <criterion/criterion.h>
#include <errno.h>

#include "agent/pulls.h"
#include "base/text.h"

#define SERVERS_MAX 3

struct server {
	struct server_options options;
	bool is_open;
};

static struct server servers[SERVERS_MAX];
static size_t n_servers;
static const char *token = "a"; /* what is in the file */
static bool is_busy, is_closed; /* the profiles */
static int open_err;

int server_open(const struct server_options *options, struct server **ret)
{
	*ret = NULL;
	if (open_err < 0)
		return open_err;
	cr_assert_lt(n_servers, SERVERS_MAX);
	for (size_t i = 0; i < n_servers; i++)
		cr_assert(!servers[i].is_open ||
			  !text_is_same(servers[i].options.address, options->address));
	*ret = &servers[n_servers++];
	**ret = (struct server){ .options = *options, .is_open = true };
	(*ret)->options.token_file = token;
	return 0;
}

const struct server_options *server_options(const struct server *s)
{
	return &s->options;
}

bool server_has_token(const struct server *s, const char *token_file)
{
	return text_is_same(s->options.token_file, token);
}

struct server *server_close(struct server *s)
{
	if (!s)
		return NULL;
	cr_assert(s->is_open && is_closed && !is_busy);
	s->is_open = false;
	return NULL;
}

bool pulls_try_close(struct pulls *pulls)
{
	is_closed = true;
	return !is_busy;
}

void pulls_close(struct pulls *pulls)
{
	is_closed = true;
	is_busy = false;
}

void pulls_open(struct pulls *pulls)
{
	is_closed = false;
}

static struct serving begin(void)
{
	struct serving serving = { .options.pulls = (struct pulls *)&serving };

	cr_assert_eq(serving_change(&serving, "here", "file"), 0);
	cr_assert(servers[0].is_open);
	cr_assert_eq(serving.again_ns, 0);
	return serving;
}

static void end(struct serving *s)
{
	serving_end(s);
	for (size_t i = 0; i < n_servers; i++)
		cr_assert_not(servers[i].is_open);
}

Test(serving, stays_while_nothing_changes)
{
	struct serving s = begin();

	cr_assert_eq(serving_change(&s, "here", "file"), 0);
	cr_assert_eq(n_servers, 1);
	end(&s);
}

Test(serving, changes_at_once)
{
	struct serving s = begin();

	token = "b";
	cr_assert_eq(serving_change(&s, "here", "file"), 0);
	cr_assert_not(servers[0].is_open);
	cr_assert(servers[1].is_open);
	cr_assert_not(is_closed);
	cr_assert_eq(s.again_ns, 0);
	end(&s);
}

/* It would take as long as the names of a profile, and nobody would answer signals. */
Test(serving, does_not_wait_for_a_profile_at_the_same_address)
{
	struct serving s = begin();

	token = "b";
	is_busy = true;
	cr_assert_eq(serving_change(&s, "here", "file"), 0);
	cr_assert_eq(n_servers, 1);
	serving_look(&s, UINT64_MAX);
	cr_assert(servers[0].is_open);
	is_busy = false;
	serving_look(&s, UINT64_MAX);
	cr_assert_not(servers[0].is_open);
	cr_assert(servers[1].is_open);
	cr_assert_not(is_closed);
	cr_assert_eq(s.again_ns, 0);
	end(&s);
}

Test(serving, does_not_wait_for_a_profile_at_another_address)
{
	struct serving s = begin();

	is_busy = true;
	cr_assert_eq(serving_change(&s, "there", "file"), 0);
	cr_assert(servers[0].is_open);
	cr_assert(servers[1].is_open);
	is_busy = false;
	serving_look(&s, UINT64_MAX);
	cr_assert_not(servers[0].is_open);
	cr_assert(servers[1].is_open);
	cr_assert_eq(s.again_ns, 0);
	end(&s);
}

Test(serving, ends_both)
{
	struct serving s = begin();

	is_busy = true;
	cr_assert_eq(serving_change(&s, "there", "file"), 0);
	end(&s);
}

Test(serving, stays_if_the_next_one_cannot_be_opened)
{
	struct serving s = begin();

	open_err = -EADDRINUSE;
	cr_assert_eq(serving_change(&s, "there", "file"), -EADDRINUSE);
	cr_assert(servers[0].is_open);
	cr_assert_not(is_closed);
	cr_assert_gt(s.again_ns, 0);
	open_err = 0;
	serving_look(&s, UINT64_MAX);
	cr_assert_not(servers[0].is_open);
	cr_assert(servers[1].is_open);
	end(&s);
}

/* At the start, too, whoever writes the file may be about to. */
Test(serving, waits_for_a_token)
{
	struct serving s = { .options.pulls = (struct pulls *)&s };

	open_err = -ENODATA;
	cr_assert_eq(serving_change(&s, "here", "file"), -ENODATA);
	cr_assert(serving_may_pass(-ENODATA));
	cr_assert_gt(s.again_ns, 0);
	open_err = 0;
	serving_look(&s, UINT64_MAX);
	cr_assert(servers[0].is_open);
	end(&s);
}
