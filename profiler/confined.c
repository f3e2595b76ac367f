// SPDX-License-Identifier: Apache-2.0
#include "profiler/confined.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "log/log.h"
#include "sandbox/jit_files.h"
#include "sandbox/namers.h"

static int require(struct parsers *parsers, int err)
{
	struct confinement confinement = { 0 };
	char list[CONFINE_LIST_SIZE];

	if (err == 0)
		err = parsers_require(parsers, &confinement);
	if (err == 0 && !confinement.missing)
		return 0;
	log_error("parsers of files cannot be confined, as --sandbox=require asks for");
	if (err < 0)
		log_detail("none can be started: %s", strerror(-err));
	else
		log_detail("they lack %s", confine_list(confinement.missing, list));
	return -EOPNOTSUPP;
}

int confined_begin(enum sandbox_mode mode, const char *helper, struct names *names,
		   struct parsers **ret_parsers)
{
	bool is_required = mode == SANDBOX_REQUIRE;
	struct namers *namers;
	int err = 0;

	*ret_parsers = NULL;
	if (mode == SANDBOX_OFF)
		return 0;
	if (helper)
		err = parsers_new(helper, ret_parsers);
	else if (is_required)
		err = -ENOENT;
	if (is_required)
		err = require(*ret_parsers, err);
	else if (err < 0)
		log_warning("this process parses all files itself, with its rights: %s",
			    strerror(-err));
	if (*ret_parsers && err == 0 && names &&
	    (namers_start(*ret_parsers, names, &namers) < 0 ||
	     jit_files_start(*ret_parsers, names) < 0) &&
	    is_required)
		err = -ENOMEM;
	if (is_required && err < 0)
		*ret_parsers = parsers_drop(*ret_parsers);
	return is_required ? err : 0;
}
