// SPDX-License-Identifier: Apache-2.0
/* What is left of flame graphs that were packed, against the graphs themselves. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/packed_graph.h"

static struct box *put(struct flame_graph *graph, struct box *on, const char *name,
		       const char *binary, enum box_kind kind, uint64_t value)
{
	struct box *box;

	cr_assert_eq(flame_graph_add_box(graph, on, name, binary, kind, 0, value, &box), 0);
	if (on == &graph->root)
		graph->root.values[0] += value;
	return box;
}

/* Two processes; the second has `n` callees of value 1. */
static void make(struct flame_graph *graph, int n)
{
	struct box *on = put(graph, &graph->root, "a", NULL, BOX_PROCESS, 30);
	char name[32];

	on = put(graph, on, "main", "/bin/a", BOX_USER, 30);
	put(graph, on, "read", NULL, BOX_KERNEL, 10);
	on = put(graph, &graph->root, "b", NULL, BOX_PROCESS, 1000);
	on = put(graph, on, "main", "/bin/b", BOX_USER, 900);
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "callee %d", i);
		put(graph, on, name, "/bin/b", BOX_INLINED, 1);
	}
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A line for each box, with those below it, sorted. */
static char *describe(const struct flame_graph *graph)
{
	char *lines[1000], *text = NULL;
	size_t n = 0, size;
	FILE *to = open_memstream(&text, &size);

	fprintf(to, "%lu", (unsigned long)graph->root.values[0]);
	for (const struct box *box = graph->boxes; box; box = box->hh.next) {
		cr_assert_gt(asprintf(&lines[n++], "%s on %s: %d, %s, %lu", box->key.name,
				      box->key.parent->key.name ? box->key.parent->key.name : "-",
				      (int)box->key.kind, box->binary ? box->binary : "-",
				      (unsigned long)box->values[0]),
			     0);
	}
	qsort(lines, n, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < n; i++) {
		fprintf(to, "\n%s", lines[i]);
		free(lines[i]);
	}
	fclose(to);
	return text;
}

static void check_same(struct flame_graph *a, struct flame_graph *b)
{
	_cleanup_free_ char *text = describe(a), *other = describe(b);

	cr_assert_str_eq(text, other);
}

TestSuite(packed_graph);

Test(packed_graph, keeps_all)
{
	struct flame_graph graph = { 0 }, again = { 0 }, twice = { 0 };
	_cleanup_free_ struct packed_graph *packed = NULL;

	make(&graph, 300);
	cr_assert_eq(packed_graph_new(&graph, 1 << 20, &packed), 0);
	cr_assert_eq(packed->n_boxes, 305);
	cr_assert_eq(packed->n_left_out, 0);
	cr_assert_eq(packed_graph_add_to(packed, NULL, &again), 0);
	check_same(&graph, &again);
	cr_assert_eq(packed_graph_add_to(packed, NULL, &again), 0);
	make(&twice, 300);
	make(&twice, 300);
	check_same(&twice, &again);
	flame_graph_done(&graph);
	flame_graph_done(&again);
	flame_graph_done(&twice);
}

Test(packed_graph, of_one_process)
{
	struct flame_graph graph = { 0 }, again = { 0 };
	_cleanup_free_ struct packed_graph *packed = NULL;
	_cleanup_free_ char *text = NULL;

	make(&graph, 3);
	cr_assert_eq(packed_graph_new(&graph, 1 << 20, &packed), 0);
	cr_assert_eq(packed_graph_add_to(packed, "a", &again), 0);
	text = describe(&again);
	cr_assert_str_eq(text, "30\na on -: 4, -, 30\nmain on a: 0, /bin/a, 30\n"
			       "read on main: 2, -, 10");
	flame_graph_done(&graph);
	flame_graph_done(&again);
}

Test(packed_graph, leaves_out_the_small)
{
	struct flame_graph graph = { 0 }, again = { 0 }, expected = { 0 };
	_cleanup_free_ struct packed_graph *packed = NULL;

	make(&graph, 300);
	cr_assert_eq(packed_graph_new(&graph, 600, &packed), 0);
	cr_assert_leq(packed->size, 600);
	cr_assert_eq(packed->n_left_out, 300);
	cr_assert_eq(packed_graph_add_to(packed, NULL, &again), 0);
	make(&expected, 0);
	check_same(&expected, &again);
	free(steal_ptr(packed));
	cr_assert_eq(packed_graph_new(&graph, 0, &packed), 0);
	cr_assert_eq(packed->n_boxes, 0);
	cr_assert_eq(packed->n_left_out, 305);
	flame_graph_done(&graph);
	flame_graph_done(&again);
	flame_graph_done(&expected);
}
