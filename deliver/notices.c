// SPDX-License-Identifier: Apache-2.0
#include "deliver/notices.h"

#include <stdio.h>

/* Of the least worth, one is forgotten for another. */
static int find_worth(const struct notice *notice)
{
	if (!notice->is_used)
		return 0;
	if (!notice->waits)
		return 1;
	return notice->said_ns > 0 ? 2 : 3; /* it is said again, or at all */
}

static bool goes_before(const struct notice *a, const struct notice *b)
{
	int x = find_worth(a), y = find_worth(b);

	return x < y || (x == y && a->said_ns < b->said_ns);
}

static struct notice *find_notice(struct notices *notices, int kind, int code)
{
	struct notice *victim = &notices->of[0];

	for (size_t i = 0; i < NOTICES; i++) {
		struct notice *at = &notices->of[i];

		if (at->is_used && at->kind == kind && at->code == code)
			return at;
		if (goes_before(at, victim))
			victim = at;
	}
	*victim = (struct notice){ .is_used = true, .kind = kind, .code = code };
	return victim;
}

static uint64_t due_ns(const struct notice *notice)
{
	if (!notice->waits)
		return UINT64_MAX;
	return notice->said_ns > 0 ? notice->said_ns + NOTICE_NS : 0;
}

void notices_add(struct notices *notices, int kind, int code, const char *text)
{
	struct notice *notice = find_notice(notices, kind, code);

	notice->n++;
	notice->waits = true;
	snprintf(notice->text, sizeof(notice->text), "%s", text);
}

void notices_withdraw(struct notices *notices, int kind)
{
	for (size_t i = 0; i < NOTICES; i++)
		if (notices->of[i].kind == kind)
			notices->of[i].waits = false;
}

const struct notice *notices_take(struct notices *notices, uint64_t now_ns, bool is_end,
				  uint64_t *ret_n)
{
	for (size_t i = 0; i < NOTICES; i++) {
		struct notice *notice = &notices->of[i];

		if (!notice->waits || (!is_end && now_ns < due_ns(notice)))
			continue;
		*ret_n = notice->n;
		notice->n = 0;
		notice->waits = false;
		notice->said_ns = now_ns;
		return notice;
	}
	return NULL;
}

uint64_t notices_next_ns(const struct notices *notices)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < NOTICES; i++)
		if (due_ns(&notices->of[i]) < next)
			next = due_ns(&notices->of[i]);
	return next;
}
