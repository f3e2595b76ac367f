// SPDX-License-Identifier: Apache-2.0
/* Functions of JavaScript, from the memory of their process. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtimes/v8/v8.h"

static const char anonymous[] = "(anonymous)";

/* Whether the sample's SharedFunctionInfo is still there. */
static int check(const struct v8_reader *r, const struct dp_runtime_frame *frame,
		 uint64_t *ret_name, uint64_t *ret_script)
{
	uint16_t type;
	int err = v8_type(r, frame->code, &type);

	if (err == 0 && type != r->at->type_shared)
		err = -ESTALE;
	if (err == 0)
		err = v8_word(r, frame->code, r->walked->name, ret_name);
	if (err == 0)
		err = v8_word(r, frame->code, r->walked->script, ret_script);
	if (err == 0 && v8_tag(*ret_name, *ret_script) != frame->tag)
		err = -ESTALE;
	return err;
}

/* What its functions are called, and where they are in their script. */
static int read_scope(const struct v8_reader *r, uint64_t name, struct v8_scope *ret)
{
	uint16_t type;
	int err;

	memset(ret, 0, sizeof(*ret));
	/* A number stands for no name. */
	if ((name & DP_V8_TAG_MASK) != DP_V8_OBJECT_TAG)
		return 0;
	err = v8_type(r, name, &type);
	if (err < 0)
		return err;
	return type < r->at->first_nonstring ? v8_string(r, name, ret->name) :
					       v8_scope(r, name, ret);
}

/* Lines as they are kept: the positions of bytecode, and then the ends of lines. */
struct kept {
	uint32_t n_positions, n_ends, start;
};

/* Appends its lines, and the positions of its bytecode, which may not be known. */
static struct runtime_code *add_lines(struct runtime_code *code, const struct v8_reader *r,
				      const struct dp_runtime_frame *frame,
				      const struct v8_lines *lines)
{
	_cleanup_free_ struct v8_position *positions = NULL;
	size_t n = 0, positions_size, ends_size = lines->n * sizeof(*lines->ends);
	struct runtime_code *larger;
	struct kept kept;
	uint64_t data;

	/* Its first member; the tables say what it is. */
	if (v8_word(r, frame->code, r->at->map + (uint32_t)sizeof(data), &data) < 0 ||
	    v8_positions_read(r, data, &positions, &n) < 0)
		n = 0;
	positions_size = n * sizeof(*positions);
	larger = realloc(code, sizeof(*code) + sizeof(kept) + positions_size + ends_size);
	if (!larger)
		return code;
	kept = (struct kept){ (uint32_t)n, (uint32_t)lines->n, lines->start };
	memcpy(larger->lines, &kept, sizeof(kept));
	if (n > 0)
		memcpy(larger->lines + sizeof(kept), positions, positions_size);
	if (lines->n > 0)
		memcpy(larger->lines + sizeof(kept) + positions_size, lines->ends, ends_size);
	larger->lines_size = sizeof(kept) + positions_size + ends_size;
	return larger;
}

/* Sets the file, and lines if they can be found: functions of V8 itself have none. */
static struct runtime_code *add_place(struct runtime_code *code, const struct v8_reader *r,
				      const struct dp_runtime_frame *frame, uint64_t script,
				      const struct v8_scope *scope)
{
	struct v8_lines lines;
	uint64_t name;
	uint16_t type;

	if (v8_type(r, script, &type) < 0 || type != r->at->type_script)
		return code;
	if (v8_word(r, script, r->at->script_name, &name) < 0 || v8_string(r, name, code->file) < 0)
		code->file[0] = '\0';
	if (scope->end == 0 || v8_lines_read(r, script, scope->start, scope->end, &lines) < 0)
		return code;
	code->first_line = lines.first;
	code = add_lines(code, r, frame, &lines);
	v8_lines_done(&lines);
	return code;
}

static int read_code(const void *layout, const struct dp_runtime_frame *frame,
		     const struct runtime_memory *memory, struct runtime_code **ret)
{
	const struct dp_runtime_image *image = layout;
	const struct v8_reader r = { memory, &image->v8, &image->v8_names };
	struct runtime_code *code;
	struct v8_scope scope;
	uint64_t name, script;
	int err = check(&r, frame, &name, &script);

	if (err == 0)
		err = read_scope(&r, name, &scope);
	if (err < 0)
		return err;
	code = calloc(1, sizeof(*code));
	if (!code)
		return -ENOMEM;
	snprintf(code->function, sizeof(code->function), "%s",
		 scope.name[0] ? scope.name : anonymous);
	code = add_place(code, &r, frame, script, &scope);
	/* What was read in between is only true if nothing has moved. */
	if (memory->forget)
		memory->forget(memory->arg);
	err = check(&r, frame, &name, &script);
	if (err < 0)
		free(code);
	else
		*ret = code;
	return err;
}

static uint32_t place_of_bytecode(const uint8_t *positions, uint32_t n, uint32_t offset)
{
	uint32_t place = V8_NO_PLACE;
	struct v8_position p;

	for (uint32_t i = 0; i < n; i++) {
		memcpy(&p, positions + i * sizeof(p), sizeof(p));
		if (p.offset > offset)
			break;
		place = p.place;
	}
	return place;
}

/* Where its position is not known, code is in its first line. */
static unsigned int find_line(const struct dp_runtime_image *image, const struct runtime_code *code,
			      const struct dp_runtime_frame *frame, uint32_t *ret_column)
{
	uint32_t place = (uint32_t)frame->position;
	const uint8_t *positions = code->lines + sizeof(struct kept);
	struct v8_lines lines;
	struct kept kept;

	*ret_column = 0;
	if (code->lines_size == 0 || frame->position == 0 || frame->position & DP_V8_COMPILED)
		return code->first_line;
	memcpy(&kept, code->lines, sizeof(kept));
	/* The interpreter's offset is from the tagged address of the bytecode's object on. */
	if (!(frame->position & DP_V8_PLACE))
		place = place_of_bytecode(
			positions, kept.n_positions,
			place - (image->v8_names.bytecode_data - DP_V8_OBJECT_TAG));
	if (place == V8_NO_PLACE)
		return code->first_line;
	lines = (struct v8_lines){
		.first = code->first_line,
		.start = kept.start,
		.ends = (uint32_t *)(void *)(positions +
					     kept.n_positions * sizeof(struct v8_position)),
		.n = kept.n_ends,
	};
	return v8_lines_find(&lines, place, ret_column);
}

static unsigned int line_of(const void *layout, const struct runtime_code *code,
			    const struct dp_runtime_frame *frame)
{
	uint32_t column;

	return find_line(layout, code, frame, &column);
}

static unsigned int column_of(const void *layout, const struct runtime_code *code,
			      const struct dp_runtime_frame *frame)
{
	uint32_t column;

	(void)find_line(layout, code, frame, &column);
	return column;
}

const struct runtime_source runtime_v8 = {
	.method = DP_METHOD_JAVASCRIPT,
	.unloaded = "[javascript, moved]",
	.find = v8_find,
	.layout_size = sizeof(struct dp_runtime_image),
	.read = read_code,
	.expand = v8_expand,
	.line = line_of,
	.column = column_of,
};
