// SPDX-License-Identifier: Apache-2.0
/*
 * The walker finds in an image what the FDEs say: the lookup of bpf/lookup.h is compared with the
 * FDEs' own instructions, at both ends of each row, and at every address of the first and last
 * page. Input: as for image.
 */
#include <errno.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "bpf/lookup.h"
#include "cfi/index.h"
#include "cfi/machine.h"
#include "tables/decode.h"
#include "tables/tests/fuzz_extent.h"

/* Addresses at the start and the end of the code that are all looked up. */
#define DENSE 4096

/* An image of 4 GiB of code in the fewest bytes per page, and the snapshot. */
#define N_SEGMENTS 32
#define SPACE_CELL 4U

struct walk {
	struct port_world world;
};

/* A pool with a process that has one image mapped, at the addresses that its file names. */
struct pool_fixture {
	struct port_user port;
	struct walk walk;
	uint8_t *segments[N_SEGMENTS];
};

static struct pool_fixture pool;

static void pool_fill(uint32_t cell, const void *cells, uint32_t n)
{
	const uint8_t *from = cells;

	while (n > 0) {
		uint32_t at = cell % DP_SEGMENT_CELLS;
		uint32_t some = n < DP_SEGMENT_CELLS - at ? n : DP_SEGMENT_CELLS - at;
		uint8_t **segment = &pool.segments[cell / DP_SEGMENT_CELLS];

		EXPECT(cell / DP_SEGMENT_CELLS < N_SEGMENTS);
		if (!*segment)
			*segment = calloc(1, DP_SEGMENT_SIZE + DP_SEGMENT_SLACK);
		EXPECT(*segment);
		memcpy(*segment + (size_t)at * DP_CELL_SIZE, from, (size_t)some * DP_CELL_SIZE);
		from += (size_t)some * DP_CELL_SIZE;
		cell += some;
		n -= some;
	}
}

static void pool_init(const struct image *image)
{
	struct {
		struct dp_snapshot snapshot;
		struct dp_mapping mapping;
	} process = {
		{ .id = 1, .pid = 1, .n_mappings = 1 },
		{ .end = UINT64_MAX, .image = DP_SEGMENT_CELLS },
	};
	uint8_t behind[DP_PAGE_SIZE];

	pool.port = (struct port_user){ .segments = pool.segments, .n_segments = N_SEGMENTS };
	pool.walk.world.user = &pool.port;
	memset(behind, 0xff, sizeof(behind));
	pool_fill(SPACE_CELL, &process, sizeof(process) / DP_CELL_SIZE);
	pool_fill(DP_SEGMENT_CELLS, image->cells, image->n_cells);
	/* Other images follow, which a lookup must not use. */
	pool_fill(DP_SEGMENT_CELLS + image->n_cells, behind, DP_PAGE_SIZE / DP_CELL_SIZE);
}

/* What holds from start to end, according to the FDE or to the image. */
struct answer {
	uint64_t start, end;
	struct dp_rule
		rule; /* without the number of its saves, and without where its programs are */
	struct dp_saves saves;
	struct rule_programs programs;
};

/* Reads the programs of a rule, at an offset from `cells`, or in the pool (NULL). */
static void answer_take_programs(struct answer *answer, const uint64_t *cells)
{
	for (int part = 0; part < RULE_N_PARTS; part++) {
		int32_t *of = rule_program_of(&answer->rule, (enum rule_part)part);
		const struct rule_program *program;

		if (!of)
			continue;
		program =
			cells ? (const void *)(cells + *of) : port_pool(&pool.walk, (uint32_t)*of);
		EXPECT(program && program->n_ops <= DP_MAX_OPS);
		memcpy(&answer->programs.of[part], program, rule_program_size(program));
		*of = 0;
	}
}

/* The answers of every FDE of a section, those of FDE i from first[i] on. */
struct oracle {
	struct cfi_index index;
	struct image_input input;
	size_t *first;
	struct answer *answers;
	size_t n_answers, answers_size;
};

static void oracle_done(struct oracle *o)
{
	cfi_index_done(&o->index);
	free(o->first);
	free(o->answers);
}

