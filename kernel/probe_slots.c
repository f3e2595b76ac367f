// SPDX-License-Identifier: Apache-2.0
#include "kernel/probe_slots.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/session.h"
#include "kernel/span_places.h"
#include "kernel/uprobe.h"
#include "kernel/uprobe_places.h"
#include "kernel/uprobe_refusal.h"
#include "dwarfprof.skel.h"

struct probe_slots {
	int programs[N_PROBE_USES];
	int probes, rates, arguments, code;
	struct dp_span_places places; /* as `code` has them */
	uint32_t serial;              /* of their ids */
	size_t rate_size;
	bool is_multi;
};

static int duplicate(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int probe_slots_new(const struct session *session, struct probe_slots **ret)
{
	struct probe_slots *s = calloc(1, sizeof(*s));
	const struct dwarfprof_bpf *bpf = session->bpf;
	bool has_all;

	*ret = NULL;
	if (!s)
		return -ENOMEM;
	s->programs[PROBE_IS_SAMPLE] = duplicate(bpf_program__fd(bpf->progs.dp_sample_uprobe));
	s->programs[PROBE_LABELS_SAMPLES] = duplicate(bpf_program__fd(bpf->progs.dp_begin_span));
	s->programs[PROBE_ENDS_CALL] = duplicate(bpf_program__fd(bpf->progs.dp_end_span));
	s->code = duplicate(bpf_map__fd(bpf->maps.dp_span_places));
	s->probes = duplicate(bpf_map__fd(bpf->maps.dp_probes));
	s->rates = duplicate(bpf_map__fd(bpf->maps.dp_probe_rates));
	s->arguments = duplicate(bpf_map__fd(bpf->maps.dp_arguments));
	s->rate_size = bpf_map__value_size(bpf->maps.dp_probe_rates);
	s->is_multi = session->uprobes.is_multi;
	has_all = s->probes >= 0 && s->rates >= 0 && s->arguments >= 0 && s->code >= 0;
	for (size_t i = 0; i < N_PROBE_USES; i++)
		has_all &= s->programs[i] >= 0;
	if (!has_all) {
		probe_slots_free(s);
		return -EMFILE;
	}
	*ret = s;
	return 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

struct probe_slots *probe_slots_free(struct probe_slots *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < N_PROBE_USES; i++)
		close_fd(s->programs[i]);
	close_fd(s->code);
	close_fd(s->probes);
	close_fd(s->rates);
	close_fd(s->arguments);
	free(s);
	return NULL;
}

int probe_slots_set(struct probe_slots *s, uint32_t slot, const struct dp_probe *probe)
{
	_cleanup_free_ void *rate = calloc(1, s->rate_size);

	if (!rate)
		return -ENOMEM;
	if (bpf_map_update_elem(s->rates, &slot, rate, BPF_ANY) < 0 ||
	    bpf_map_update_elem(s->probes, &slot, probe, BPF_ANY) < 0)
		return -errno;
	return 0;
}

int probe_slots_read(const struct probe_slots *s, uint32_t slot, struct dp_probe *ret)
{
	return bpf_map_lookup_elem(s->probes, &slot, ret) < 0 ? -errno : 0;
}

void probe_slots_silence(const struct session *session)
{
	int fd = bpf_map__fd(session->bpf->maps.dp_probes);
	struct dp_probe probe;

	for (uint32_t slot = 0; slot < DP_MAX_PROBES; slot++) {
		if (bpf_map_lookup_elem(fd, &slot, &probe) < 0)
			continue;
		probe.is_over = DP_PROBE_ENDED;
		(void)bpf_map_update_elem(fd, &slot, &probe, BPF_ANY);
	}
}

int probe_slots_set_list(struct probe_slots *s, uint32_t number, const struct dp_arguments *list)
{
	return bpf_map_update_elem(s->arguments, &number, list, BPF_ANY) < 0 ? -errno : 0;
}

static int write_code(const struct probe_slots *s, const struct dp_span_places *places)
{
	const uint32_t zero = 0;

	return bpf_map_update_elem(s->code, &zero, places, BPF_ANY) < 0 ? -errno : 0;
}

/*
 * A sample may be taken while the kernel copies this. What it then sees without an id does not matter; with one,
 * it is complete, as nothing else changes at that time.
 */
int probe_slots_set_code(struct probe_slots *s, uint32_t slot, unsigned int probe, size_t n,
			 struct dp_span_places *code)
{
	struct dp_span_places all = s->places, both;
	int err = span_places_add(&all, s->serial + 1, slot, probe, n, code);

	if (err < 0)
		return err;
	s->serial++;
	span_places_common(&s->places, &all, &both);
	err = write_code(s, &both);
	s->places = all;
	return err < 0 ? err : write_code(s, &all);
}

void probe_slots_drop_code(struct probe_slots *s, uint32_t slot)
{
	span_places_drop(&s->places, slot);
	(void)write_code(s, &s->places);
}

/* The i-th place, unless one link has all. */
static int attach(const struct probe_slots *s, enum probe_use use,
		  const struct uprobe_places *places, size_t i, unsigned int pid)
{
	const int program = s->programs[use];

	return s->is_multi ? uprobe_attach_multi(program, places, (pid_t)pid) :
			     uprobe_attach_one(program, places, i, (pid_t)pid);
}

int probe_slots_attach(struct probe_slots *s, enum probe_use use,
		       const struct uprobe_places *places, const unsigned int *pids, size_t n_pids,
		       struct probe_links *ret)
{
	const size_t n_each = s->is_multi ? 1 : places->n + places->n_more;
	const size_t n = n_pids > 0 ? n_each * n_pids : n_each;
	int err = 0;

	*ret = (struct probe_links){ .fds = calloc(n, sizeof(*ret->fds)) };
	if (!ret->fds)
		return -ENOMEM;
	while (err >= 0 && ret->n < n) {
		err = attach(s, use, places, ret->n % n_each,
			     n_pids > 0 ? pids[ret->n / n_each] : 0);
		if (err >= 0)
			ret->fds[ret->n++] = err;
	}
	if (err >= 0)
		return 0;
	uprobe_explain_refusal(s->programs[use], s->is_multi, places,
			       n_pids > 0 ? pids[ret->n / n_each] : 0, err);
	probe_links_close(ret);
	return err;
}

void probe_links_close(struct probe_links *links)
{
	while (links->n > 0)
		close(links->fds[--links->n]);
	free(links->fds);
	links->fds = NULL;
}
