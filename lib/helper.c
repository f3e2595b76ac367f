// SPDX-License-Identifier: Apache-2.0
/*
 * What libdwarfprof starts to read files of strangers (sandbox/spawner.h): its hosts have a main() of
 * their own.
 */
#include "sandbox/helper.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	if (argc > 0 && helper_is_one(argv[0]))
		return helper_main(argc, argv);
	fprintf(stderr, "libdwarfprof starts this program; it is of no use by itself\n");
	return EXIT_FAILURE;
}