static const struct dp_rule no_rule = { .cfa = DP_CFA_NONE, .why = DP_NO_RULE };
static const struct dp_rule refused = { .cfa = DP_CFA_NONE, .why = DP_UNSUPPORTED_RULE };

static void oracle_add(struct oracle *o, const struct answer *answer)
{
	EXPECT(array_reserve(o->answers, o->n_answers, o->answers_size) == 0);
	o->answers[o->n_answers++] = *answer;
}

static void oracle_add_fde(struct oracle *o, const struct cfi_section *section,
			   const struct cfi_fde *fde)
{
	const struct cfi_cie *cie = &o->index.cies[fde->cie];
	struct cfi_machine m;
	struct cfi_span span;
	enum cfi_step step;
	bool has_saves;

	cfi_machine_init(&m, section, cie, fde);
	while ((step = cfi_machine_next(&m, &span)) == CFI_STEP_ROW) {
		struct answer answer = { .start = span.start, .end = span.end };

		if (rule_from_row(&m.row, cie->signal, &answer.rule, &answer.saves, &has_saves,
				  &answer.programs) != RULE_NONE) {
			answer.rule = refused;
			memset(&answer.saves, 0, sizeof(answer.saves));
		}
		oracle_add(o, &answer);
	}
	if (step == CFI_STEP_REFUSED)
		oracle_add(o, &(struct answer){ .start = m.pc, .end = m.end, .rule = refused });
}

static void oracle_init(struct oracle *o, const struct cfi_section *section,
			const struct image_input *input)
{
	*o = (struct oracle){ .input = *input };
	EXPECT(cfi_index_init(&o->index, section) == 0);
	o->first = calloc(o->index.n_fdes + 1, sizeof(*o->first));
	EXPECT(o->first);
	for (size_t i = 0; i < o->index.n_fdes; i++) {
		o->first[i] = o->n_answers;
		oracle_add_fde(o, section, &o->index.fdes[i]);
	}
	o->first[o->index.n_fdes] = o->n_answers;
}

static bool is_inside(const struct cfi_fde *fde, const struct image_input *input)
{
	return fde->start >= input->start && fde->end <= input->end;
}

/* The FDE that applies at pc, or NULL: the one that starts last, if pc is in it. */
static const struct cfi_fde *oracle_fde(const struct oracle *o, uint64_t pc)
{
	size_t lo = 0, hi = o->index.n_fdes;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (o->index.fdes[mid].start <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0 || pc >= o->index.fdes[lo - 1].end ||
	    !is_inside(&o->index.fdes[lo - 1], &o->input))
		return NULL;
	return &o->index.fdes[lo - 1];
}

/* Without an FDE, up to ENTRY_SIZE bytes from the entry on are the root. */
static bool oracle_is_root(const struct oracle *o, uint64_t pc)
{
	uint64_t entry = o->input.entry;

	if (entry == 0 || entry < o->input.start || entry >= o->input.end || pc < entry ||
	    pc - entry >= ENTRY_SIZE || pc >= o->input.end)
		return false;
	for (uint64_t at = entry; at <= pc; at++)
		if (oracle_fde(o, at))
			return false;
	return true;
}

static struct answer oracle_ask(const struct oracle *o, uint64_t pc)
{
	const struct cfi_fde *fde = oracle_fde(o, pc);
	struct answer answer = { .start = pc, .end = pc + 1, .rule = no_rule };
	size_t lo, hi;

	if (!fde && oracle_is_root(o, pc)) {
		answer.rule = (struct dp_rule){ .cfa = DP_CFA_REGISTER,
						.cfa_reg = DP_REG_SP,
						.cfa_offset = 8,
						.ra = { .kind = DP_WHERE_UNDEFINED } };
		return answer;
	}
	if (!fde)
		return answer;
	lo = o->first[fde - o->index.fdes];
	hi = o->first[fde - o->index.fdes + 1];
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (o->answers[mid].start <= pc)
			lo = mid;
		else
			hi = mid;
	}
	EXPECT(o->answers[lo].start <= pc && pc < o->answers[lo].end);
	return o->answers[lo];
}

