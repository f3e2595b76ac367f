// SPDX-License-Identifier: Apache-2.0
/* Snapshots, and what they share. */
#include <criterion/criterion.h>

#include "base/cleanup.h"
#include "binaries/binary.h"
#include "log/tests/said.h"
#include "process/history.h"
#include "process/snapshot.h"

static uint8_t *segment;
static struct pool pool;
static struct table_store tables;
static struct snapshot_store snapshots;

/* Two binaries that differ in everything that the walker gets. */
static struct table table_a = { .cell = 400 }, table_b = { .cell = 800 };
static struct binary a = { .table = &table_a, .elf = { .cookie = 1, .cookie_address = 0x100 } };
static struct binary b = { .table = &table_b, .elf = { .cookie = 2, .cookie_address = 0x200 } };

/* Code of a, code of b, code that is in no file. */
static struct mapping mappings[3];

static int add_segment(void *arg, uint32_t index, uint8_t **ret)
{
	cr_assert(index == 0);
	*ret = segment = calloc(1, DP_SEGMENT_SIZE + DP_SEGMENT_SLACK);
	return 0;
}

static void begin(void)
{
	struct mapping code = { .start = 0x11000, .end = 0x12000, .died = TIME_NEVER };

	pool_init(&pool, add_segment, NULL);
	table_store_init(&tables, &pool);
	snapshot_store_init(&snapshots, &pool, &tables);
	for (int i = 0; i < 3; i++) {
		mappings[i] = code;
		code.start += 0x10000;
		code.end += 0x10000;
	}
	mappings[0].binary = &a;
	mappings[1].binary = &b;
	for (int i = 0; i < 2; i++) {
		mappings[i].bias = mappings[i].start - 0x1000;
		mappings[i].has_cookie = true;
	}
}

static void end(void)
{
	snapshot_store_done(&snapshots);
	cr_expect(snapshots.memory_maps == NULL);
	table_store_done(&tables);
	pool_done(&pool);
	free(segment);
}

TestSuite(snapshot, .init = begin, .fini = end);

static struct snapshot *make(pid_t pid, bool cookies)
{
	_cleanup_free_ const struct mapping **at = NULL;
	struct history history = { 0 };
	struct snapshot *s;
	size_t n;

	for (int i = 0; i < 3; i++)
		cr_assert(mappings[i].died != TIME_NEVER ||
			  history_add(&history, &mappings[i]) == 0);
	cr_assert(history_at(&history, 1, &at, &n) == 0);
	cr_assert(snapshot_new(&snapshots, pid, at, n, NULL, cookies, &s) == 0);
	history_done(&history);
	return s;
}

/* As the walker finds it. */
static const struct dp_snapshot *written(const struct snapshot *s)
{
	return (const void *)(segment + (size_t)s->cell * DP_CELL_SIZE);
}

Test(snapshot, is_written_whole)
{
	const struct snapshot *s = make(5, true);
	const struct dp_snapshot *snapshot = written(s);
	const struct dp_mapping *m = (const void *)(snapshot + 1);

	cr_assert(snapshot->id == s->id && snapshot->pid == 5 && snapshot->n_mappings == 3);
	cr_assert(snapshot->memory_map == s->memory_map->number && snapshot->memory_map > 0);
	cr_assert(m[0].start == 0x11000 && m[0].image == 400 && m[0].bias == 0x10000);
	cr_assert(m[0].cookie == 1 && m[0].start - m[0].cookie_below == 0x10100);
	cr_assert(m[1].end == 0x22000 && m[1].image == 800 && m[1].cookie == 2);
	cr_assert(m[2].image == DP_CELL_NONE && m[2].cookie_below == 0);
}

Test(snapshot, has_the_memory_map_of_others_with_the_same_mappings)
{
	const struct snapshot *s = make(5, true), *child = make(6, true);
	struct mapping first = mappings[0];

	cr_assert(s->id != child->id && s->cell != child->cell);
	cr_assert_eq(written(s)->memory_map, written(child)->memory_map);
	/* The order of mapping, and what the walker does not use, make no difference. */
	mappings[0] = mappings[2];
	mappings[2] = first;
	mappings[1].offset = 0x5000;
	mappings[1].born = 1;
	cr_assert_eq(written(make(7, true))->memory_map, written(s)->memory_map);
}

/* Two snapshots with these mappings have one memory map, different from all earlier ones. */
static void expect_another_memory_map(const char *what)
{
	static uint64_t last;
	uint64_t memory_map = written(make(5, true))->memory_map;

	cr_assert_gt(memory_map, last, "%s", what);
	cr_assert_eq(written(make(6, true))->memory_map, memory_map, "%s", what);
	last = memory_map;
}

Test(snapshot, has_a_memory_map_of_its_own_with_other_mappings)
{
	expect_another_memory_map("the first one");
	mappings[0].start += 0x100;
	expect_another_memory_map("start");
	mappings[0].end -= 0x100;
	expect_another_memory_map("end");
	mappings[0].bias += 0x100;
	expect_another_memory_map("bias");
	table_a.cell = DP_CELL_NONE;
	expect_another_memory_map("evicted");
	table_a.cell = 1200;
	expect_another_memory_map("image");
	a.elf.cookie++;
	expect_another_memory_map("cookie");
	a.elf.cookie_address++;
	expect_another_memory_map("place of the cookie");
	mappings[1].has_cookie = false;
	expect_another_memory_map("no cookie");
	mappings[2].died = 1;
	expect_another_memory_map("number of mappings");
	mappings[0].died = mappings[1].died = 1;
	expect_another_memory_map("none");
	table_a.cell = 400;
}

