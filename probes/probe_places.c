// SPDX-License-Identifier: Apache-2.0
#include "probes/probe_places.h"

#include "base/cleanup.h"
#include "kernel/uprobe_places.h"
#include "probes/probe_lists.h"
#include "probes/probe_parts.h"
#include "probes/usdt_places.h"

static int find_functions(struct parsers *parsers, const struct uprobe_reader *reader,
			  const struct probe_parts *parts, struct uprobe_places *ret,
			  struct probe_lists *lists)
{
	int err = uprobe_places_find(parts->path, parts->name, reader, ret);

	ret->are_returns = parts->kind == PROBE_RETURN;
	if (err < 0 || parts->arguments.n == 0)
		return err;
	return probe_lists_make(parsers, reader->user, &parts->arguments, ret, lists);
}

static int find_usdt(struct parsers *parsers, const struct uprobe_reader *reader,
		     const struct probe_parts *parts, struct uprobe_places *ret,
		     struct probe_lists *lists)
{
	_cleanup_(usdt_places_done) struct usdt_places found = { .at.fd = -1 };
	int err = usdt_places_find(parsers, reader, parts->path, parts->name, &found);

	if (err == 0 && parts->arguments.n > 0)
		err = probe_lists_make_usdt(&parts->arguments, found.notes, &found.at, lists);
	*ret = found.at;
	found.at = UPROBE_PLACES_NONE;
	return err;
}

int probe_places_find(struct parsers *parsers, const struct uprobe_reader *reader,
		      const struct probe_parts *parts, struct uprobe_places *ret,
		      struct probe_lists *ret_lists)
{
	*ret_lists = (struct probe_lists){ 0 };
	return parts->kind == PROBE_STATIC ? find_usdt(parsers, reader, parts, ret, ret_lists) :
					     find_functions(parsers, reader, parts, ret, ret_lists);
}
