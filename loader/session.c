// SPDX-License-Identifier: Apache-2.0
#include "session.h"

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
#include "dwarfprof.skel.h"
#include "event.h"
#include "log.h"
#include "permission.h"

#define SEGMENT_MAP_SIZE (DP_SEGMENT_SIZE + DP_SEGMENT_SLACK)

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	_cleanup_free_ char *text = NULL;

	if (!log_enabled(LOG_DEBUG) || level == LIBBPF_DEBUG)
		return 0;
	/* The verifier's log is one message of thousands of lines. */
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	else
		log_lines(LOG_DEBUG, text);
	return 0;
}

/*
 * Put n maps into a map of maps, in one go: the kernel waits for a grace
 * period, some 10 ms, after each update of such a map, but since 6.8 only once
 * after a batch. Kernels before 5.19 know no batches of maps.
 */
static int outer_update(const struct bpf_map *outer, const uint32_t *keys, const int *fds,
			uint32_t n)
{
	int fd = bpf_map__fd(outer);
	uint32_t done = n;

	if (bpf_map_update_batch(fd, keys, fds, &done, NULL) == 0)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		if (bpf_map_update_elem(fd, &keys[i], &fds[i], BPF_ANY) < 0)
			return -errno;
	return 0;
}

/* Put the segments that were made where the programs look. */
static int show_segments(struct session *s)
{
	int err;

	if (s->n_made == 0)
		return 0;
	err = outer_update(s->bpf->maps.dp_pool, s->made, s->made_fds, s->n_made);
	if (err < 0)
		return err;
	while (s->n_made > 0)
		close(s->made_fds[--s->n_made]);
	return 0;
}

/* Make a map for segment number `index`; show_segments() puts it in its place. */
static int make_segment(struct session *s, uint32_t index, uint8_t **ret)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	_cleanup_close_ int fd = -1;
	void *memory;
	int err = s->n_made < SESSION_MADE ? 0 : show_segments(s);

	if (err < 0)
		return err;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "dp_segment", sizeof(uint32_t), SEGMENT_MAP_SIZE, 1,
			    &opts);
	if (fd < 0)
		return -errno;
	memory = mmap(NULL, SEGMENT_MAP_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	s->made[s->n_made] = index;
	s->made_fds[s->n_made++] = steal_fd(&fd);
	*ret = memory;
	return 0;
}

/* The pool grows by a segment. The programs see a new one when something in it is published. */
static int add_segment(void *arg, uint32_t index, uint8_t **ret)
{
	struct session *s = arg;

	if (index >= s->n_first)
		return make_segment(s, index, ret);
	*ret = s->first[index];
	return 0;
}

/* What most processes need, so that no table of theirs has to wait for a grace period. */
static int make_first_segments(struct session *s)
{
	int err = 0;

	while (err == 0 && s->n_first < SESSION_FIRST && s->n_first < s->pool.max_segments) {
		err = make_segment(s, s->n_first, &s->first[s->n_first]);
		if (err == 0)
			s->n_first++;
	}
	return err < 0 ? err : show_segments(s);
}

static int make_rings(struct session *s, size_t size)
{
	_cleanup_free_ uint32_t *cpus = calloc(s->n_cpus, sizeof(*cpus));
	uint32_t n = s->n_cpus;

	s->ring_fds = malloc(s->n_cpus * sizeof(*s->ring_fds));
	if (!s->ring_fds || !cpus)
		return -ENOMEM;
	memset(s->ring_fds, -1, s->n_cpus * sizeof(*s->ring_fds));
	for (unsigned int cpu = 0; cpu < s->n_cpus; cpu++) {
		int fd =
			bpf_map_create(BPF_MAP_TYPE_RINGBUF, "dp_ring", 0, 0, (uint32_t)size, NULL);

		if (fd < 0)
			return -errno;
		cpus[cpu] = cpu;
		s->ring_fds[cpu] = fd;
	}
	return outer_update(s->bpf->maps.dp_rings, cpus, s->ring_fds, n);
}

/* PROC_PID_INIT_INO, include/linux/proc_ns.h */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFC

/* Count processes as this one does, also in a container. */
static void set_pid_namespace(struct dwarfprof_bpf *bpf)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) < 0 || st.st_ino == INITIAL_PID_NAMESPACE)
		return;
	bpf->rodata->dp_pid_namespace = (uint32_t)st.st_ino;
}

static void set_options(struct dwarfprof_bpf *bpf, const struct session_options *options)
{
	unsigned int n_cpus = options->n_cpus;
	unsigned int levels = options->uprobe ? DP_UPROBE_LEVELS : DP_CPU_LEVELS;

	bpf->rodata->dp_all_processes = options->all_processes;
	bpf->rodata->dp_unwind = options->unwind;
	bpf->rodata->dp_max_frames = options->max_frames;
	bpf->rodata->dp_levels = levels;
	set_pid_namespace(bpf);
	bpf_map__set_max_entries(bpf->maps.dp_rings, n_cpus);
	bpf_map__set_max_entries(bpf->maps.dp_losses, n_cpus);
	bpf_map__set_max_entries(bpf->maps.dp_scratch, n_cpus * levels);
	bpf_program__set_autoload(bpf->progs.dp_sample_cpu, !options->uprobe);
	bpf_program__set_autoload(bpf->progs.dp_sample_uprobe, options->uprobe);
}

