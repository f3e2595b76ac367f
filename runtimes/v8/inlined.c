// SPDX-License-Identifier: Apache-2.0
/*
 * What is inlined where in compiled code, or which bytecode it is. The object that has the instructions is in
 * front of them: a Code, or since V8 11 an InstructionStream, which refers to a Code. In that follow each
 * other the data for deoptimization and the table of source positions, or a BytecodeArray and the baseline
 * compiler's table (baseline.c). A position has the number of an inlined call, whose own position is in the
 * list of these (src/objects/deoptimization-data.h):
 *
 *     position of the call (8), number of its function among the literals (4), zeros (4)
 *
 * By default only calls have a position in the table. So an instruction that is no call is between two
 * of them: it is in those of its calls that both are in.
 */
#include <errno.h>

#include "limits/limits.h"
#include "runtimes/v8/v8.h"

#define BLOCK_WORDS 64
#define NOT_INLINED UINT32_MAX

struct call {
	uint64_t position;
	uint32_t function, zero;
};

struct compiled {
	const struct v8_reader *r;
	bool is_baseline;
	uint64_t data; /* for deoptimization, or what leads to the bytecode */
	uint64_t literals;
	uint64_t calls;
	uint32_t n_calls;
	uint64_t positions;
};

static bool may_refer(uint64_t word)
{
	return (word & DP_V8_TAG_MASK) == DP_V8_OBJECT_TAG && word >> 48 == 0;
}

/* Errors of reading pass, others say that it is something else. */
static bool is_of_type(const struct v8_reader *r, uint64_t object, uint16_t type)
{
	uint16_t found;

	return type != 0 && v8_type(r, object, &found) == 0 && found == type;
}

/* Finds the object that the instruction at an address is in. */
static int find_stream(const struct v8_reader *r, uint64_t address, uint64_t *ret)
{
	uint64_t words[BLOCK_WORDS], at = (address & ~(sizeof(words) - 1)) + sizeof(words);
	uint32_t n_candidates = 0;

	for (uint32_t done = 0; done < V8_MAX_CODE && at >= sizeof(words); done += sizeof(words)) {
		int err;

		at -= sizeof(words);
		err = v8_read(r, at, words, sizeof(words));
		if (err < 0)
			return err;
		for (uint32_t i = BLOCK_WORDS; i-- > 0;) {
			uint64_t object = at + i * sizeof(*words);

			if (object >= address || !may_refer(words[i]))
				continue;
			if (++n_candidates > V8_MAX_CANDIDATES)
				return -ESTALE;
			*ret = object | DP_V8_OBJECT_TAG;
			if (is_of_type(r, *ret, r->at->type_stream))
				return 0;
		}
	}
	return -ESTALE;
}

static int find_code(const struct v8_reader *r, uint64_t stream, uint64_t *ret)
{
	*ret = stream;
	if (r->at->type_stream == r->at->type_code)
		return 0;
	for (uint32_t i = 1; i <= V8_MAX_MEMBERS; i++) {
		int err = v8_word(r, stream, r->at->map + i * (uint32_t)sizeof(*ret), ret);

		if (err < 0)
			return err;
		if (is_of_type(r, *ret, r->at->type_code))
			return 0;
	}
	return -ESTALE;
}

/* Finds the data for deoptimization or the bytecode, and the table of positions, which follows. */
static int find_data(struct compiled *c, uint64_t code)
{
	const struct v8_reader *r = c->r;
	uint16_t type;

	for (uint32_t i = 1; i <= V8_MAX_MEMBERS; i++) {
		uint32_t at = r->at->map + i * (uint32_t)sizeof(c->data);
		int err = v8_word(r, code, at, &c->data);

		if (err < 0)
			return err;
		if (v8_type(r, c->data, &type) < 0)
			continue;
		c->is_baseline =
			type == r->at->type_bytecode || type == r->at->type_interpreter_data;
		if (!c->is_baseline && !v8_is_array(r, type))
			continue;
		err = v8_word(r, code, at + (uint32_t)sizeof(c->data), &c->positions);
		if (err == 0)
			err = v8_type(r, c->positions, &type);
		return err < 0 || v8_is_bytes(r, type) ? err : -ESTALE;
	}
	return -ESTALE;
}

