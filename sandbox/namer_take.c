// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"
#include "sandbox/namer.h"
#include "symbols/location_list.h"

static bool is_plausible(const struct namer_request *request, const struct namer_reply *r)
{
	return r->err == 0 && r->n_addresses > 0 && r->n_addresses <= request->n &&
	       r->n_locations <= r->n_addresses * LOCATION_MAX && r->names_size > 0 &&
	       r->names_size <= NAMER_MAX_NAMES;
}

/* Copies the sections into memory that nobody else can change. */
static char *read_file(int file, size_t size)
{
	_cleanup_free_ char *bytes = malloc(size);
	struct stat st;
	size_t have = 0;

	if (!bytes || fstat(file, &st) < 0 || (uint64_t)st.st_size != size)
		return NULL;
	while (have < size) {
		ssize_t n = pread(file, bytes + have, size - have, (off_t)have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return NULL;
		have += (size_t)n;
	}
	return steal_ptr(bytes);
}

/* Other addresses would fill the cache, also of those that are known. */
static bool answers(const struct namer_request *request, const struct location_address *addresses,
		    uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (addresses[i].address != request->addresses[i] ||
		    ((addresses[i].flags & LOCATION_LINES) != 0) != request->lines)
			return false;
	return true;
}

/* Many locations may have the same name, which is read for each. */
static bool are_short(const char *names, size_t size)
{
	for (size_t at = 0, n; at < size; at += n + 1) {
		n = strnlen(names + at, size - at);
		if (n >= NAMER_MAX_NAME)
			return false;
	}
	return true;
}

int namer_take(const struct namer_request *request, const struct namer_reply *r, int file,
	       struct location_cache *to, uint64_t ret_starts[NAMER_MAX_ADDRESSES])
{
	size_t addresses = r->n_addresses * sizeof(struct location_address);
	size_t locations = r->n_locations * sizeof(struct kept_location);
	size_t starts = r->n_addresses * sizeof(*ret_starts);
	_cleanup_free_ char *bytes = NULL;
	struct iovec sections[LOCATION_N_SECTIONS];
	int err;

	if (!is_plausible(request, r))
		return -EPROTO;
	bytes = read_file(file, addresses + locations + starts + r->names_size);
	if (!bytes || !answers(request, (const void *)bytes, r->n_addresses))
		return -EPROTO;
	sections[LOCATION_ADDRESSES] = (struct iovec){ bytes, addresses };
	sections[LOCATION_LOCATIONS] = (struct iovec){ bytes + addresses, locations };
	memcpy(ret_starts, bytes + addresses + locations, starts);
	sections[LOCATION_NAMES] =
		(struct iovec){ bytes + addresses + locations + starts, r->names_size };
	if (!are_short(sections[LOCATION_NAMES].iov_base, r->names_size))
		return -EPROTO;
	err = location_list_read(sections, LOCATION_LINES | LOCATION_GO, to);
	if (err < 0)
		return err == -EBADMSG ? -EPROTO : err;
	return (int)r->n_addresses;
}
