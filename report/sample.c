// SPDX-License-Identifier: Apache-2.0
#include "report/sample.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/sum.h"
#include "report/frame_kind.h"
#include "symbols/code_source.h"

/* These are all counters, and precede the other members. */
#define N_COUNTERS (offsetof(struct totals, verified) / sizeof(uint64_t))
_Static_assert(N_COUNTERS * sizeof(uint64_t) + sizeof(struct verified *) +
			       sizeof(struct span_times *) ==
		       sizeof(struct totals),
	       "");

static const struct {
	const char *word, *sentence;
} lost_reasons[] = {
#define X(name, word, sentence) [LOST_##name] = { word, sentence },
	LOST_REASONS(X)
#undef X
};

const char *lost_reason_word(enum lost_reason reason)
{
	return lost_reasons[reason].word;
}

const char *lost_reason_sentence(enum lost_reason reason)
{
	return lost_reasons[reason].sentence;
}

uint64_t sample_sum(const struct sample *s)
{
	return sum_of_equal(s->weight, s->value_ns);
}

void totals_count(struct totals *t, const struct sample *s)
{
	if (s->event == DP_EVENT_HELD) {
		t->held += s->weight;
		t->held_bytes = sum_of(t->held_bytes, sample_sum(s));
		return;
	}
	t->samples++;
	t->finished_late += s->late;
	t->cut_labels += label_set_is_part(s->labels);
	t->outcomes[s->outcome]++;
	t->events += s->weight;
	t->time_ns = sum_of(t->time_ns, sample_sum(s));
}

struct totals totals_since(const struct totals *now, const struct totals *before)
{
	uint64_t counters[N_COUNTERS], old[N_COUNTERS];
	struct totals since = { 0 };

	memcpy(counters, now, sizeof(counters));
	memcpy(old, before, sizeof(old));
	for (size_t i = 0; i < N_COUNTERS; i++)
		counters[i] -= old[i];
	memcpy(&since, counters, sizeof(counters));
	/* It has ended at the largest number: how much came since is not known. */
	if (now->time_ns == SUM_MAX)
		since.time_ns = SUM_MAX;
	return since;
}

/* All members are sums, and wrap around, but those of values. */
struct totals totals_sum(const struct totals *a, const struct totals *b)
{
	struct totals minus_b = totals_since(&(struct totals){ 0 }, b), sum;

	sum = totals_since(a, &minus_b);
	sum.time_ns = sum_of(a->time_ns, b->time_ns);
	sum.held_bytes = sum_of(a->held_bytes, b->held_bytes);
	return sum;
}

uint64_t totals_with_user_stack(const struct totals *totals)
{
	return totals->samples - totals->outcomes[DP_NO_USER_STACK] -
	       totals->outcomes[DP_KERNEL_ONLY];
}

double totals_complete(const struct totals *totals)
{
	uint64_t with_stack = totals_with_user_stack(totals);

	if (with_stack == 0)
		return 0;
	return 100.0 * (double)totals->outcomes[DP_COMPLETE] / (double)with_stack;
}

bool frame_is_exact(const struct frame *frame)
{
	return !DP_METHOD_IS_CALLER(frame->method);
}

/* NULL: it is no runtime's. */
static struct code_source *code_of(const struct frame *frame)
{
	return frame->module && frame_is_interpreted(frame) ? frame->module->code : NULL;
}

/* What a runtime knows of a frame. 0: it is no runtime's. */
static size_t locate_functions(const struct frame *frame, const uint64_t **ret, bool *ret_is_near)
{
	struct code_source *code = code_of(frame);

	return code ? code->locate(code, frame->offset, ret, ret_is_near) : 0;
}

void frame_read(const struct frame *frame)
{
	struct code_source *code = code_of(frame);

	if (code)
		code->read(code, frame->offset);
}

void frame_locate(struct frame *frame, uint64_t time_ns)
{
	uint64_t before = !frame_is_exact(frame);
	const uint64_t *located;
	bool is_near = false;
	size_t n;

	if (!frame_is_interpreted(frame)) {
		frame->offset = module_locate(frame->module, frame->address - before, time_ns);
		frame->offset += before;
		return;
	}
	frame_read(frame);
	n = locate_functions(frame, &located, &is_near);
	if (n > 0)
		frame->offset = located[n - 1];
	if (is_near)
		frame->method = DP_METHOD_JAVA_NEAR;
}

