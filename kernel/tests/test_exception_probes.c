// SPDX-License-Identifier: Apache-2.0
/* When probes of C++ runtimes are set and removed, with the kernel's part taken by the test. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "kernel/exception_probes.h"
#include "kernel/uprobe_places.h"

/* What was attached: the links' descriptors are of this test. */
static struct attached {
	int link;
	size_t n;
	uint64_t offsets[2], cookies[2];
} attached[8];
static size_t n_attached, n_updates;
static int attach_err;
static bool is_kernel_stuck;
static size_t n_entered;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all of these */

static size_t read_number(const size_t *n)
{
	size_t number;

	pthread_mutex_lock(&lock);
	number = *n;
	pthread_mutex_unlock(&lock);
	return number;
}

static bool is_stuck(void)
{
	bool is;

	pthread_mutex_lock(&lock);
	is = is_kernel_stuck;
	pthread_mutex_unlock(&lock);
	return is;
}

static void set_stuck(bool is)
{
	pthread_mutex_lock(&lock);
	is_kernel_stuck = is;
	pthread_mutex_unlock(&lock);
}

static int note(const struct uprobe_places *places, size_t first, size_t n)
{
	struct attached *a;

	if (attach_err < 0)
		return attach_err;
	pthread_mutex_lock(&lock);
	n_entered++;
	pthread_mutex_unlock(&lock);
	while (is_stuck())
		usleep(1000);
	pthread_mutex_lock(&lock);
	cr_assert_lt(n_attached, ARRAY_SIZE(attached));
	a = &attached[n_attached++];
	pthread_mutex_unlock(&lock);
	cr_assert_eq(access(places->link, F_OK), 0);
	a->n = n;
	memcpy(a->offsets, places->offsets + first, n * sizeof(*a->offsets));
	memcpy(a->cookies, places->cookies + first, n * sizeof(*a->cookies));
	a->link = memfd_create("link", MFD_CLOEXEC);
	return a->link;
}

int __wrap_uprobe_attach_multi(int program, const struct uprobe_places *places, pid_t pid);
int __wrap_uprobe_attach_multi(int program, const struct uprobe_places *places, pid_t pid)
{
	return note(places, 0, places->n);
}

int __wrap_uprobe_attach_one(int program, const struct uprobe_places *places, size_t i, pid_t pid);
int __wrap_uprobe_attach_one(int program, const struct uprobe_places *places, size_t i, pid_t pid)
{
	return note(places, i, 1);
}

int __wrap_bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags);
int __wrap_bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	n_updates++;
	return 0;
}

static struct exception_probes *probes;
static int files[2];

static void begin_as(bool is_multi)
{
	_cleanup_close_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const struct exception_fds fds = { fd, -1, is_multi, fd, fd };

	cr_assert_eq(exception_probes_new(&fds, &probes), 0);
	files[0] = memfd_create("first", MFD_CLOEXEC);
	files[1] = memfd_create("second", MFD_CLOEXEC);
}

static void begin(void)
{
	begin_as(true);
}

static void end(void)
{
	exception_probes_stop(probes);
	exception_probes_drop(probes);
	close(files[0]);
	close(files[1]);
}

TestSuite(exception_probes, .init = begin, .fini = end, .timeout = 60);

static const struct cxx_runtime runtime = {
	.throws = { [CXX_THROW] = { 0x100, 0x1100, 0, DP_RDI + 1, DP_RSI + 1 },
		    [CXX_RETHROW] = { 0x200, 0x1200, 0, DP_RDX + 1, DP_RAX + 1 } },
	.what = { [DP_WHAT_RUNTIME_ERROR] = 0x5020 },
};

static struct exception_probe *set(size_t file, const struct cxx_runtime *of)
{
	struct exception_probe *probe;

	exception_probes_set(probes, files[file], true, "a file", of, &probe);
	return probe;
}

/* A thread of its own sets it while it samples. */
static struct exception_probe *set_now(size_t file)
{
	struct exception_probe *probe = set(file, &runtime);

