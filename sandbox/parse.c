// SPDX-License-Identifier: Apache-2.0
#include "sandbox/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/elf_labels.h"
#include "elf/frames_object.h"
#include "elf/jit_object.h"
#include "limits/limits.h"
#include "runtimes/runtime.h"
#include "sandbox/table_digest.h"
#include "symbols/demangle.h"
#include "symbols/jit_unwind.h"

void parse_result_done(struct parse_result *r)
{
	elf_facts_done(&r->facts);
	image_done(&r->image);
	enumerators_done(&r->names);
	free(r->usdt);
	function_list_done(&r->functions);
	jit_pieces_done(&r->pieces);
	free(r->context);
	free(r->table);
	free(r->lines);
	free(r->object);
	*r = (struct parse_result){ 0 };
}

static void get_debug_link(const struct elf_file *file, struct parse_result *ret)
{
	ret->lacks_cfi = elf_file_lacks_cfi(file);
	if (file->debug_link)
		snprintf(ret->debug_link, sizeof(ret->debug_link), "%s", file->debug_link);
	ret->debug_link_checksum = file->debug_link_checksum;
}

static int get_facts(const struct elf_file *file, struct parse_result *ret)
{
	get_debug_link(file, ret);
	return elf_facts_init(&ret->facts, file);
}

static int get_table(const struct elf_file *file, enum table_rows rows, struct parse_result *ret)
{
	get_debug_link(file, ret);
	memcpy(ret->facts.origin.build_id, file->build_id, sizeof(ret->facts.origin.build_id));
	return table_view_make(file, rows, &ret->table, &ret->table_size);
}

static void add_debug(struct elf_file *file, int other)
{
	if (other >= 0 && elf_file_lacks_cfi(file))
		(void)elf_file_add_debug(file, other);
}

static int get_image(const struct elf_file *file, struct parse_result *ret)
{
	struct image_input input = file->code;
	struct dp_runtime_image runtime;
	int err;

	input.runtime_kind = runtime_find(file, &runtime);
	input.runtime = &runtime;
	input.labels_form = elf_labels_find(file, &input.variable, &input.other_labels);
	err = image_build(&file->cfi, &input, &ret->image);
	if (err < 0)
		return err;
	free(ret->image.refusals);
	ret->image.refusals = NULL;
	ret->image.n_refusals = 0;
	return 0;
}

static int compare(const struct elf_file *file, int other_fd, struct parse_result *ret)
{
	struct file_digest a, b;
	struct elf_file other;
	int err = elf_file_init_fd_only(&other, other_fd);

	if (err < 0)
		return err;
	table_digest(file, &a);
	table_digest(&other, &b);
	ret->is_so = memcmp(&a, &b, sizeof(a)) == 0;
	elf_file_done(&other);
	return 0;
}

/* Names belong to a parameter, as those of a list do to the first one. */
static int get_parameters_at(const struct parse_request *request, int fd, uint64_t address,
			     struct parse_result *ret)
{
	int err;

	if (request->n_wanted > 0)
		return parameters_find(fd, address, request->wanted, request->n_wanted,
				       ret->parameters, &ret->names);
	err = parameters_list(fd, address, &ret->names);
	ret->parameters[0].n_names = (uint32_t)ret->names.n;
	return err;
}

static int get_parameters(const struct parse_request *request, const struct elf_file *file,
			  struct parse_result *ret)
{
	int fd = request->other >= 0 ? request->other : request->fd;

	for (size_t i = 0; i < file->n_segments; i++) {
		const struct elf_segment *s = &file->segments[i];

		if (request->offset >= s->offset && request->offset - s->offset < s->file_size)
			return get_parameters_at(request, fd,
						 request->offset - s->offset + s->address, ret);
	}
	return -ENODATA;
}

static int parse(const struct parse_request *request, struct elf_file *file,
		 struct parse_result *ret)
{
	int other = request->other;

	switch (request->kind) {
	case PARSE_FACTS:
	case PARSE_IMAGE:
		add_debug(file, other);
		return request->kind == PARSE_FACTS ? get_facts(file, ret) : get_image(file, ret);
	case PARSE_TABLE:
		add_debug(file, other);
		return get_table(file, request->rows, ret);
	case PARSE_SAME:
		return compare(file, other, ret);
	case PARSE_TABLE_DIGEST:
		table_digest(file, &ret->digest);
		return 0;
	case PARSE_DEBUG:
		ret->is_so = elf_file_add_debug(file, other);
		return 0;
	case PARSE_PARAMETERS:
		return get_parameters(request, file, ret);
	case PARSE_USDT:
		return usdt_find(request->fd, &ret->usdt, &ret->n_usdt);
	case PARSE_CXX:
		return cxx_runtime_find(file, request->fd, &ret->cxx) < 0 ? -ENODATA : 0;
	case PARSE_ALLOCATOR:
		return allocator_find(file, &ret->allocator) < 0 ? -ENODATA : 0;
	case PARSE_CODE:
		return code_lines_read(file, request->start, request->end, &ret->lines,
				       &ret->n_lines);
	case PARSE_FUNCTIONS:
		return function_search(request->fd, &request->functions, &ret->functions);
	default:
		return -EINVAL;
	}
}

