// SPDX-License-Identifier: Apache-2.0
/* Mappings for libdwfl's thread: what they take, and when they and their binaries are let go. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "samples/verify_maps.h"

#define SECOND UINT64_C(1000000000)

static struct verify_maps_store store;
static struct module module, in_memory = { .fd = -1 };
static struct binary binary = { .number = 1, .module = &module },
		     other = { .number = 2, .module = &in_memory };

static void begin(void)
{
	module.fd = open("/proc/self/exe", O_RDONLY);
	cr_assert_geq(module.fd, 0);
	binary.bytes = other.bytes = calloc(1, 5000);
	binary.n_bytes = other.n_bytes = 5000;
}

TestSuite(verify_maps, .init = begin);

/* Of a snapshot with mappings of both binaries, and of none. */
static const struct verify_maps *get(uint64_t id)
{
	static struct mapping mappings[] = {
		{ .start = 0x1000, .end = 0x2000, .binary = &binary },
		{ .start = 0x2000, .end = 0x3000, .binary = &other },
		{ .start = 0x3000, .end = 0x4000 },
	};
	const struct snapshot snapshot = { .id = id, .n_mappings = 3, .mappings = mappings };
	const struct verify_maps *maps = verify_maps_get(&store, &snapshot);

	cr_assert_not_null(maps);
	return maps;
}

static void expect_nothing(void)
{
	cr_assert(store.n_bytes == 0 && store.n_kept == 0);
	cr_assert(!store.maps && !store.files && !store.kept);
	cr_assert(binary.n_users == 0 && other.n_users == 0);
}

Test(verify_maps, are_kept_for_the_next_sample)
{
	const struct verify_maps *maps = get(1);
	uint64_t number = maps->number;
	int fd = maps->mappings[0].file->fd;

	verify_maps_drop(&store, maps, SECOND);
	maps = get(1);
	cr_assert_eq(maps->number, number);
	cr_assert_eq(maps->mappings[0].file->fd, fd);
	cr_assert(binary.n_users == 1 && store.n_kept == 0);
	verify_maps_drop(&store, maps, SECOND);
	verify_maps_done(&store);
	cr_assert_lt(fcntl(fd, F_GETFD), 0, "the descriptor is closed");
}

/* It may be another's later. */
Test(verify_maps, know_whose_the_process_was)
{
	const struct snapshot own = { .id = 1, .pid = getpid() },
			      gone = { .id = 2, .pid = INT_MAX };
	struct verify_maps_store s = { 0 };

	cr_assert_eq(verify_maps_get(&s, &own)->user, geteuid());
	cr_assert_eq(verify_maps_get(&s, &gone)->user, (uid_t)-1);
	verify_maps_done(&s);
}

/* In a process that is root's by now, from a file like this one. */
static uid_t user_with(mode_t mode, uid_t owner)
{
	struct mapping mapping = { .start = 0x1000, .end = 0x2000, .binary = &binary };
	const struct snapshot snapshot = {
		.id = 1, .pid = getpid(), .n_mappings = 1, .mappings = &mapping
	};
	struct verify_maps_store s = { 0 };
	uid_t user;

	cr_assert_eq(fchmod(module.fd, mode), 0);
	cr_assert_eq(fchown(module.fd, owner, 0), 0);
	user = verify_maps_get(&s, &snapshot)->user;
	verify_maps_done(&s);
	return user;
}

/* Who has mapped a file may have executed a program of root's since. */
Test(verify_maps, are_not_of_who_has_not_made_the_files)
{
	char path[] = "/tmp/dwarfprof-test-XXXXXX";

	if (geteuid() != 0)
		cr_skip("it takes root to give files away");
	module.fd = mkstemp(path);
	cr_assert(module.fd >= 0 && unlink(path) == 0);
	cr_assert_eq(user_with(0755, 0), 0);
	cr_assert_eq(user_with(0755, 65431), VERIFY_MAPS_ANYBODY);
	cr_assert_eq(user_with(0775, 0), VERIFY_MAPS_ANYBODY);
	cr_assert_eq(user_with(0757, 0), VERIFY_MAPS_ANYBODY);
	binary.is_foreign = true;
	cr_assert_eq(user_with(0755, 0), VERIFY_MAPS_ANYBODY);
}

Test(verify_maps, are_let_go_after_a_while)
{
	const struct verify_maps *used = get(1), *early = get(2), *late = get(3);

	verify_maps_drop(&store, early, SECOND);
	verify_maps_drop(&store, late, 2 * SECOND);
	verify_maps_expire(&store, SECOND + VERIFY_MAPS_KEPT_NS - 1, VERIFY_MAPS_KEPT_NS);
	cr_assert_eq(store.n_kept, 2);
	verify_maps_expire(&store, SECOND + VERIFY_MAPS_KEPT_NS, VERIFY_MAPS_KEPT_NS);
	cr_assert_eq(store.n_kept, 1);
	verify_maps_expire(&store, 2 * SECOND + VERIFY_MAPS_KEPT_NS, VERIFY_MAPS_KEPT_NS);
	cr_assert_eq(store.n_kept, 0);
	cr_assert(binary.n_users == 1 && other.n_users == 1, "one is in use");
	verify_maps_drop(&store, used, 20 * SECOND);
	verify_maps_expire(&store, 20 * SECOND, 0);
	expect_nothing();
}

/* Asked for again, they are as young as the last use. */
Test(verify_maps, are_as_old_as_their_last_use)
{
	verify_maps_drop(&store, get(1), SECOND);
	verify_maps_drop(&store, get(2), 2 * SECOND);
	verify_maps_drop(&store, get(1), 3 * SECOND);
	verify_maps_expire(&store, 2 * SECOND + VERIFY_MAPS_KEPT_NS, VERIFY_MAPS_KEPT_NS);
	cr_assert_eq(store.n_kept, 1);
	cr_assert_eq(store.kept->snapshot, 1);
	verify_maps_expire(&store, 3 * SECOND + VERIFY_MAPS_KEPT_NS, VERIFY_MAPS_KEPT_NS);
	expect_nothing();
}

Test(verify_maps, are_few)
{
	for (uint64_t i = 1; i <= VERIFY_MAPS_KEPT + 3; i++)
		verify_maps_drop(&store, get(i), i);
	cr_assert_eq(store.n_kept, VERIFY_MAPS_KEPT);
	cr_assert_eq(HASH_COUNT(store.maps), VERIFY_MAPS_KEPT);
	cr_assert_eq(store.kept->snapshot, 4, "the oldest are gone");
	verify_maps_expire(&store, 100, 0);
	expect_nothing();
}

/* Also a binary that is in no file, whose bytes are copied. */
Test(verify_maps, are_counted_in_bytes)
{
	size_t files = 2 * sizeof(struct verify_file) + 5000;
	size_t maps = sizeof(struct verify_maps) + 3 * sizeof(struct verify_mapping);
	const struct verify_maps *first = get(1), *second;

	cr_assert_eq(store.n_bytes, files + maps);
	second = get(2);
	cr_assert_eq(get(2), second);
	cr_assert_eq(store.n_bytes, files + 2 * maps, "the files are shared");
	verify_maps_drop(&store, second, SECOND);
	verify_maps_expire(&store, SECOND, 0);
	cr_assert_eq(store.n_bytes, files + 2 * maps, "it has another user");
	verify_maps_drop(&store, second, SECOND);
	verify_maps_drop(&store, first, SECOND);
	cr_assert_eq(store.n_bytes, files + 2 * maps, "both are kept");
	verify_maps_expire(&store, SECOND, 0);
	expect_nothing();
}