	cr_assert_eq(exception_probes_start(probes), 0);
	return probe;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void wait_until_closed(int fd)
{
	while (is_open(fd))
		usleep(1000);
}

Test(exception_probes, are_set_when_sampling_begins)
{
	struct exception_probe *probe = set(0, &runtime);

	cr_assert(probe && n_attached == 0);
	cr_assert_eq(n_updates, 4, "two lists, each in two maps");
	cr_assert_eq(exception_probes_start(probes), 0);
	cr_assert(n_attached == 1 && attached[0].n == 2);
	cr_assert(attached[0].offsets[0] == 0x100 && attached[0].offsets[1] == 0x200);
	cr_assert_neq(attached[0].cookies[0], attached[0].cookies[1]);
	exception_probes_stop(probes);
	cr_assert(!is_open(attached[0].link));
	exception_probe_free(probe);
}

Test(exception_probes, are_set_at_once_while_it_samples)
{
	struct exception_probe *probe;

	cr_assert_eq(exception_probes_start(probes), 0);
	probe = set_now(0);
	cr_assert(n_attached == 1 && is_open(attached[0].link));
	exception_probe_free(probe);
	wait_until_closed(attached[0].link);
}

Test(exception_probes, are_set_once_in_a_file)
{
	struct exception_probe *first = set(0, &runtime), *same = set(0, &runtime), *other;

	cr_assert_eq(first, same);
	cr_assert_eq(exception_probes_start(probes), 0);
	other = set_now(1);
	cr_assert(other != first && n_attached == 2);
	cr_assert_eq(n_updates, 4, "equal runtimes share lists");
	cr_assert_eq(attached[0].cookies[0], attached[1].cookies[0]);
	exception_probe_free(first);
	cr_assert(is_open(attached[0].link));
	exception_probe_free(same);
	wait_until_closed(attached[0].link);
	cr_assert(is_open(attached[1].link));
	exception_probe_free(other);
}

Test(exception_probes, are_set_in_a_file_that_now_throws_elsewhere)
{
	struct cxx_runtime moved = runtime;
	struct exception_probe *probe = set(0, &runtime), *second;

	moved.throws[CXX_THROW].offset = 0x104;
	second = set(0, &moved);
	cr_assert_neq(probe, second);
	exception_probe_free(probe);
	exception_probe_free(second);
}

Test(exception_probes, are_one_after_the_other_without_links_for_many)
{
	struct exception_probe *probe;

	end();
	begin_as(false);
	probe = set(0, &runtime);
	cr_assert_eq(exception_probes_start(probes), 0);
	cr_assert(n_attached == 2 && attached[0].n == 1 && attached[1].n == 1);
	cr_assert(attached[0].offsets[0] == 0x100 && attached[1].offsets[0] == 0x200);
	exception_probes_stop(probes);
	cr_assert(!is_open(attached[0].link) && !is_open(attached[1].link));
	exception_probe_free(probe);
}

Test(exception_probes, are_not_set_where_they_cannot_be)
{
	const struct cxx_runtime hidden = { .hides = CXX_HIDES_CXX };
	struct exception_probe *probe;

	cr_assert_eq(exception_probes_start(probes), 0);
	cr_assert_null(set(0, &hidden));
	exception_probes_set(probes, files[0], false, "a file", &runtime, &probe);
	cr_assert_null(probe);
	cr_assert_eq(n_attached, 0);
}

Test(exception_probes, end_the_start_only_for_lack_of_permission)
{
	struct exception_probe *first = set(0, &runtime), *second;

	attach_err = -EBUSY;
	cr_assert_eq(exception_probes_start(probes), 0);
	attach_err = 0;
	second = set_now(1);
	cr_assert_eq(n_attached, 1, "the first file is not tried again");
	exception_probe_free(first);
	exception_probe_free(second);
}

Test(exception_probes, need_permission)
{
	struct exception_probe *probe = set(0, &runtime);

	attach_err = -EPERM;
	cr_assert_eq(exception_probes_start(probes), -EPERM);
	exception_probe_free(probe);
}

/* As the kernel is while a process does not let it have its mappings. */
Test(exception_probes, hold_nobody_up)
{
	struct exception_probe *first, *second;

	set_stuck(true);
	first = set(0, &runtime);
	cr_assert_eq(exception_probes_start(probes), 0, "it does not wait for ever");
	second = set(1, &runtime);
	cr_assert(first && second && read_number(&n_attached) == 0);
	while (read_number(&n_entered) < 2)
		usleep(1000);
	exception_probe_free(second);
	set_stuck(false);
	cr_assert_eq(exception_probes_start(probes), 0);
	cr_assert(n_attached == 2 && (is_open(attached[0].link) || is_open(attached[1].link)));
	exception_probe_free(first);
}

Test(exception_probes, are_removed_if_sampling_has_ended_meanwhile)
{
	struct exception_probe *probe;

	cr_assert_eq(exception_probes_start(probes), 0);
	set_stuck(true);
	probe = set(0, &runtime);
	while (read_number(&n_entered) < 1)
		usleep(1000);
	exception_probes_stop(probes);
	set_stuck(false);
	/* Waits for the thread. */
	cr_assert_eq(exception_probes_start(probes), 0);
	cr_assert(n_attached == 1 && !is_open(attached[0].link));
	exception_probe_free(probe);
}

Test(exception_probes, are_not_set_any_more_when_sampling_has_ended)
{
	struct exception_probe *probe;

	cr_assert_eq(exception_probes_start(probes), 0);
	exception_probes_stop(probes);
	exception_probes_hold(probes);
	exception_probes_drop(probes);
	probe = set(0, &runtime);
	cr_assert_eq(n_attached, 0);
	exception_probe_free(probe);
}
