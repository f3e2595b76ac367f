// SPDX-License-Identifier: Apache-2.0
/*
 * Answers of a namer that was taken over. Input: how many addresses are asked for (2), whether with
 * lines (1, the lowest bit) and whether they are those that the file has (the next bit), the error
 * (1, signed), numbers of addresses (2), of locations (3) and of bytes of names (4), behind which is
 * the file for locations.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cfi/tests/fuzz.h"
#include "limits/limits.h"
#include "sandbox/namer.h"
#include "symbols/location_list.h"

/* Names that were met, each once. */
struct met {
	const char **names;
	size_t n, bytes;
};

static void check_name(struct met *met, const char *name)
{
	if (!name)
		return;
	for (size_t i = 0; i < met->n; i++)
		if (met->names[i] == name)
			return;
	met->names = realloc(met->names, (met->n + 1) * sizeof(*met->names));
	EXPECT(met->names);
	met->names[met->n++] = name;
	met->bytes += strlen(name) + 1;
	EXPECT(strlen(name) < NAMER_MAX_NAME);
}

/* The cache has exactly what was asked for, and no more names than the file. */
static void check_cache(const struct namer_request *request, const struct namer_reply *reply, int n,
			const struct location_cache *cache)
{
	struct met met = { 0 };
	size_t n_locations = 0;

	EXPECT(n > 0 && (uint32_t)n == reply->n_addresses && (uint32_t)n <= request->n);
	EXPECT(cache->n_entries > 0 && cache->n_entries <= (size_t)n);
	for (int i = 0; i < n; i++) {
		const struct source_location *locations;
		size_t n_of_address;

		EXPECT(location_cache_find(cache, request->addresses[i], request->lines, &locations,
					   &n_of_address));
		EXPECT(n_of_address <= LOCATION_MAX);
		n_locations += n_of_address;
		for (size_t j = 0; j < n_of_address; j++) {
			EXPECT(!locations[j].dir);
			check_name(&met, locations[j].function);
			check_name(&met, locations[j].file);
		}
	}
	if (cache->n_entries == (size_t)n) /* no address is asked for twice */
		EXPECT(n_locations == reply->n_locations);
	EXPECT(met.bytes <= reply->names_size);
	free(met.names);
}

static void feed_request(struct feed *f, struct namer_request *ret)
{
	uint8_t how;

	ret->kind = NAMER_FIND;
	ret->n = (uint32_t)feed_number(f, 2) % (NAMER_MAX_ADDRESSES + 1);
	how = feed_u8(f);
	ret->lines = how & 1;
	for (uint32_t i = 0; i < ret->n; i++)
		ret->addresses[i] = how & 2 ? 0 : i;
}

static void feed_reply(struct feed *f, struct namer_reply *ret)
{
	ret->err = (int8_t)feed_u8(f);
	ret->n_addresses = (uint32_t)feed_number(f, 2);
	ret->n_locations = (uint32_t)feed_number(f, 3);
	ret->names_size = (uint32_t)feed_number(f, 4);
}

/* Asks for the addresses that the file has. */
static void adopt_addresses(const struct feed *f, struct namer_request *request)
{
	struct location_address a;

	for (uint32_t i = 0; i < request->n; i++) {
		if ((size_t)(f->end - f->pos) < (i + 1) * sizeof(a))
			return;
		memcpy(&a, f->pos + i * sizeof(a), sizeof(a));
		request->addresses[i] = a.address;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct namer_request request;
	struct feed feed = { data, data + size };
	struct namer_reply reply = { 0 };
	struct location_cache cache = { 0 };
	uint64_t starts[NAMER_MAX_ADDRESSES];
	int file = memfd_create("fuzz", MFD_CLOEXEC);
	size_t left;
	int n;

	feed_request(&feed, &request);
	feed_reply(&feed, &reply);
	if (size > 2 && data[2] & 2)
		adopt_addresses(&feed, &request);
	left = (size_t)(feed.end - feed.pos);
	EXPECT(file >= 0 && write(file, feed.pos, left) == (ssize_t)left);
	n = namer_take(&request, &reply, file, &cache, starts);
	if (n >= 0) {
		EXPECT(reply.err == 0);
		EXPECT(reply.n_addresses * (sizeof(struct location_address) + sizeof(*starts)) +
			       reply.n_locations * sizeof(struct kept_location) +
			       reply.names_size ==
		       left);
		check_cache(&request, &reply, n, &cache);
	} else {
		EXPECT(n == -EPROTO && cache.n_entries == 0);
	}
	location_cache_done(&cache);
	close(file);
	return 0;
}
