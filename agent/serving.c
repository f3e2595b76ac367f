// SPDX-License-Identifier: Apache-2.0
#include "agent/serving.h"

#include <errno.h>
#include <string.h>

#include "agent/pulls.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "log/clock.h"
#include "log/log.h"

#define AGAIN_NS UINT64_C(5000000000)

/* Who waits for a profile is told first; the other server may ask for more after that. */
static bool end_old(struct serving *s)
{
	if (!s->old)
		return true;
	if (!pulls_try_close(s->options.pulls))
		return false;
	s->old = server_close(s->old);
	pulls_open(s->options.pulls);
	return true;
}

static bool is_at(const struct serving *s, const char *address)
{
	return s->server && text_is_same(server_options(s->server)->address, address);
}

/* -EBUSY: it is not complete yet, as the old server has to stay for now. */
static int change(struct serving *s)
{
	struct server *server = NULL;
	int err = 0;

	if (!end_old(s))
		return -EBUSY;
	if (is_at(s, s->options.address)) {
		if (server_has_token(s->server, s->options.token_file))
			return 0;
		s->old = steal_ptr(s->server);
		if (!end_old(s))
			return -EBUSY;
	}
	if (s->options.address)
		err = server_open(&s->options, &server);
	if (err < 0)
		return err;
	s->old = s->server;
	s->server = server;
	if (s->options.address)
		log_info("answering requests at %s", s->options.address);
	return end_old(s) ? 0 : -EBUSY;
}

bool serving_may_pass(int err)
{
	return err == -EADDRINUSE || err == -EADDRNOTAVAIL || err == -ENODATA;
}

/* Returns what is to be said of it. */
static int plan(struct serving *s, int err, uint64_t now_ns)
{
	if (err == -EBUSY) {
		s->again_ns = now_ns;
		return 0;
	}
	s->options.is_again = serving_may_pass(err);
	s->again_ns = s->options.is_again ? now_ns + AGAIN_NS : 0;
	return err;
}

int serving_change(struct serving *s, const char *address, const char *token_file)
{
	s->options.address = address;
	s->options.token_file = token_file;
	s->options.is_again = false;
	return plan(s, change(s), clock_now_ns());
}

void serving_look(struct serving *s, uint64_t now_ns)
{
	if (s->again_ns && now_ns >= s->again_ns)
		(void)plan(s, change(s), now_ns);
}

void serving_end(struct serving *s)
{
	if (s->options.pulls)
		pulls_close(s->options.pulls);
	s->old = server_close(s->old);
	s->server = server_close(s->server);
}
