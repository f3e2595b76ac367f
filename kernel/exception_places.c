// SPDX-License-Identifier: Apache-2.0
#include "kernel/exception_places.h"

#include <linux/magic.h>
#include <stdio.h>
#include <sys/vfs.h>

#include "base/file_stat.h"
#include "kernel/uprobe.h"
#include "kernel/uprobe_places.h"

void exception_places_init(struct exception_places *ret, int fd, const struct stat *file)
{
	struct statfs fs;

	*ret = (struct exception_places){ .file = *file };
	ret->is_overlay = fstatfs(fd, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

/*
 * It sets probes in what is below an overlay
 * (d_real_inode(), kernel/events/uprobes.c and kernel/trace/bpf_trace.c), and several containers
 * may show the same there, on a device of each, but with its inode and times
 * (Documentation/filesystems/overlayfs.rst, "Inode properties").
 */
bool exception_places_share_file(const struct exception_places *a, const struct exception_places *b)
{
	const struct stat *x = &a->file, *y = &b->file;

	if (x->st_ino != y->st_ino)
		return false;
	return x->st_dev == y->st_dev ||
	       ((a->is_overlay || b->is_overlay) && x->st_size == y->st_size &&
		file_time_is_same(&x->st_mtim, &y->st_mtim) &&
		file_time_is_same(&x->st_ctim, &y->st_ctim));
}

/* Fills links, as many as there are places. 0 or a negative errno. */
static int attach_places(const struct exception_fds *fds, int program,
			 const struct uprobe_places *places, int *links)
{
	for (size_t i = 0; i < places->n && (i == 0 || !fds->is_multi); i++) {
		int link = fds->is_multi ? uprobe_attach_multi(program, places, 0) :
					   uprobe_attach_one(program, places, i, 0);

		if (link < 0)
			return link;
		links[i] = link;
	}
	return 0;
}

/* A call whose begin is seen must be seen to return. */
int exception_places_attach(const struct exception_places *p, const struct exception_fds *fds,
			    int fd, int links[EXCEPTION_LINKS])
{
	uint64_t offsets[ALLOCATOR_PLACES], counters[ALLOCATOR_PLACES], cookies[ALLOCATOR_PLACES];
	struct uprobe_places places = UPROBE_PLACES_NONE;
	size_t n_begins = p->n - p->n_exits;
	int err;

	snprintf(places.link, sizeof(places.link), "/proc/self/fd/%d", fd);
	places.offsets = (uint64_t *)p->offsets;
	places.counters = (uint64_t *)p->counters;
	places.cookies = (uint64_t *)p->cookies;
	places.n = p->n_returns;
	places.are_returns = true;
	err = attach_places(fds, fds->returns, &places, links + ALLOCATOR_PLACES);
	places.offsets += n_begins;
	places.counters += n_begins;
	places.cookies += n_begins;
	places.n = p->n_exits;
	places.are_returns = false;
	if (err == 0)
		err = attach_places(fds, fds->returns, &places, links + n_begins);
	if (err < 0)
		return err;
	/* Of an allocator backwards: what is given back is seen sooner than what is allocated. */
	for (size_t i = 0; i < n_begins; i++) {
		size_t from = fds->returns >= 0 ? n_begins - 1 - i : i;

		offsets[i] = p->offsets[from];
		counters[i] = p->counters[from];
		cookies[i] = p->cookies[from];
	}
	places.offsets = offsets;
	places.counters = counters;
	places.cookies = cookies;
	places.n = n_begins;
	return attach_places(fds, fds->program, &places, links);
}