static int read_element(const struct v8_reader *r, uint64_t array, uint32_t i, uint64_t *ret)
{
	uint64_t length;
	uint32_t n;
	int err = v8_word(r, array, r->at->array_length, &length);

	if (err == 0)
		err = v8_smi(length, &n);
	if (err == 0 && i >= n)
		err = -ESTALE;
	return err < 0 ? err :
			 v8_read(r,
				 array - DP_V8_OBJECT_TAG + r->at->array_data +
					 i * (uint64_t)sizeof(*ret),
				 ret, sizeof(*ret));
}

/* Is it the code of the frame's function? Since V8 13 that is in an object of its own. */
static int check_function(const struct compiled *c, uint64_t function)
{
	uint64_t found;
	int err = read_element(c->r, c->data, c->r->at->deopt_shared, &found);

	if (err == 0 && found != function)
		err = v8_word(c->r, found, c->r->at->map + (uint32_t)sizeof(found), &found);
	return err == 0 && found != function ? -ESTALE : err;
}

static int find_calls(struct compiled *c)
{
	const struct v8_reader *r = c->r;
	uint16_t type;
	uint64_t word;
	uint32_t size = 0;
	int err = read_element(r, c->data, r->at->deopt_literals, &c->literals);

	if (err == 0)
		err = read_element(r, c->data, r->at->deopt_inlined, &c->calls);
	if (err == 0)
		err = v8_type(r, c->calls, &type);
	if (err == 0 && !v8_is_bytes(r, type))
		err = -ESTALE;
	if (err == 0)
		err = v8_word(r, c->calls, r->at->array_length, &word);
	if (err == 0)
		err = v8_smi(word, &size);
	c->n_calls = size / (uint32_t)sizeof(struct call);
	return err == 0 && c->n_calls > V8_MAX_CALLS ? -ESTALE : err;
}

static int read_call(const struct compiled *c, uint32_t number, struct call *ret)
{
	if (number >= c->n_calls)
		return -ESTALE;
	return v8_read(c->r,
		       c->calls - DP_V8_OBJECT_TAG + c->r->at->array_data +
			       number * (uint64_t)sizeof(*ret),
		       ret, sizeof(*ret));
}

/* The positions of the calls in front of an offset in code and behind it. -ENOENT: there are none. */
static int find_positions(const struct compiled *c, uint64_t offset, uint64_t *ret_before,
			  uint64_t *ret_behind)
{
	struct v8_table t;
	bool has_before = false, has_behind = false;
	int err = v8_table_read(c->r, c->positions, &t);

	if (err < 0)
		return err;
	while (!has_behind && v8_table_next(&t)) {
		has_behind = t.offset >= 0 && (uint64_t)t.offset > offset;
		has_before |= !has_behind;
		*(has_behind ? ret_behind : ret_before) = t.position;
	}
	v8_table_done(&t);
	/* Code behind the last call may be anything's. */
	if (!has_behind)
		*ret_behind = 0;
	return has_before ? 0 : -ENOENT;
}

/* Numbers of calls from a position on outwards, of which each is in front of those in it. */
static int is_within(const struct compiled *c, uint64_t position, uint32_t number, bool *ret)
{
	struct call call;

	*ret = number == NOT_INLINED;
	for (uint32_t i = 0; !*ret && V8_INLINED(position) != NOT_INLINED; i++) {
		int err = i < RUNTIME_MAX_INLINED ? read_call(c, V8_INLINED(position), &call) :
						    -ESTALE;

		if (err < 0)
			return err;
		*ret = V8_INLINED(position) == number;
		position = call.position;
	}
	return 0;
}

static int put_frame(const struct compiled *c, uint64_t function, uint64_t position,
		     struct dp_runtime_frame *ret)
{
	const struct v8_reader *r = c->r;
	uint64_t name, script;
	int err = is_of_type(r, function, r->at->type_shared) ? 0 : -ESTALE;

	if (err == 0)
		err = v8_word(r, function, r->walked->name, &name);
	if (err == 0)
		err = v8_word(r, function, r->walked->script, &script);
	if (err < 0)
		return err;
	*ret = (struct dp_runtime_frame){ .code = function,
					  .position = DP_V8_PLACE | V8_PLACE(position),
					  .tag = v8_tag(name, script) };
	return 0;
}

