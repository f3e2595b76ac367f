// SPDX-License-Identifier: Apache-2.0
#include "samples/thread_reader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/kernel_types.h"
#include "kernel/permission.h"
#include "kernel/refusal.h"
#include "kernel/session.h"
#include "log/log.h"
#include "dump.skel.h"

/* Of the first read; it doubles. The kernel returns at most 32 KiB at a time. */
#define FIRST_SIZE (64U << 10)

DEFINE_CLEANUP(struct bpf_link *, bpf_link__destroy)

static int open_and_load(struct thread_reader *r, bool kernel, bool hidden, const char *btf,
			 const struct refusal *refusal)
{
	LIBBPF_OPTS(bpf_object_open_opts, open, .btf_custom_path = btf);
	int err = kernel_types_check(btf);

	if (err < 0)
		return err;
	r->bpf = dump_bpf__open_opts(&open);
	if (!r->bpf) {
		err = -errno;
		log_error("cannot open the BPF program: %s", strerror(-err));
		return err;
	}
	r->bpf->rodata->dp_kernel_stacks = kernel;
	r->bpf->rodata->dp_kernel_hidden = hidden;
	r->bpf->rodata->dp_pid_namespace = session_pid_namespace();
	err = dump_bpf__load(r->bpf);
	if (err < 0) {
		err = permission_explain_bpf(err, refusal, btf);
		thread_reader_close(r);
	}
	return err;
}

int thread_reader_open(struct thread_reader *ret, bool kernel, bool hidden, const char *btf)
{
	char place[PATH_MAX];
	struct refusal refusal;
	int err;

	*ret = (struct thread_reader){ 0 };
	refusal_listen(&refusal);
	err = open_and_load(ret, kernel, hidden, kernel_types_place(btf, place), &refusal);
	refusal_listen(NULL);
	return err;
}

void thread_reader_close(struct thread_reader *r)
{
	dump_bpf__destroy(r->bpf);
	r->bpf = NULL;
}

/* Attaches an iterator over what is wanted, or over all threads. */
static int attach(struct thread_reader *r, pid_t pid, pid_t tid, struct bpf_link **ret)
{
	union bpf_iter_link_info info = { 0 };
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &info,
		    .link_info_len = sizeof(info));

	/* Only one of the two may be set. */
	info.task.tid = (uint32_t)tid;
	info.task.pid = tid ? 0 : (uint32_t)pid;
	errno = 0;
	if (!r->meets_all) {
		*ret = bpf_program__attach_iter(r->bpf->progs.dp_dump, &options);
		if (*ret || (errno != EINVAL && errno != E2BIG))
			return *ret ? 0 : -errno;
		r->meets_all = true;
	}
	*ret = bpf_program__attach_iter(r->bpf->progs.dp_dump, NULL);
	return *ret ? 0 : -errno;
}

/* Reads all output; the caller owns it. */
static int read_all(int fd, char **ret, size_t *ret_size)
{
	_cleanup_free_ char *bytes = NULL;
	size_t size = 0, room = 0;
	ssize_t n = 1;

	while (n > 0) {
		if (room - size < FIRST_SIZE) {
			char *more = realloc(bytes, room + (room ? room : FIRST_SIZE));

			if (!more)
				return -ENOMEM;
			bytes = more;
			room += room ? room : FIRST_SIZE;
		}
		n = read(fd, bytes + size, room - size);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n > 0)
			size += (size_t)n;
		else if (n < 0)
			n = 1;
	}
	*ret = steal_ptr(bytes);
	*ret_size = size;
	return 0;
}

int thread_records_read(const char *bytes, size_t size, int (*fn)(void *, const struct dp_thread *),
			void *arg)
{
	size_t at = 0;
	int err = 0;

	while (err == 0 && at < size) {
		const struct dp_thread *t = (const void *)(bytes + at);

		if (size - at < sizeof(*t) || size - at < sizeof(*t) + t->n_kernel * sizeof(__u64))
			return -EBADMSG;
		at += sizeof(*t) + t->n_kernel * sizeof(__u64);
		err = fn(arg, t);
	}
	return err;
}

int thread_reader_read(struct thread_reader *r, pid_t pid, pid_t tid,
		       int (*fn)(void *, const struct dp_thread *), void *arg)
{
	_cleanup_(bpf_link__destroyp) struct bpf_link *link = NULL;
	_cleanup_free_ char *bytes = NULL;
	_cleanup_close_ int fd = -1;
	size_t size = 0;
	int err;

	r->bpf->bss->dp_wanted_process = (uint32_t)pid;
	r->bpf->bss->dp_wanted_thread = (uint32_t)tid;
	err = attach(r, pid, tid, &link);
	if (err < 0)
		return err == -ESRCH ? 0 : err;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		return -errno;
	err = read_all(fd, &bytes, &size);
	return err < 0 ? err : thread_records_read(bytes, size, fn, arg);
}
