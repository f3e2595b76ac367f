// SPDX-License-Identifier: Apache-2.0
#include "kernel/session.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "kernel/exception_probes.h"
#include "kernel/filter.h"
#include "kernel/kernel_types.h"
#include "kernel/knobs.h"
#include "kernel/outer_map.h"
#include "kernel/permission.h"
#include "kernel/refusal.h"
#include "kernel/removal.h"
#include "kernel/ring_size.h"
#include "kernel/segments.h"
#include "kernel/uprobe.h"
#include "kernel/uprobe_places.h"
#include "log/log.h"
#include "symbols/kallsyms.h"
#include "dwarfprof.skel.h"

static int make_rings(struct session *s, struct outer_map *ret)
{
	uint32_t n = s->n_rings;
	uint32_t size = (uint32_t)ring_size(n);

	s->ring_fds = malloc(n * sizeof(*s->ring_fds));
	if (!s->ring_fds)
		return -ENOMEM;
	memset(s->ring_fds, -1, n * sizeof(*s->ring_fds));
	for (uint32_t i = 0; i < n; i++) {
		s->ring_fds[i] = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "dp_ring", 0, 0, size, NULL);
		if (s->ring_fds[i] < 0)
			return -errno;
	}
	return outer_map_begin(ret, s->bpf->maps.dp_rings, s->ring_fds, n);
}

uint32_t session_pid_namespace(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) < 0 || st.st_ino == INITIAL_PID_NAMESPACE)
		return 0;
	return (uint32_t)st.st_ino;
}

static int set_cgroup(const struct session *s)
{
	uint32_t key = 0;
	int err = 0;

	if (s->filter->cgroup && bpf_map_update_elem(bpf_map__fd(s->bpf->maps.dp_cgroup), &key,
						     &s->filter->cgroup_fd, BPF_ANY) < 0)
		err = -errno;
	if (err < 0)
		log_error("cannot sample the cgroup %s: %s", s->filter->cgroup, strerror(-err));
	return err;
}

/*
 * A program is loaded for one way of attaching. Prefer the one that needs fewer permissions, but probes that are
 * added may be those of a process.
 */
static void choose_uprobe(struct session *s, const struct session_needs *needs)
{
	const bool is_multi =
		uprobe_multi_works() > 0 && (!needs->has_slots || uprobe_multi_knows_processes());
	const int type = is_multi ? UPROBE_MULTI : 0;

	s->uprobes.is_multi = is_multi;
	bpf_program__set_expected_attach_type(s->bpf->progs.dp_sample_uprobe, type);
	bpf_program__set_expected_attach_type(s->bpf->progs.dp_begin_span, type);
	bpf_program__set_expected_attach_type(s->bpf->progs.dp_end_span, type);
	bpf_program__set_expected_attach_type(s->bpf->progs.dp_begin_alloc, type);
	bpf_program__set_expected_attach_type(s->bpf->progs.dp_end_alloc, type);
}

/*
 * Loads the programs while the kernel inserts the inner maps. Without permission to load programs,
 * some maps cannot be created either; then only the programs are explained.
 */
static int load(struct session *s, const struct refusal *refusal, const char *btf)
{
	struct outer_map rings, segments;
	int rings_err = make_rings(s, &rings);
	int segments_err = segments_make_first(s, &segments);
	int err = dwarfprof_bpf__load(s->bpf);

	if (rings_err == 0)
		rings_err = outer_map_wait(&rings);
	if (segments_err == 0)
		segments_err = outer_map_wait(&segments);
	segments_close_made(s);
	if (err < 0 && !refusal_program(refusal) && tracer_explain_load(&s->tracer, err))
		return -EOPNOTSUPP;
	if (err < 0)
		return permission_explain_bpf(err, refusal, btf);
	if (rings_err < 0)
		log_error("cannot make the ring buffers: %s", strerror(-rings_err));
	else if (segments_err < 0)
		log_error("cannot make room for tables: %s", strerror(-segments_err));
	return rings_err < 0 ? rings_err : segments_err;
}

