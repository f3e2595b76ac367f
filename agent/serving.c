// SPDX-License-Identifier: Apache-2.0
#include "agent/serving.h"

#include <errno.h>
#include <string.h>

#include "agent/pulls.h"
#include "base/text.h"
#include "log/clock.h"
#include "log/log.h"

#define AGAIN_NS UINT64_C(5000000000)

/* Who waits for a profile is told first; the other server may ask for more after that. */
static void end(struct serving *s)
{
	if (!s->server)
		return;
	pulls_close(s->options.pulls);
	s->server = server_close(s->server);
	pulls_open(s->options.pulls);
}

static int change(struct serving *s)
{
	const struct server_options *was = s->server ? server_options(s->server) : NULL;
	bool is_there = was && text_is_same(was->address, s->options.address);
	struct server *server = NULL;
	int err = 0;

	if (is_there && server_has_token(s->server, s->options.token_file))
		return 0;
	if (is_there)
		end(s);
	if (s->options.address)
		err = server_open(&s->options, &server);
	if (err < 0)
		return err;
	end(s);
	s->server = server;
	if (s->options.address)
		log_info("answering requests at %s", s->options.address);
	return 0;
}

bool serving_may_pass(int err)
{
	return err == -EADDRINUSE || err == -EADDRNOTAVAIL;
}

/* A file without a token may be one that is just being written. */
static void plan(struct serving *s, int err, uint64_t now_ns)
{
	s->again_ns = serving_may_pass(err) || err == -ENODATA ? now_ns + AGAIN_NS : 0;
}

int serving_change(struct serving *s, const char *address, const char *token_file)
{
	int err;

	s->options.address = address;
	s->options.token_file = token_file;
	s->options.is_again = false;
	err = change(s);
	plan(s, err, clock_now_ns());
	return err;
}

void serving_look(struct serving *s, uint64_t now_ns)
{
	if (!s->again_ns || now_ns < s->again_ns)
		return;
	s->options.is_again = true;
	plan(s, change(s), now_ns);
}
