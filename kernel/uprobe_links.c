// SPDX-License-Identifier: Apache-2.0
#include "kernel/uprobe_links.h"

#include <bpf/libbpf.h>
#include <errno.h>

#include "base/array.h"
#include "kernel/removal.h"
#include "kernel/uprobe.h"
#include "kernel/uprobe_places.h"
#include "kernel/uprobe_refusal.h"
#include "log/clock.h"
#include "log/log.h"

/* From then on, it takes long. */
#define TELL_AFTER_NS UINT64_C(1000000000)

static int keep_link(struct uprobe_links *l, struct bpf_link *link)
{
	if (!link)
		return -errno;
	if (array_reserve(l->links, l->n_links, l->links_size) < 0) {
		bpf_link__destroy(link);
		return -ENOMEM;
	}
	l->links[l->n_links++] = link;
	return 0;
}

static int attach_each(struct uprobe_links *l, const struct bpf_program *program,
		       const struct uprobe_places *places)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .retprobe = places->are_returns);
	int err = 0;

	for (size_t i = 0; err == 0 && i < places->n; i++) {
		opts.bpf_cookie = places->cookies ? places->cookies[i] : 0;
		opts.ref_ctr_offset = places->counters ? places->counters[i] : 0;
		err = keep_link(l, bpf_program__attach_uprobe_opts(program, -1, places->link,
								   places->offsets[i], &opts));
	}
	return err;
}

static int attach_all(struct uprobe_links *l, const struct bpf_program *program,
		      const struct uprobe_places *places)
{
	int fd = -ENOMEM;

	if (array_reserve(l->fds, l->n_fds, l->fds_size) == 0)
		fd = uprobe_attach_multi(bpf_program__fd(program), places, 0);
	if (fd >= 0)
		l->fds[l->n_fds++] = fd;
	return fd < 0 ? fd : 0;
}

/* Those from the i-th on that are set at once. */
static struct uprobe_places part_of(const struct uprobe_places *places, size_t i)
{
	const size_t left = places->n + places->n_more - i;
	struct uprobe_places part = *places;

	part.offsets += i;
	part.cookies += part.cookies ? i : 0;
	part.counters += part.counters ? i : 0;
	part.n = left < UPROBE_LINKS_AT_ONCE ? left : UPROBE_LINKS_AT_ONCE;
	part.n_more = 0;
	return part;
}

static void tell(uint64_t began_ns, size_t n, size_t all, bool *has_told)
{
	if (n == all || clock_now_ns() - began_ns < TELL_AFTER_NS)
		return;
	if (!*has_told)
		log_info("setting %zu probes takes a while (Ctrl-C ends it): %zu are set", all, n);
	*has_told = true;
	log_progress("%zu of %zu probes are set (Ctrl-C to end)", n, all);
}

int uprobe_links_add(struct uprobe_links *l, const struct bpf_program *program,
		     const struct uprobe_places *places)
{
	const size_t all = places->n + places->n_more;
	const uint64_t began_ns = clock_now_ns();
	bool has_told = false;
	int err = 0;

	for (size_t i = 0; err == 0 && i < all;) {
		const struct uprobe_places part = part_of(places, i);

		if (i > 0 && l->is_interrupted && l->is_interrupted(l->interrupt_arg))
			return -ECANCELED;
		err = l->is_multi ? attach_all(l, program, &part) : attach_each(l, program, &part);
		i += part.n;
		tell(began_ns, i, all, &has_told);
	}
	if (has_told)
		log_progress_clear();
	if (err < 0)
		uprobe_explain_refusal(bpf_program__fd(program), l->is_multi, places, 0, err);
	return err;
}

bool uprobe_links_done(struct uprobe_links *l)
{
	const struct removal_links links = { l->links, l->n_links, l->fds, l->n_fds };

	l->links = NULL;
	l->fds = NULL;
	l->n_links = l->links_size = l->n_fds = l->fds_size = 0;
	return removal_run(&links);
}