static int make_file_probes(struct session *s, bool are_allocs)
{
	const struct exception_fds fds = {
		.program = bpf_program__fd(are_allocs ? s->bpf->progs.dp_begin_alloc :
							s->bpf->progs.dp_sample_uprobe),
		.returns = are_allocs ? bpf_program__fd(s->bpf->progs.dp_end_alloc) : -1,
		.is_multi = s->uprobes.is_multi,
		.arguments = bpf_map__fd(s->bpf->maps.dp_arguments),
		.whats = bpf_map__fd(s->bpf->maps.dp_whats),
	};
	int err = exception_probes_new(&fds, &s->exceptions);

	if (err < 0)
		log_error("cannot prepare probes of files: %s", strerror(-err));
	return err;
}

void session_init(struct session *ret, const struct session_options *options)
{
	*ret = (struct session){
		.n_cpus = options->n_cpus,
		.n_rings = options->n_cpus * options->needs.rings_per_cpu,
		.filter = options->filter,
		.min_block_ns = options->min_block_ns,
		.max_block_ns = options->max_block_ns,
		.tracer = TRACER_NONE,
		.counts_missed = options->all_processes && !filter_is_set(options->filter),
		.rings.epoll_fd = -1,
		.uprobes.is_interrupted = options->is_interrupted,
		.uprobes.interrupt_arg = options->interrupt_arg,
	};
	pool_init(&ret->pool, segments_add, ret);
	ret->pool.max_segments = options->table_memory / DP_SEGMENT_SIZE;
}

static int link_add(struct session *s, struct bpf_link *link)
{
	if (!link)
		return -errno;
	if (array_reserve(s->links, s->n_links, s->links_size) < 0) {
		bpf_link__destroy(link);
		return -ENOMEM;
	}
	s->links[s->n_links++] = link;
	return 0;
}

static int attach_if_loaded(struct session *s, struct bpf_program *program)
{
	return bpf_program__autoload(program) ? link_add(s, bpf_program__attach(program)) : 0;
}

/* From the start: what labels samples may be added meanwhile. */
static int follow_processes(struct session *s)
{
	int err = attach_if_loaded(s, s->bpf->progs.dp_fork_span);

	if (err == 0)
		err = attach_if_loaded(s, s->bpf->progs.dp_exec_span);
	if (err < 0)
		permission_explain_perf("what processes start", err, 0);
	return err;
}

static int open_and_load(struct session *s, const struct session_options *options,
			 const struct refusal *refusal)
{
	LIBBPF_OPTS(bpf_object_open_opts, open, .btf_custom_path = options->btf);
	bool has_allocs = options->needs.programs & 1U << DP_EVENT_ALLOC;
	int err = kernel_types_check(options->btf);

	if (err < 0)
		return err;
	s->bpf = dwarfprof_bpf__open_opts(&open);
	if (!s->bpf) {
		err = -errno;
		log_error("cannot open the BPF programs: %s", strerror(-err));
		return err;
	}
	knobs_set(s->bpf, options);
	if (options->needs.programs & (1U << DP_EVENT_UPROBE | 1U << DP_EVENT_ALLOC) ||
	    options->needs.label_probes > 0)
		choose_uprobe(s, &options->needs);
	if (options->needs.programs & 1U << DP_EVENT_TRACE)
		err = tracer_prepare(&s->tracer, s->bpf->progs.dp_sample_trace,
				     options->needs.tracer, options->needs.function,
				     options->needs.has_several);
	if (err == 0)
		err = load(s, refusal, options->btf);
	if (err == 0 && s->bpf->rodata->dp_kernel_hidden)
		permission_explain_kernel();
	if (err == 0)
		err = set_cgroup(s);
	if (err == 0 && (options->needs.has_exceptions || has_allocs))
		err = make_file_probes(s, has_allocs);
	return err < 0 ? err : follow_processes(s);
}

int session_load(struct session *s, const struct session_options *options)
{
	struct session_options placed = *options;
	char place[PATH_MAX];
	struct refusal refusal;
	int err;

	refusal_listen(&refusal);
	placed.btf = kernel_types_place(options->btf, place);
	err = open_and_load(s, &placed, &refusal);
	refusal_listen(NULL);
	if (err < 0)
		session_close(s);
	return err;
}

int session_open(struct session *ret, const struct session_options *options)
{
	session_init(ret, options);
	return session_load(ret, options);
}

