// SPDX-License-Identifier: Apache-2.0
#include "kernel/kernel_types.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "log/log.h"
#include "log/suggestion.h"

DEFINE_CLEANUP(struct btf *, btf__free)

struct btf *kernel_types_load(const char *path)
{
	return path ? btf__parse(path, NULL) : btf__load_vmlinux_btf();
}

/* Has the file types of a kernel? */
static bool is_of_kernel(const char *path)
{
	_cleanup_(btf__freep) struct btf *btf = kernel_types_load(path);

	return btf && btf__find_by_name_kind(btf, "task_struct", BTF_KIND_STRUCT) > 0;
}

const char *kernel_types_find(const char *root, const char *release, char buffer[PATH_MAX])
{
	int n;

	snprintf(buffer, PATH_MAX, "%s/sys/kernel/btf/vmlinux", root);
	if (access(buffer, R_OK) == 0)
		return NULL;
	n = snprintf(buffer, PATH_MAX, "%s/lib/modules/%s/vmlinux", root, release);
	return n < PATH_MAX && access(buffer, R_OK) == 0 && is_of_kernel(buffer) ? buffer : NULL;
}

const char *kernel_types_place(const char *path, char buffer[PATH_MAX])
{
	struct utsname kernel;

	if (path || uname(&kernel) < 0)
		return path;
	return kernel_types_find("", kernel.release, buffer);
}

int kernel_types_check(const char *path)
{
	int err;

	if (!path || (access(path, R_OK) == 0 && is_of_kernel(path)))
		return 0;
	err = access(path, R_OK) < 0 ? -errno : -EINVAL;
	if (err != -EINVAL)
		log_error("cannot read %s: %s", path, strerror(-err));
	else
		log_error("%s has no type information of a kernel (BTF)", path);
	log_detail("need: /sys/kernel/btf/vmlinux of the running kernel, or its vmlinux with BTF");
	log_detail("try:  without --btf");
	return err;
}

static const struct kernel_field fields[] = {
#define X(type, member, uses, lost) { #type, #member, uses, lost },
	DP_KERNEL_FIELDS(X)
#undef X
};

const struct kernel_field *kernel_field(size_t index)
{
	return index < ARRAY_SIZE(fields) ? &fields[index] : NULL;
}

bool kernel_types_member(const struct btf *btf, const struct btf_type *t, const char *name,
			 struct kernel_member *ret)
{
	const struct btf_member *m;
	bool found = false;

	if (t && btf_is_typedef(t))
		t = btf__type_by_id(btf, t->type);
	if (!t || !btf_is_composite(t))
		return false;
	m = btf_members(t);
	for (uint32_t i = 0; !found && i < btf_vlen(t); i++) {
		*ret = (struct kernel_member){ .type = m[i].type,
					       .is_bits = btf_member_bitfield_size(t, i) > 0 };
		found = m[i].name_off ? strcmp(btf__name_by_offset(btf, m[i].name_off), name) == 0 :
					kernel_types_member(btf, btf__type_by_id(btf, m[i].type),
							    name, ret);
		ret->offset += btf_member_bit_offset(t, i) / 8;
	}
	return found;
}

bool kernel_field_exists(const struct btf *btf, const struct kernel_field *field)
{
	static const uint32_t kinds[] = { BTF_KIND_STRUCT, BTF_KIND_TYPEDEF };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		int id = btf__find_by_name_kind(btf, field->type, kinds[i]);
		struct kernel_member member;

		if (id > 0 && kernel_types_member(btf, btf__type_by_id(btf, (uint32_t)id),
						  field->member, &member))
			return true;
	}
	return false;
}

char *kernel_types_suggest(uint32_t kind, const char *prefix, const char *name)
{
	_cleanup_(btf__freep) struct btf *btf = kernel_types_load(NULL);
	struct suggestion suggestion = { .given = name };
	uint32_t n = btf ? btf__type_cnt(btf) : 0;
	size_t length = strlen(prefix);

	for (uint32_t i = 1; i < n; i++) {
		const struct btf_type *t = btf__type_by_id(btf, i);
		const char *word = btf__name_by_offset(btf, t->name_off);

		if (btf_kind(t) == kind && strncmp(word, prefix, length) == 0)
			suggestion_consider(&suggestion, word + length);
	}
	return suggestion.word ? strdup(suggestion.word) : NULL;
}

void kernel_field_need(const struct kernel_field *field, char ret[KERNEL_FIELD_NEED_SIZE])
{
	static const char *const uses[] = {
#define X(name, what) [DP_FIELD_USE_##name] = what,
		DP_FIELD_USES(X)
#undef X
	};
	int n = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(uses); i++)
		if (field->uses >> i & 1)
			n += snprintf(ret + n, (size_t)(KERNEL_FIELD_NEED_SIZE - n), "%s%s",
				      n ? ", " : "", uses[i]);
	if (field->lost)
		snprintf(ret + n, (size_t)(KERNEL_FIELD_NEED_SIZE - n), "%s%s", n ? "; " : "",
			 field->lost);
}

bool kernel_types_have_prev_state(const char *path)
{
	_cleanup_(btf__freep) struct btf *btf = kernel_types_load(path);
	const struct btf_type *t = NULL;
	int id = btf ? btf__find_by_name_kind(btf, "btf_trace_sched_switch", BTF_KIND_TYPEDEF) : 0;

	if (id > 0)
		t = btf__type_by_id(btf, btf__type_by_id(btf, (uint32_t)id)->type);
	if (t && btf_is_ptr(t))
		t = btf__type_by_id(btf, t->type);
	/* The first parameter is the context pointer; then come preempt, prev, next, prev_state. */
	return t && btf_is_func_proto(t) && btf_vlen(t) >= 5;
}
