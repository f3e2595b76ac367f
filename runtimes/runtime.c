// SPDX-License-Identifier: Apache-2.0
#include "runtimes/runtime.h"

#include <errno.h>

static const struct runtime_source *const sources[DP_N_RUNTIMES] = {
	[DP_RUNTIME_PYTHON] = &runtime_python, [DP_RUNTIME_HOTSPOT] = &runtime_hotspot,
	[DP_RUNTIME_V8] = &runtime_v8,         [DP_RUNTIME_RUBY] = &runtime_ruby,
	[DP_RUNTIME_PHP] = &runtime_php,       [DP_RUNTIME_PERL] = &runtime_perl,
};

const struct runtime_source *runtime_source(unsigned int kind)
{
	return kind < DP_N_RUNTIMES ? sources[kind] : NULL;
}

unsigned int runtime_find(const struct elf_file *file, struct dp_runtime_image *ret)
{
	for (unsigned int kind = 0; kind < DP_N_RUNTIMES; kind++) {
		bool is_in_files = sources[kind] && sources[kind]->find;
		int err = is_in_files ? sources[kind]->find(file, ret) : -ENOENT;

		if (err != -ENOENT)
			return err < 0 ? kind | DP_RUNTIME_UNKNOWN : kind;
	}
	return DP_RUNTIME_NONE;
}
