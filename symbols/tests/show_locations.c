// SPDX-License-Identifier: Apache-2.0
/*
 * usage: show_locations [-t TIMES] [-d simple|none|full] [-u SECONDS] [-c DIR] [-i] [-l] [-x] FILE
 *        <ADDRESSES
 *
 * Prints what the symbols library finds for addresses of a file (hexadecimal, one per line), in the
 * format of addr2line -a -i -f: the address, then a function and its file and line for each
 * location. -t prints only the CPU time: of the first look-up, and on average of TIMES more, for
 * which everything is cached. -u lets servers send debug information, with a time limit. -c keeps
 * locations in a directory and uses those from earlier runs. -i and -l leave out inlined functions
 * and lines. -x closes the file before the look-up.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "cache/disk_cache.h"
#include "symbols/debug_library.h"
#include "symbols/debug_server.h"
#include "symbols/module.h"
#include "symbols/names.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static size_t find_all(struct module *module, const uint64_t *addresses, size_t n)
{
	size_t n_locations = 0;

	for (size_t i = 0; i < n; i++) {
		const struct source_location *locations;

		n_locations += module_find_locations(module, addresses[i], true, &locations);
	}
	return n_locations;
}

static void show(struct module *module, uint64_t address)
{
	const struct source_location *locations = NULL;
	size_t n = module_find_locations(module, address, true, &locations);

	printf("0x%016" PRIx64 "\n", address);
	for (size_t i = 0; i < n; i++)
		printf("%s\n%s:%u:%u\n", locations[i].function ? locations[i].function : "??",
		       locations[i].file ? locations[i].file : "??", locations[i].line,
		       locations[i].column);
	if (n == 0)
		printf("??\n??:0:0\n");
}

static void show_times(struct module *module, const uint64_t *addresses, size_t n, int times)
{
	double start = now(), warm;
	size_t n_locations = find_all(module, addresses, n);

	warm = now();
	for (int i = 0; i < times; i++)
		find_all(module, addresses, n);
	printf("%zu addresses, %zu locations: %.1f ms, then %.3f ms\n", n, n_locations,
	       (warm - start) * 1e3, (now() - warm) * 1e3 / times);
}

static int read_addresses(uint64_t **ret, size_t *ret_n)
{
	uint64_t *addresses = NULL, address;
	size_t n = 0, size = 0;

	while (scanf("%" SCNx64, &address) == 1) {
		if (array_reserve(addresses, n, size) < 0)
			return -ENOMEM;
		addresses[n++] = address;
	}
	*ret = addresses;
	*ret_n = n;
	return 0;
}

struct request {
	struct names_options options;
	int times;
	bool keeps, closed;
	uint64_t server_ns; /* 0: no server is asked */
	struct disk_cache cache;
};

static int read_options(int argc, char **argv, struct request *ret)
{
	struct names_options *options = &ret->options;
	int option;

	while ((option = getopt(argc, argv, "t:d:u:c:ilx")) != -1) {
		if (option == 't')
			ret->times = atoi(optarg);
		else if (option == 'u')
			ret->server_ns = (uint64_t)(atof(optarg) * 1e9);
		else if (option == 'c')
			ret->keeps = disk_cache_open(optarg, DISK_CACHE_LIMIT, &ret->cache) == 0;
		else if (option == 'd')
			options->demangle = strcmp(optarg, "none") == 0 ? NAMES_DEMANGLE_NONE :
					    strcmp(optarg, "full") == 0 ? NAMES_DEMANGLE_FULL :
									  NAMES_DEMANGLE_SIMPLE;
		else if (option == 'i')
			options->no_inlines = true;
		else if (option == 'l')
			options->no_lines = true;
		else if (option == 'x')
			ret->closed = true;
		else
			return -EINVAL;
	}
	return optind + 1 == argc ? 0 : -EINVAL;
}

int main(int argc, char **argv)
{
	struct request request = { 0 };
	_cleanup_free_ uint64_t *addresses = NULL;
	struct names *names;
	struct module *module;
	size_t n;

	if (read_options(argc, argv, &request) < 0 || read_addresses(&addresses, &n) < 0)
		return 2;
	if (names_new(&request.options, &names) < 0)
		return 1;
	if (request.server_ns > 0 && debug_library_bound(request.server_ns) < 0)
		return 1;
	if (request.server_ns > 0)
		debug_server_allow(names_debug_server(names), request.server_ns, NULL);
	if (request.keeps)
		names_set_cache(names, &request.cache);
	module = module_new(names, argv[optind], request.keeps ? "program" : "",
			    open(argv[optind], O_RDONLY | O_CLOEXEC));
	if (request.closed)
		module_close(module, true);
	if (request.times > 0)
		show_times(module, addresses, n, request.times);
	for (size_t i = 0; request.times == 0 && i < n; i++)
		show(module, addresses[i]);
	names_free(names);
	return 0;
}