static struct answer look_up(uint64_t pc)
{
	struct answer answer = { .start = pc, .end = pc + 1 };

	EXPECT(lookup_snapshot(&pool.walk, SPACE_CELL, 0, pc, &answer.rule) != 0);
	if (answer.rule.saves & DP_SAVES_APART)
		memcpy(&answer.saves, port_pool(&pool.walk, answer.rule.saves & ~DP_SAVES_APART),
		       sizeof(answer.saves));
	else
		saves_from_slots(answer.rule.saves, &answer.saves);
	answer.rule.saves = 0;
	answer_take_programs(&answer, NULL);
	return answer;
}

static bool same_programs(const struct answer *a, const struct answer *b)
{
	struct dp_rule rule = a->rule;

	for (int part = 0; part < RULE_N_PARTS; part++)
		if (rule_program_of(&rule, (enum rule_part)part) &&
		    (a->programs.of[part].n_ops != b->programs.of[part].n_ops ||
		     memcmp(&a->programs.of[part], &b->programs.of[part],
			    rule_program_size(&a->programs.of[part])) != 0))
			return false;
	return true;
}

static void expect_same(const struct answer *a, const struct answer *b, uint64_t pc)
{
	if (memcmp(&a->rule, &b->rule, sizeof(a->rule)) == 0 &&
	    memcmp(&a->saves, &b->saves, sizeof(a->saves)) == 0 && same_programs(a, b))
		return;
	fprintf(stderr, "the rules at %#llx differ\n", (unsigned long long)pc);
	abort();
}

static void probe(const struct oracle *o, uint64_t pc)
{
	struct answer found, said;

	if (pc == UINT64_MAX)
		return; /* in no mapping */
	found = look_up(pc);
	said = oracle_ask(o, pc);
	expect_same(&found, &said, pc);
}

static void probe_around(const struct oracle *o, uint64_t pc)
{
	probe(o, pc - 1);
	probe(o, pc);
	probe(o, pc + 1);
}

/* A row read back from the image. */
static int probe_row(const struct image_row *row, void *arg)
{
	const struct oracle *o = arg;
	struct answer decoded = { .rule = row->rule, .saves = row->saves };
	struct answer found = look_up(row->start);

	decoded.rule.saves = 0;
	answer_take_programs(&decoded, row->programs);
	expect_same(&decoded, &found, row->start);
	probe_around(o, row->start);
	probe_around(o, row->end);
	return 0;
}

static void probe_all(const struct oracle *o, const struct image *image)
{
	uint64_t first = o->answers[0].start, last = first;

	for (size_t i = 0; i < o->n_answers; i++) {
		probe_around(o, o->answers[i].start);
		probe_around(o, o->answers[i].end);
		last = o->answers[i].end > last ? o->answers[i].end : last;
	}
	for (uint64_t i = 0; i < DENSE && i < last - first; i++) {
		probe(o, first + i);
		probe(o, last - 1 - i);
	}
	probe_around(o, o->input.start);
	probe_around(o, o->input.end);
	for (uint64_t i = 0; i < ENTRY_SIZE + 2; i++)
		probe(o, o->input.entry - 1 + i);
	EXPECT(image_for_each_row(image, probe_row, (void *)o) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(image_done) struct image image = { 0 };
	_cleanup_(oracle_done) struct oracle o = { 0 };
	struct feed feed = { data, data + size };
	uint8_t flags = feed_u8(&feed);
	uint64_t address = feed_u64(&feed);
	struct image_input input;
	struct cfi_section section;
	int err;

	input = feed_extent(&feed, flags);
	section = feed_section(&feed, address, flags & FEED_DEBUG_FRAME);
	err = image_build(&section, &input, &image);
	if (err == -EFBIG || err == -ENODATA)
		return 0;
	EXPECT(err == 0);
	/* No input is long enough for too many rules. */
	EXPECT(image.stats.refused[RULE_TOO_MANY].rows == 0);
	oracle_init(&o, &section, &input);
	pool_init(&image);
	probe_all(&o, &image);
	return 0;
}
