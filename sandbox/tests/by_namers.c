// SPDX-License-Identifier: Apache-2.0
/*
 * Linked with symbols/tests/show_locations.c (--wrap=names_new): the same program, but namers find
 * what it shows.
 */
#include <errno.h>
#include <stdlib.h>

#include "sandbox/helper.h"
#include "sandbox/namers.h"

int __real_names_new(const struct names_options *options, struct names **ret);
int __wrap_names_new(const struct names_options *options, struct names **ret);

/* Before main(), which is for its user. */
__attribute__((constructor)) static void be_helper(int argc, char **argv)
{
	if (helper_is_one(argv[0]))
		exit(helper_main(argc, argv));
}

int __wrap_names_new(const struct names_options *options, struct names **ret)
{
	int err = __real_names_new(options, ret);
	struct parsers *parsers;
	struct namers *namers;

	/* A helper has its own. */
	if (err < 0 || helper_is_one(program_invocation_name))
		return err;
	err = parsers_new(HELPER_SELF, &parsers);
	if (err == 0) {
		parsers_require(parsers);
		err = parsers_check(parsers, &(struct confinement){ 0 });
	}
	if (err == 0)
		err = namers_start(parsers, *ret, &namers);
	parsers_drop(parsers);
	return err;
}
