// SPDX-License-Identifier: Apache-2.0
#include "profiler/confined.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "log/log.h"
#include "sandbox/jit_files.h"
#include "sandbox/keeper.h"
#include "sandbox/namers.h"
#include "sandbox/spawner.h"

DEFINE_CLEANUP(struct parsers *, parsers_drop)

#define PARSERS "parsers of files"
#define READERS "readers of recordings"

static int refuse(const char *who, int err, uint32_t missing)
{
	char list[CONFINE_LIST_SIZE];

	log_error("%s cannot be confined as --sandbox=require demands", who);
	if (err < 0)
		log_detail("none can be started: %s", strerror(-err));
	else
		log_detail("they lack %s", confine_list(missing, list));
	return -EOPNOTSUPP;
}

int confined_begin(enum sandbox_mode mode, const char *helper, struct names *names,
		   struct parsers **ret_parsers)
{
	bool is_required = mode == SANDBOX_REQUIRE;
	_cleanup_(parsers_dropp) struct parsers *parsers = NULL;
	struct namers *namers;
	int err = 0;

	*ret_parsers = NULL;
	if (mode == SANDBOX_OFF)
		return 0;
	if (helper)
		err = parsers_new_for(helper, keeper_is_there() ? SPAWNED_FOR_READERS : SPAWNED_ALL,
				      &parsers);
	else if (is_required)
		err = -ENOENT;
	if (err < 0 && is_required)
		return refuse(PARSERS, err, 0);
	if (err < 0)
		log_warning("this process parses all files itself, with its rights: %s",
			    strerror(-err));
	if (!parsers)
		return 0;
	if (is_required)
		parsers_require(parsers);
	if (names &&
	    (namers_start(parsers, names, &namers) < 0 || jit_files_start(parsers, names) < 0) &&
	    is_required)
		return -ENOMEM;
	*ret_parsers = steal_ptr(parsers);
	return 0;
}

/* All but a user of its own, which takes root. A kernel may have no Landlock, or seccomp. */
static uint32_t lacks(const struct confinement *c)
{
	const uint32_t needed = (1U << CONFINE_N_LAYERS) - 1 - (1U << CONFINE_USER);

	return c->missing | (needed & ~c->layers);
}

int confined_read(enum sandbox_mode mode, const struct confine_reader *reader)
{
	struct confinement confinement;
	char list[CONFINE_LIST_SIZE];
	uint32_t lacking;

	confine_reader(reader, &confinement);
	lacking = CONFINE_READER_LAYERS & ~confinement.layers;
	log_debug("recordings are read with %s", confine_list(confinement.layers, list));
	if (lacking && mode == SANDBOX_REQUIRE)
		return refuse(READERS, 0, lacking);
	if (confinement.missing)
		log_warning(READERS " are confined less than they could be, without %s",
			    confine_list(confinement.missing, list));
	return 0;
}

int confined_check(enum sandbox_mode mode, struct parsers *parsers)
{
	struct confinement confinement = { 0 };
	int err;

	if (mode != SANDBOX_REQUIRE)
		return 0;
	err = parsers_check(parsers, &confinement);
	return err < 0 || lacks(&confinement) ? refuse(PARSERS, err, lacks(&confinement)) : 0;
}
