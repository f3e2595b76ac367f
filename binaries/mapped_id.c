// SPDX-License-Identifier: Apache-2.0
#include "binaries/mapped_id.h"

#include "binaries/binary_store.h"
#include "binaries/load.h"

static struct binary *find(const struct binary_store *store, const struct mapped_id *id)
{
	struct binary *b;

	HASH_FIND(by_mapped, store->mapped, id, sizeof(*id), b);
	return b;
}

void mapped_id_forget(struct binary_store *store, struct binary *b)
{
	if (find(store, &b->mapped) == b)
		HASH_DELETE(by_mapped, store->mapped, b);
}

void mapped_id_note(struct binary_store *store, struct binary *b, const struct mapped_id *id)
{
	struct binary *before;

	if (id->device == 0 || b->id.device != id->device || b->id.inode != id->inode)
		return;
	/* The file was written to since. */
	before = find(store, id);
	if (before == b)
		return;
	if (before)
		mapped_id_forget(store, before);
	mapped_id_forget(store, b);
	b->mapped = *id;
	/* Without memory, it is looked up again. */
	HASH_ADD(by_mapped, store->mapped, mapped, sizeof(b->mapped), b);
}

bool mapped_id_is_known(const struct binary_store *store, const struct mapped_id *id)
{
	const struct binary *b = find(store, id);

	return b && b->has_own_inode;
}

struct binary *mapped_id_find(struct binary_store *store, const struct mapped_id *id)
{
	struct binary *b = find(store, id);

	if (!b || !b->has_own_inode || !binary_is_unchanged(b))
		return NULL;
	load_again(store, b);
	return b;
}