/* Adds the functions from a position on outwards, but for those that `behind` is not in. */
static int put_chain(const struct compiled *c, uint64_t position, uint64_t behind,
		     const struct dp_runtime_frame *frame, struct dp_runtime_frame *ret)
{
	struct call call;
	int n = 0;

	for (uint32_t i = 0; i < RUNTIME_MAX_INLINED && n < RUNTIME_MAX_INLINED - 1; i++) {
		uint32_t number = V8_INLINED(position);
		uint64_t function;
		bool is_shown = n > 0;
		int err = is_shown ? 0 : is_within(c, behind, number, &is_shown);

		if (err < 0)
			return err;
		if (number == NOT_INLINED) {
			ret[n++] = (struct dp_runtime_frame){ frame->code,
							      DP_V8_PLACE | V8_PLACE(position),
							      frame->tag };
			return n;
		}
		err = read_call(c, number, &call);
		if (err == 0 && is_shown)
			err = read_element(c->r, c->literals, call.function, &function);
		if (err == 0 && is_shown)
			err = put_frame(c, function, position, &ret[n++]);
		if (err < 0)
			return err;
		position = call.position;
	}
	return -ESTALE;
}

static int expand_optimized(struct compiled *c, const struct dp_runtime_frame *frame,
			    uint64_t offset, struct dp_runtime_frame *ret)
{
	const struct dp_v8_names *at = c->r->at;
	uint64_t before = 0, behind = 0;
	int err;

	if (at->deopt_literals == 0 || at->deopt_inlined == 0 || at->deopt_shared == 0)
		return 0;
	err = check_function(c, frame->code);
	if (err == 0)
		err = find_calls(c);
	if (err == 0)
		err = find_positions(c, offset, &before, &behind);
	return err < 0 ? err :
			 put_chain(c, before, frame->position & DP_V8_EXACT ? behind : before,
				   frame, ret);
}

/* The function itself, where its bytecode is, if that is still its own. */
static int expand_baseline(const struct compiled *c, const struct dp_runtime_frame *frame,
			   uint64_t offset, struct dp_runtime_frame *ret)
{
	const struct v8_reader *r = c->r;
	uint64_t bytecode, data, own;
	uint32_t at;
	int err = v8_bytecode(r, c->data, &bytecode);

	if (err == 0)
		err = v8_word(r, frame->code, r->at->map + (uint32_t)sizeof(data), &data);
	if (err == 0)
		err = v8_bytecode(r, data, &own);
	if (err == 0 && own != bytecode)
		err = -ESTALE;
	if (err == 0)
		err = v8_baseline_find(r, bytecode, c->positions, offset, &at);
	if (err < 0)
		return err;
	*ret = (struct dp_runtime_frame){ frame->code, at + r->at->bytecode_data - DP_V8_OBJECT_TAG,
					  frame->tag };
	return 1;
}

static int expand(const struct v8_reader *r, const struct dp_runtime_frame *frame,
		  struct dp_runtime_frame *ret)
{
	uint64_t address = DP_V8_POSITION(frame->position), stream, code, start;
	struct compiled c = { .r = r };
	int err = find_stream(r, address, &stream);

	if (err == 0)
		err = find_code(r, stream, &code);
	if (err == 0)
		err = find_data(&c, code);
	if (err < 0)
		return err;
	/* A return address is behind its call. */
	start = stream - DP_V8_OBJECT_TAG + r->at->stream_start + !(frame->position & DP_V8_EXACT);
	if (address < start)
		return -ESTALE;
	return c.is_baseline ? expand_baseline(&c, frame, address - start, ret) :
			       expand_optimized(&c, frame, address - start, ret);
}

int v8_expand(const void *layout, const struct dp_runtime_frame *frame,
	      const struct runtime_memory *memory, struct dp_runtime_frame *ret)
{
	const struct dp_runtime_image *image = layout;
	const struct v8_reader r = { memory, &image->v8, &image->v8_names };
	int err;

	/* Newer versions describe their code. */
	if (!(frame->position & DP_V8_COMPILED) || r.at->type_stream == 0 ||
	    r.at->stream_start == 0)
		return 0;
	err = expand(&r, frame, ret);
	/* Its own name is known without them. */
	return err == -ENOENT || err == -ESTALE || err == -E2BIG ? 0 : err;
}
