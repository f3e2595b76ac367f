// SPDX-License-Identifier: Apache-2.0
/*
 * usage: bend_btf TYPE MEMBER [as TYPE | at MEMBER] >FILE
 *
 * Writes the running kernel's BTF with one change: a member is missing (renamed), has another type,
 * or has the offset of another member.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

DEFINE_CLEANUP(struct btf *, btf__free)

/* What the member becomes; 0: unchanged. */
struct change {
	uint32_t name; /* offset into the string section */
	uint32_t type;
	const struct btf_member *at;
};

/* Finds a member by name, also in unnamed structures and unions inside the type. */
static const struct btf_member *find_member(const struct btf *btf, const struct btf_type *t,
					    const char *name)
{
	const struct btf_member *m, *found = NULL;

	if (btf_is_typedef(t))
		t = btf__type_by_id(btf, t->type);
	if (!btf_is_composite(t))
		return NULL;
	m = btf_members(t);
	for (int i = 0; !found && i < btf_vlen(t); i++) {
		if (strcmp(btf__name_by_offset(btf, m[i].name_off), name) == 0)
			found = &m[i];
		else if (m[i].name_off == 0)
			found = find_member(btf, btf__type_by_id(btf, m[i].type), name);
	}
	return found;
}

/* Several types may have one name. Returns how many have the member, and so were changed. */
static int bend(const struct btf *btf, const char *type, const char *member,
		const struct change *change, uint8_t *copy)
{
	uint32_t size;
	const uint8_t *raw = btf__raw_data(btf, &size);
	int n = 0;

	for (uint32_t id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);
		const struct btf_member *m;
		struct btf_member *bent;

		if (strcmp(btf__name_by_offset(btf, t->name_off), type) != 0)
			continue;
		m = find_member(btf, t, member);
		if (!m)
			continue;
		bent = (void *)(copy + ((const uint8_t *)m - raw));
		if (change->name)
			bent->name_off = change->name;
		if (change->type)
			bent->type = change->type;
		if (change->at)
			bent->offset = change->at->offset;
		n++;
	}
	return n;
}

/* Parses the words of the command line. */
static int read_change(const struct btf *btf, int argc, char **argv, struct change *ret)
{
	int id = btf__find_by_name(btf, argv[1]);

	if (id < 0)
		return id;
	*ret = (struct change){ 0 };
	if (argc == 3) {
		/* An existing name, but not that of a member. */
		ret->name = btf__type_by_id(btf, (uint32_t)id)->name_off;
	} else if (strcmp(argv[3], "as") == 0) {
		int to = btf__find_by_name(btf, argv[4]);

		if (to < 0)
			return to;
		ret->type = (uint32_t)to;
	} else {
		ret->at = find_member(btf, btf__type_by_id(btf, (uint32_t)id), argv[4]);
		if (!ret->at)
			return -ENOENT;
	}
	return 0;
}

int main(int argc, char **argv)
{
	_cleanup_(btf__freep) struct btf *btf = btf__load_vmlinux_btf();
	_cleanup_free_ uint8_t *copy = NULL;
	struct change change;
	const void *raw;
	uint32_t size;

	if ((argc != 3 && argc != 5) || !btf) {
		fputs("usage: bend_btf TYPE MEMBER [as TYPE | at MEMBER] >FILE\n", stderr);
		return 2;
	}
	raw = btf__raw_data(btf, &size);
	copy = malloc(size);
	if (!copy)
		return 1;
	memcpy(copy, raw, size);
	if (read_change(btf, argc, argv, &change) < 0 ||
	    bend(btf, argv[1], argv[2], &change, copy) == 0) {
		fprintf(stderr, "bend_btf: %s has no %s\n", argv[1], argv[2]);
		return 1;
	}
	return fwrite(copy, size, 1, stdout) == 1 && fflush(stdout) == 0 ? 0 : 1;
}