int session_open(struct session *ret, const struct session_options *options)
{
	struct session *s = ret;
	int err;

	*s = (struct session){ .n_cpus = options->n_cpus };
	libbpf_set_print(print_libbpf);
	pool_init(&s->pool, add_segment, s);
	s->pool.max_segments = options->table_memory / DP_SEGMENT_SIZE;

	s->bpf = dwarfprof_bpf__open();
	if (!s->bpf) {
		err = -errno;
		log_error("cannot open the BPF programs: %s", strerror(-err));
		return err;
	}
	set_options(s->bpf, options);
	err = dwarfprof_bpf__load(s->bpf);
	if (err < 0) {
		err = permission_explain_bpf(err);
		session_close(s);
		return err;
	}
	err = make_rings(s, options->ring_size);
	if (err < 0)
		log_error("cannot make the ring buffers: %s", strerror(-err));
	if (err == 0) {
		err = make_first_segments(s);
		if (err < 0)
			log_error("cannot make room for tables: %s", strerror(-err));
	}
	if (err < 0)
		session_close(s);
	return err;
}

void session_close(struct session *s)
{
	session_stop(s);
	free(s->links);
	ring_buffer__free(s->rings);
	for (unsigned int i = 0; s->ring_fds && i < s->n_cpus; i++)
		if (s->ring_fds[i] >= 0)
			close(s->ring_fds[i]);
	free(s->ring_fds);
	free(s->readers);
	while (s->n_made > 0)
		close(s->made_fds[--s->n_made]);
	for (size_t i = s->pool.n_segments; i < s->n_first; i++)
		munmap(s->first[i], SEGMENT_MAP_SIZE);
	for (size_t i = 0; i < s->pool.n_segments; i++)
		munmap(s->pool.segments[i], SEGMENT_MAP_SIZE);
	pool_done(&s->pool);
	dwarfprof_bpf__destroy(s->bpf);
	*s = (struct session){ 0 };
}

int session_publish(struct session *s, pid_t pid, uint32_t cell)
{
	int fd = bpf_map__fd(s->bpf->maps.dp_processes), err;

	if (cell == 0)
		return bpf_map_delete_elem(fd, &pid) < 0 && errno != ENOENT ? -errno : 0;
	err = show_segments(s);
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

static int reader_call(void *arg, void *data, size_t size)
{
	struct ring_reader *r = arg;

	return r->fn(r->arg, r->cpu, data, size);
}

int session_read_rings(struct session *s, int (*fn)(void *, unsigned int, const void *, size_t),
		       void *arg)
{
	s->readers = calloc(s->n_cpus, sizeof(*s->readers));
	if (!s->readers)
		return -ENOMEM;
	for (unsigned int cpu = 0; cpu < s->n_cpus; cpu++) {
		struct ring_reader *r = &s->readers[cpu];
		int err = 0;

		*r = (struct ring_reader){ fn, arg, cpu };
		if (!s->rings)
			s->rings = ring_buffer__new(s->ring_fds[cpu], reader_call, r, NULL);
		else
			err = ring_buffer__add(s->rings, s->ring_fds[cpu], reader_call, r);
		if (!s->rings || err < 0)
			return err < 0 ? err : -errno;
	}
	return 0;
}

int session_rings_fd(const struct session *s)
{
	return ring_buffer__epoll_fd(s->rings);
}

int session_consume(struct session *s)
{
	int n = ring_buffer__consume(s->rings);

	return n < 0 ? n : 0;
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

static bool lacks_hardware(int err)
{
	return err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV;
}

/* Open the event on every CPU that is online, into fds; then attach, which enables. */
static int sample_cpus(struct session *s, unsigned int hz, bool hardware)
{
	_cleanup_free_ int *fds = calloc(s->n_cpus, sizeof(*fds));
	size_t n = 0;
	int err = 0;

	if (!fds)
		return -ENOMEM;
	for (unsigned int cpu = 0; err == 0 && cpu < s->n_cpus; cpu++) {
		int fd = event_open_sampling(cpu, hz, hardware);

		if (fd >= 0)
			fds[n++] = fd;
		else if (fd != -ENODEV)
			err = fd;
	}
	if (err == 0 && n == 0)
		err = -ENODEV;
	for (size_t i = 0; i < n; i++) {
		struct bpf_link *link = NULL;

		if (err == 0) {
			link = bpf_program__attach_perf_event(s->bpf->progs.dp_sample_cpu, fds[i]);
			err = link_add(s, link);
		}
		if (!link) /* else the link owns the descriptor */
			close(fds[i]);
	}
	return err;
}

int session_sample_cpus(struct session *s, unsigned int hz, const char **ret_event)
{
	int err = sample_cpus(s, hz, true);

	*ret_event = "cycles";
	if (lacks_hardware(err)) {
		*ret_event = "cpu-clock";
		err = sample_cpus(s, hz, false);
	}
	if (err < 0)
		permission_explain_perf("the sampling event", err);
	return err;
}

int session_sample_uprobe(struct session *s, const char *path, const char *symbol)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .func_name = symbol);
	int err = link_add(s, bpf_program__attach_uprobe_opts(s->bpf->progs.dp_sample_uprobe, -1,
							      path, 0, &opts));

	if (err < 0)
		permission_explain_uprobe(path, symbol, err);
	return err;
}

void session_stop(struct session *s)
{
	for (size_t i = 0; i < s->n_links; i++)
		bpf_link__destroy(s->links[i]);
	s->n_links = 0;
}

uint64_t session_losses(const struct session *s)
{
	uint64_t total = 0;

	for (unsigned int cpu = 0; cpu < s->n_cpus; cpu++) {
		struct dp_losses losses;

		if (bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.dp_losses), &cpu, &losses) == 0)
			total += losses.full + losses.busy;
	}
	return total;
}
