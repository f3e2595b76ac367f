// SPDX-License-Identifier: Apache-2.0
/*
 * A table, read as Go 1.16's and as later ones. Input: bytes of the functions' data (2), where
 * code starts (8), the data, the table.
 */
#include "cfi/tests/fuzz.h"
#include "go/go_location.h"
#include "limits/limits.h"

/* The most functions, and values of each, to read: large tables repeat them. */
#define FUNCTIONS 64
#define VALUES 4096

static void check_values(const struct pclntab *t, const struct pclntab_function *f, uint32_t offset)
{
	struct pclntab_values v;
	uint64_t end = f->start;

	pclntab_values_init(&v, t, f, offset);
	for (int i = 0; i < VALUES && pclntab_values_next(&v); i++) {
		EXPECT(v.last.start == end && v.last.end - v.last.start > 0);
		end = v.last.end;
	}
}

static void check_name(const struct pclntab *t, const char *name)
{
	const uint8_t *at = (const uint8_t *)name;

	EXPECT(at >= t->data && at < t->data + t->size);
	EXPECT(strlen(name) < PCLNTAB_NAME_MAX);
	EXPECT(at + strlen(name) < t->data + t->size);
}

static void check_locations(const struct go_file *file, const struct pclntab_function *f,
			    uint64_t address, size_t max)
{
	struct go_location locations[16];
	size_t n = go_locations_find(file, f, address, true, locations, max);

	EXPECT(n > 0 && n <= max);
	EXPECT(locations[n - 1].function == f->name);
	for (size_t i = 0; i < n; i++) {
		check_name(&file->table, locations[i].function);
		if (locations[i].file)
			check_name(&file->table, locations[i].file);
		EXPECT(locations[i].file || locations[i].line == 0);
	}
}

static void check_function(const struct go_file *file, const struct pclntab_function *f)
{
	const struct pclntab *t = &file->table;
	struct pclntab_function found;
	uint64_t end = pclntab_function_end(t, f);

	EXPECT(f->start <= f->next);
	EXPECT(end >= f->start && end <= f->next);
	check_name(t, f->name);
	check_values(t, f, f->sp);
	check_values(t, f, f->line);
	check_values(t, f, pclntab_more_values(t, f, PCLNTAB_VALUES_INLINED));
	check_locations(file, f, f->start, 1);
	check_locations(file, f, f->start + (f->next - f->start) / 2, 16);
	if (pclntab_find(t, f->start, &found) == 0)
		EXPECT(found.start <= f->start && f->start < found.next);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = { data, data + size };
	uint64_t data_size = feed_number(&feed, 2), text = feed_u64(&feed);
	uint64_t left = (uint64_t)(feed.end - feed.pos);
	struct go_file file = { 0 };

	file.data.bytes = feed.pos;
	file.data.size = data_size < left ? data_size : left;
	feed.pos += file.data.size;
	if (pclntab_init(&file.table, feed.pos, left - file.data.size, text) < 0)
		return 0;
	for (uint64_t i = 0; i < FUNCTIONS && i < file.table.n_functions; i++) {
		struct pclntab_function f;

		if (pclntab_function(&file.table, i, &f) == 0)
			check_function(&file, &f);
	}
	return 0;
}
