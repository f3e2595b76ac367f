// SPDX-License-Identifier: Apache-2.0
/* What is opened of a directory before rights are given up. */
#include "cli/recording_list.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"

static char directory[] = "/tmp/dwarfprof-test-XXXXXX";
#define N_NAMES 20
static char names[N_NAMES][32];
static struct recording_list list;

static void begin(void)
{
	cr_assert_not_null(mkdtemp(directory));
	cr_assert_eq(chdir(directory), 0);
	for (size_t i = 0; i < N_NAMES; i++) {
		snprintf(names[i], sizeof(names[i]), "%02zu.dwarfprof", i);
		close(open(names[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	}
	cr_assert_eq(recording_list_read(".", 0, 0, &list), 0);
	cr_assert_eq(list.n, N_NAMES);
}

static void end(void)
{
	recording_list_done(&list);
	for (size_t i = 0; i < N_NAMES; i++)
		unlink(names[i]);
	rmdir(directory);
}

TestSuite(recording_list, .init = begin, .fini = end);

Test(recording_list, is_opened_ahead)
{
	recording_list_open(&list);
	for (size_t i = 0; i < list.n; i++)
		cr_assert(list.of[i].fd >= 0 && !list.of[i].is_one_too_many);
	cr_assert_eq(fcntl(list.of[0].fd, F_GETFL) & (O_PATH | O_ACCMODE), O_RDONLY);
}

Test(recording_list, leaves_most_descriptors_to_others)
{
	const struct rlimit limit = { 19 * RECORDING_LIST_SHARE, 19 * RECORDING_LIST_SHARE };

	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	recording_list_open(&list);
	for (size_t i = 0; i < list.n; i++)
		cr_assert(list.of[i].fd >= 0 ? i < 19 : i == 19, "%zu", i);
	cr_assert(!list.of[18].is_one_too_many && list.of[19].is_one_too_many);
}

/* A pipe, as also a device, would notice that it is opened. */
Test(recording_list, does_not_open_what_has_taken_the_place_of_a_recording)
{
	_cleanup_close_ int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char event[1024];

	unlink(names[1]);
	cr_assert_eq(mkfifo(names[1], 0600), 0);
	cr_assert_geq(inotify_add_watch(watch, names[1], IN_OPEN), 0);
	recording_list_open(&list);
	cr_assert(list.of[0].fd >= 0 && list.of[1].fd < 0 && list.of[2].fd >= 0);
	cr_assert_lt(read(watch, event, sizeof(event)), 0, "it has been opened");
}
