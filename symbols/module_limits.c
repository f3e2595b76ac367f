// SPDX-License-Identifier: Apache-2.0
#include "symbols/module_limits.h"

#include "symbols/failures.h"
#include "symbols/module.h"
#include "symbols/names.h"

void module_limits_begin(struct module_limits *ret)
{
	ret->hits = (struct limit_hits){ 0 };
	ret->before = limit_hits_collect(&ret->hits);
}

void module_limits_end(struct module_limits *limits, struct module *module)
{
	bool is_first = !limit_hits_any(&module->limits);
	struct limit_hits news;

	(void)limit_hits_collect(limits->before);
	if (!limit_hits_add(&module->limits, &limits->hits, &news))
		return;
	failures_add_limits(names_failures(module->names), module->path, &news, is_first);
	limit_hits_pass(&news);
}