Test(snapshot, has_another_memory_map_without_cookies)
{
	cr_assert_neq(make(5, true)->memory_map, make(5, false)->memory_map);
}

/* The walker searches for labels through this mapping, and not at all without one. */
Test(snapshot, tells_which_mapping_leads_to_labels)
{
	const struct snapshot *s = make(5, true);

	cr_assert(!s->has_labels && written(s)->labels == 0);
	table_b.labels_form = DP_LABELS_GO_LIST;
	s = make(5, true);
	cr_assert(s->has_labels);
	cr_assert_eq(written(s)->labels, 2, "the second one, counted from 1");
	cr_assert(!snapshot_has_labels(s, DP_LABELS_OF_THREADS));
	table_b.labels_form = DP_LABELS_CONTEXT;
	table_b.cell = DP_CELL_EVICTED;
	s = make(5, true);
	cr_assert(s->has_labels && written(s)->labels == 0, "its image is not there");
	cr_assert(snapshot_has_labels(s, DP_LABELS_OF_THREADS));
	cr_assert(!snapshot_has_labels(s, DP_LABELS_CUSTOM | DP_LABELS_GO));
	table_b.other_labels = 1U << DP_LABELS_CUSTOM_V1;
	cr_assert(snapshot_has_labels(s, DP_LABELS_CUSTOM), "a second form of the same file");
	cr_assert(!snapshot_has_labels(s, DP_LABELS_GO));
	table_b.other_labels = 0;
	table_b.cell = 800;
}

/* Two of different kinds; one whose frames have numbers of native ones is the first. */
Test(snapshot, tells_which_mappings_lead_to_runtimes)
{
	static struct dp_runtime_image image;
	const struct snapshot *s = make(5, true);

	cr_assert(written(s)->runtime == 0 && written(s)->other_runtime == 0);
	table_b.runtime = &image;
	table_b.runtime_kind = DP_RUNTIME_RUBY;
	s = make(5, true);
	cr_assert(written(s)->runtime == 2 && written(s)->other_runtime == 0);
	table_a.runtime = &image;
	table_a.runtime_kind = DP_RUNTIME_RUBY;
	s = make(5, true);
	cr_assert(written(s)->runtime == 1 && written(s)->other_runtime == 0);
	table_a.runtime_kind = DP_RUNTIME_PYTHON;
	s = make(5, true);
	cr_assert(written(s)->runtime == 1 && written(s)->other_runtime == 2);
	table_b.runtime_kind = DP_RUNTIME_V8;
	s = make(5, true);
	cr_assert(written(s)->runtime == 2 && written(s)->other_runtime == 1);
	table_a.runtime = table_b.runtime = NULL;
}

static struct snapshot *made;

static void make_again(void)
{
	made = make(5, true);
}

static void use_all(void)
{
	for (size_t i = 0; i < made->n_mappings; i++)
		mapping_use(&made->mappings[i], made->pid);
}

/* Processes without a sample are of no interest. */
Test(snapshot, tells_of_a_third_runtime_once_there_is_a_sample)
{
	static struct dp_runtime_image image;
	static struct table table_c = { .cell = 1200,
					.runtime = &image,
					.runtime_kind = DP_RUNTIME_PERL };
	static char path[] = "/lib/third";
	static struct module module = { .path = path };
	size_t n_unknown = 0, n_third = 0;
	static struct binary c = { .table = &table_c, .module = &module };
	char *text;

	c.n_unknown_runtimes = &n_unknown;
	c.n_third_runtimes = &n_third;
	mappings[2].binary = &c;
	mappings[2].bias = 0x1000;
	table_a.runtime = table_b.runtime = &image;
	table_a.runtime_kind = DP_RUNTIME_PYTHON;
	table_b.runtime_kind = DP_RUNTIME_PYTHON;
	make_again();
	text = said(use_all);
	cr_expect_str_empty(text);
	free(text);
	table_b.runtime_kind = DP_RUNTIME_RUBY;
	text = said(make_again);
	cr_expect_str_empty(text);
	free(text);
	text = said(use_all);
	cr_expect(strstr(text, "/lib/third: its runtime (perl) is the third of process 5:"), "%s",
		  text);
	free(text);
	text = said(use_all);
	cr_expect_str_empty(text);
	free(text);
	cr_expect(n_third == 1 && n_unknown == 0);
	table_a.runtime = table_b.runtime = NULL;
}

Test(snapshot, takes_its_memory_map_along_if_it_is_the_last_one)
{
	struct snapshot *s = make(5, true), *child = make(6, true);
	uint64_t memory_map = s->memory_map->number;
	uint32_t cell = s->cell;

	snapshot_free(&snapshots, s);
	cr_assert_eq(written(child)->memory_map, memory_map);
	s = make(7, true);
	cr_assert(s->memory_map->number == memory_map && s->cell == cell);
	snapshot_free(&snapshots, child);
	snapshot_free(&snapshots, s);
	cr_assert(written(s = make(5, true))->memory_map > memory_map, "no number is given again");
	snapshot_free(&snapshots, s);
}

Test(snapshot, is_gone_when_it_was_given_up)
{
	struct snapshot *s = make(5, true);
	const struct dp_snapshot *snapshot = written(s);

	snapshot_free(&snapshots, s);
	cr_assert(snapshot->id == 0 && snapshot->pid == 0 && snapshot->memory_map == 0);
}