void session_close(struct session *s)
{
	session_stop(s);
	probed_files_done(&s->probed);
	exception_probes_drop(s->exceptions);
	rings_done(&s->rings);
	for (unsigned int i = 0; s->ring_fds && i < s->n_rings; i++)
		if (s->ring_fds[i] >= 0)
			close(s->ring_fds[i]);
	free(s->ring_fds);
	segments_close_made(s);
	for (size_t i = s->pool.n_segments; i < s->n_first; i++)
		munmap(s->first[i], SEGMENT_MAP_SIZE);
	for (size_t i = 0; i < s->pool.n_segments; i++)
		munmap(s->pool.segments[i], SEGMENT_MAP_SIZE);
	pool_done(&s->pool);
	tracer_done(&s->tracer);
	dwarfprof_bpf__destroy(s->bpf);
	*s = (struct session){ .tracer = TRACER_NONE, .rings.epoll_fd = -1 };
}

int session_publish(struct session *s, pid_t pid, uint32_t cell)
{
	int fd = bpf_map__fd(s->bpf->maps.dp_processes), err;

	if (cell == 0)
		return bpf_map_delete_elem(fd, &pid) < 0 && errno != ENOENT ? -errno : 0;
	err = segments_show(s);
	if (err < 0)
		return err;
	if (bpf_map_update_elem(fd, &pid, &cell, BPF_ANY) == 0)
		return 0;
	if (errno != E2BIG)
		return -errno;
	if (!s->is_full)
		log_warning("more than %u processes: the stacks of some are walked in user space",
			    bpf_map__max_entries(s->bpf->maps.dp_processes));
	s->is_full = true;
	return 0;
}

int session_add_thread(struct session *s, pid_t tid)
{
	uint8_t wanted = 1;

	return bpf_map_update_elem(bpf_map__fd(s->bpf->maps.dp_threads), &tid, &wanted, BPF_ANY) <
			       0 ?
		       -errno :
		       0;
}

void session_drop_thread(struct session *s, pid_t tid)
{
	bpf_map_delete_elem(bpf_map__fd(s->bpf->maps.dp_threads), &tid);
}

/* If this fails, user space rejects the name again when it is next seen. */
void session_drop_comm(struct session *s, const char comm[DP_COMM_SIZE])
{
	uint8_t dropped = 1;

	bpf_map_update_elem(bpf_map__fd(s->bpf->maps.dp_other_comms), comm, &dropped, BPF_ANY);
}

int session_read_rings(struct session *s, ring_fn fn, void *arg)
{
	return rings_init(&s->rings, s->ring_fds, s->n_rings, s->n_cpus, fn, arg);
}

int session_rings_fd(const struct session *s)
{
	return s->rings.epoll_fd;
}

int session_consume(struct session *s)
{
	return rings_read(&s->rings);
}

int session_sample_cpus(struct session *s, unsigned int hz, const char **ret_event,
			char ret_why[EVENT_WHY_SIZE])
{
	return cpu_events_start_time(&s->cpus, s->bpf->progs.dp_sample_cpu, s->filter, s->n_cpus,
				     hz, ret_event, ret_why);
}

uint64_t session_tick_ns(const struct session *s)
{
	return cpu_events_tick_ns(&s->cpus);
}

int session_sample_events(struct session *s, const struct event_kind *kinds,
			  const char *const *names, size_t n)
{
	return cpu_events_start(&s->cpus, s->bpf->progs.dp_sample_cpu, s->filter, s->n_cpus, kinds,
				names, n);
}

/* As session_sample_uprobe(), for a program. */
static int add_uprobes(struct session *s, struct bpf_program *program,
		       const struct uprobe_places *places)
{
	int err = probed_files_add(&s->probed, places, true);

	return err < 0 ? err : uprobe_links_add(&s->uprobes, program, places);
}

int session_sample_uprobe(struct session *s, const struct uprobe_places *places)
{
	return add_uprobes(s, s->bpf->progs.dp_sample_uprobe, places);
}

int session_time_calls(struct session *s, const struct uprobe_places *places)
{
	_cleanup_free_ uint64_t *cookies = calloc(places->n, sizeof(*cookies));
	struct uprobe_places begins = *places;

	if (!cookies)
		return -ENOMEM;
	for (size_t i = 0; i < places->n; i++)
		cookies[i] = DP_COOKIE_BEGINS;
	begins.cookies = cookies;
	begins.are_returns = false;
	return uprobe_links_add(&s->uprobes, s->bpf->progs.dp_sample_uprobe, &begins);
}