/* Puts the functions of a frame into a list. Returns how many there was room for. */
static size_t put_located(const struct frame *frame, uint64_t time_ns, struct frame *ret,
			  size_t room, bool *ret_is_cut)
{
	bool is_located = frame->module && module_is_compiled(frame->module), is_near = false;
	const uint64_t *located;
	size_t n = is_located ? locate_functions(frame, &located, &is_near) : 0;

	*ret_is_cut |= room < (n > 0 ? n : 1);
	for (size_t i = 0; i < n && i < room; i++) {
		ret[i] = *frame;
		ret[i].offset = located[i];
		if (is_near) /* only Java's are */
			ret[i].method = DP_METHOD_JAVA_NEAR;
	}
	if (n > 0 || room == 0)
		return n < room ? n : room;
	*ret = *frame;
	if (is_located && !frame_is_interpreted(ret))
		frame_locate(ret, time_ns);
	return 1;
}

size_t frames_locate(const struct frame *frames, size_t n, uint64_t time_ns, struct frame *ret,
		     bool *ret_is_cut)
{
	size_t n_located = 0;

	*ret_is_cut = false;
	for (size_t i = 0; i < n; i++)
		n_located += put_located(&frames[i], time_ns, ret + n_located,
					 DP_MAX_FRAMES - n_located, ret_is_cut);
	return n_located;
}

size_t frame_locations(const struct frame *frame, bool lines, const struct source_location **ret)
{
	if (!frame->module)
		return 0;
	return module_find_locations(frame->module, frame->offset - !frame_is_exact(frame), lines,
				     ret);
}

void frame_want_locations(const struct frame *frame, bool lines)
{
	if (frame_is_in_binary(frame))
		module_want(frame->module, frame->offset - !frame_is_exact(frame), lines);
}

int frame_function_start(const struct frame *frame, uint64_t *ret)
{
	if (!frame_is_in_binary(frame))
		return -ENOENT;
	return module_find_start(frame->module, frame->offset - !frame_is_exact(frame), ret);
}

bool frame_is_near(const struct frame *frame)
{
	return frame->method == DP_METHOD_JAVA_NEAR;
}

bool frame_is_interpreted(const struct frame *frame)
{
	return frame_kind(frame) >= FRAME_FIRST_LANGUAGE;
}

bool sample_has_runtime_frames(const struct sample *sample)
{
	for (size_t i = 0; i < sample->n_user; i++)
		if (frame_is_interpreted(&sample->user[i]))
			return true;
	return false;
}

const char *frame_path(const struct frame *frame)
{
#define X(name, word, otel, method, firefox, red, green, blue) [FRAME_##name] = "[" word "]",
	static const char *const paths[FRAME_N_KINDS] = { FRAME_LANGUAGES(X) };
#undef X

	return paths[frame_kind(frame)] ?: (frame->module ? frame->module->path : NULL);
}

bool frame_is_in_binary(const struct frame *frame)
{
	return frame->module && !module_is_compiled(frame->module);
}

const char *frame_label(const struct frame *frame, const uint64_t *start,
			char buffer[FRAME_LABEL_SIZE])
{
	if (frame_is_interpreted(frame))
		snprintf(buffer, FRAME_LABEL_SIZE, "%s", frame_path(frame));
	else if (frame_is_in_binary(frame))
		snprintf(buffer, FRAME_LABEL_SIZE, "[%.255s+0x%" PRIx64 "]", frame->module->name,
			 start ? *start : frame->offset);
	else if (frame->module && frame->address > INT64_MAX)
		/* Profiles may have freed the JIT code of the frame by now. */
		snprintf(buffer, FRAME_LABEL_SIZE, "%s", frame->module->path);
	else
		snprintf(buffer, FRAME_LABEL_SIZE, "0x%" PRIx64, frame->address);
	return buffer;
}
