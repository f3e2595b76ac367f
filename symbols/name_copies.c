// SPDX-License-Identifier: Apache-2.0
#include "symbols/name_copies.h"

#include <errno.h>
#include <stdbool.h>

#include "base/array.h"

#define SHARE 2

void name_copies_init(struct name_copies *copies)
{
	*copies = (struct name_copies){ 0 };
	pthread_mutex_init(&copies->lock, NULL);
}

void name_copies_done(struct name_copies *copies)
{
	pthread_mutex_destroy(&copies->lock);
}

/* The user's place, or else a free one. There are as many places as copies. NULL: all are taken. */
static struct user_copies *find(struct name_copies *copies, uid_t user)
{
	struct user_copies *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(copies->users); i++) {
		struct user_copies *u = &copies->users[i];

		if (u->n > 0 && u->user == user)
			return u;
		if (u->n == 0 && !found)
			found = u;
	}
	return found;
}

static bool has_room(size_t n, uint64_t bytes, uint64_t more, unsigned int share)
{
	const uint64_t max = NAME_COPIES_BYTES_MAX / share;

	return n < NAME_COPIES_MAX / share && bytes <= max && more <= max - bytes;
}

int name_copies_take(struct name_copies *copies, uid_t user, uint64_t bytes)
{
	struct user_copies *u;
	int err = -EDQUOT;

	pthread_mutex_lock(&copies->lock);
	u = find(copies, user);
	if (u && has_room(copies->n, copies->bytes, bytes, 1) &&
	    has_room(u->n, u->bytes, bytes, SHARE)) {
		u->user = user;
		u->n++;
		u->bytes += bytes;
		copies->n++;
		copies->bytes += bytes;
		err = 0;
	}
	pthread_mutex_unlock(&copies->lock);
	return err;
}

void name_copies_give_back(struct name_copies *copies, uid_t user, uint64_t bytes)
{
	struct user_copies *u;

	pthread_mutex_lock(&copies->lock);
	u = find(copies, user);
	u->n--;
	u->bytes -= bytes;
	copies->n--;
	copies->bytes -= bytes;
	pthread_mutex_unlock(&copies->lock);
}