int session_label_calls(struct session *s, const struct uprobe_places *places,
			const struct dp_span_places *code)
{
	const uint32_t zero = 0;

	if (bpf_map_update_elem(bpf_map__fd(s->bpf->maps.dp_span_places), &zero, code, BPF_ANY) < 0)
		return -errno;
	return add_uprobes(s, s->bpf->progs.dp_begin_span, places);
}

int session_end_calls(struct session *s, const struct uprobe_places *exits)
{
	return uprobe_links_add(&s->uprobes, s->bpf->progs.dp_end_span, exits);
}

int session_set_arguments(struct session *s, const struct dp_arguments *lists, size_t n)
{
	int err = n > DP_MAX_ARGUMENT_LISTS ? -E2BIG : 0;

	for (uint32_t i = 0; err == 0 && i < n; i++)
		if (bpf_map_update_elem(bpf_map__fd(s->bpf->maps.dp_arguments), &i, &lists[i],
					BPF_ANY) < 0)
			err = -errno;
	return err;
}

int session_sample_perf(struct session *s, int fd)
{
	_cleanup_close_ int event = fd;
	int err = link_add(s, bpf_program__attach_perf_event(s->bpf->progs.dp_sample_cpu, event));

	if (err == 0)
		steal_fd(&event); /* the link closes it */
	return err;
}

int session_sample_exceptions(struct session *s)
{
	return exception_probes_start(s->exceptions);
}

int session_sample_allocs(struct session *s)
{
	return exception_probes_start(s->exceptions);
}

int session_sample_trace(struct session *s, const struct tracer_place *place, unsigned int number)
{
	struct bpf_link *link;
	int err = tracer_attach(&s->tracer, place, number, &link);

	return err < 0 ? err : link_add(s, link);
}

int session_sample_off_cpu(struct session *s)
{
	int err = link_add(s, bpf_program__attach(s->bpf->progs.dp_switch));

	if (err < 0)
		permission_explain_perf("the switches of threads", err, 0);
	return err;
}

int session_sample_crashes(struct session *s)
{
	int err = link_add(s, bpf_program__attach(s->bpf->progs.dp_crash));

	if (err < 0)
		permission_explain_perf("the signals of processes", err, 0);
	return err;
}

static void remove_links(struct session *s)
{
	const struct removal_links links = { .links = s->links, .n_links = s->n_links };
	bool are_removed;

	s->links = NULL;
	s->n_links = s->links_size = 0;
	are_removed = removal_run(&links);
	if (!uprobe_links_done(&s->uprobes) || !are_removed)
		log_warning("probes are still being removed: the kernel waits for processes");
}

void session_stop(struct session *s)
{
	cpu_events_stop(&s->cpus);
	exception_probes_stop(s->exceptions);
	tracer_tell(&s->tracer);
	remove_links(s);
}

void session_losses(const struct session *s, struct session_losses *ret)
{
	*ret = (struct session_losses){
		.missed = s->counts_missed ? tracer_missed(&s->tracer) : 0,
		.unreadable = s->rings.n_refused,
	};
	for (unsigned int cpu = 0; cpu < s->n_cpus; cpu++) {
		struct dp_losses losses = { 0 };

		bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.dp_losses), &cpu, &losses);
		ret->full += losses.samples[DP_LOST_FULL];
		ret->nested += losses.samples[DP_LOST_BUSY];
		ret->untracked += losses.samples[DP_LOST_UNTRACKED];
		ret->time_ns += losses.time_ns;
	}
}

int session_each_held(const struct session *s, int (*fn)(void *arg, const struct dp_held *held),
		      void *arg)
{
	int fd = bpf_map__fd(s->bpf->maps.dp_held), err = 0;
	struct dp_held_key key, *last = NULL;

	/* Behind a key that has gone meanwhile comes the first one again. */
	for (size_t i = 0; err == 0 && i < DP_MAX_HELD; i++) {
		struct dp_held held;

		if (bpf_map_get_next_key(fd, last, &key) < 0)
			break;
		last = &key;
		if (bpf_map_lookup_elem(fd, &key, &held) == 0)
			err = fn(arg, &held);
	}
	return err;
}

uint64_t session_held_full(const struct session *s)
{
	struct dp_alloc_counts counts = { 0 };
	const uint32_t zero = 0;

	(void)bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.dp_alloc_counts), &zero, &counts);
	return counts.n_full;
}