static int parse_file(const struct parse_request *request, struct elf_file *file,
		      struct parse_result *ret)
{
	int err = parse(request, file, ret);

	elf_file_done(file);
	if (err < 0)
		parse_result_done(ret);
	return err;
}

static int parse_jit(const struct parse_request *request, struct parse_result *ret)
{
	int more;

	*ret = (struct parse_result){
		.position = request->position,
		.pieces = { .demangles = true, .style = request->style },
	};
	more = jit_file_read(request->jit_kind, request->fd, &ret->position, &ret->pieces);
	ret->has_more = more > 0;
	if (more < 0)
		parse_result_done(ret);
	return more < 0 ? more : 0;
}

static int get_digest(int fd, struct parse_result *ret)
{
	int err = file_digest_read(fd, &ret->digest);

	return err == 0 || err == -EFBIG ? err : -EBADMSG;
}

static int get_context(int fd, struct parse_result *ret)
{
	int err;

	ret->context = malloc(sizeof(*ret->context));
	if (!ret->context)
		return -ENOMEM;
	err = process_context_read(fd, ret->context);
	if (err < 0)
		parse_result_done(ret);
	return err;
}

static int get_type(int fd, struct parse_result *ret)
{
	char mangled[PARSE_TYPE_SIZE];
	ssize_t n = pread(fd, mangled, sizeof(mangled) - 1, 0);
	_cleanup_free_ char *type = NULL;

	if (n <= 0)
		return -ENODATA;
	mangled[n] = '\0';
	type = demangle_type(mangled);
	if (!type)
		return -ENOMEM;
	if (strlen(type) >= sizeof(ret->type))
		return -ENODATA;
	strcpy(ret->type, type);
	return 0;
}

/* A file of this program's own, whose size cannot change. */
static int get_object(int fd, struct parse_result *ret)
{
	_cleanup_free_ uint8_t *bytes = malloc(JIT_OBJECT_SIZE + sizeof(struct frames_copy));
	const size_t most = JIT_OBJECT_SIZE + sizeof(struct frames_copy);
	uint64_t magic = 0;
	size_t n = 0;
	ssize_t got;

	if (!bytes)
		return -ENOMEM;
	while (n < most && (got = pread(fd, bytes + n, most - n, (off_t)n)) > 0)
		n += (size_t)got;
	if (n >= sizeof(magic))
		memcpy(&magic, bytes, sizeof(magic));
	return magic == FRAMES_COPY_MAGIC ?
		       frames_object_link(bytes, n, &ret->object, &ret->object_size) :
		       jit_object_link(bytes, n, &ret->object, &ret->object_size);
}

int parse_here(const struct parse_request *request, struct parse_result *ret)
{
	struct elf_file file;
	int err;

	if (request->kind == PARSE_JIT)
		return parse_jit(request, ret);
	*ret = (struct parse_result){ 0 };
	if (request->kind == PARSE_DIGEST)
		return get_digest(request->fd, ret);
	if (request->kind == PARSE_TYPE)
		return get_type(request->fd, ret);
	if (request->kind == PARSE_CONTAINER)
		return container_file_read(request->fd, request->container_id, &ret->container);
	if (request->kind == PARSE_CONTEXT)
		return get_context(request->fd, ret);
	if (request->kind == PARSE_OBJECT)
		return get_object(request->fd, ret);
	if (request->kind == PARSE_DUMP)
		return jit_unwind_read(request->fd, &ret->object, &ret->object_size);
	if (request->kind == PARSE_BUILD_ID) {
		elf_file_read_build_id(request->fd, NULL, 0, ret->facts.origin.build_id);
		return 0;
	}
	err = elf_file_init_fd_only(&file, request->fd);
	return err < 0 ? err : parse_file(request, &file, ret);
}

int parse_memory(enum parse_kind kind, const void *bytes, size_t size, struct parse_result *ret)
{
	const struct parse_request request = { .kind = kind, .fd = -1, .other = -1 };
	struct elf_file file;
	int err = elf_file_init_memory(&file, bytes, size);

	*ret = (struct parse_result){ 0 };
	return err < 0 ? err : parse_file(&request, &file, ret);
}
