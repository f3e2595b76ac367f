// SPDX-License-Identifier: Apache-2.0
#include "symbols/location_list.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "limits/limits.h"

/* The sections that are read. */
struct body {
	const struct location_address *addresses;
	const struct kept_location *locations;
	const char *names;
	uint64_t n_addresses, n_locations, names_size;
};

/* False: the sections' sizes are invalid. */
static bool body_init(struct body *ret, const struct iovec *sections)
{
	const struct iovec *addresses = &sections[LOCATION_ADDRESSES],
			   *locations = &sections[LOCATION_LOCATIONS];

	*ret = (struct body){
		.addresses = addresses->iov_base,
		.locations = locations->iov_base,
		.names = sections[LOCATION_NAMES].iov_base,
		.n_addresses = addresses->iov_len / sizeof(struct location_address),
		.n_locations = locations->iov_len / sizeof(struct kept_location),
		.names_size = sections[LOCATION_NAMES].iov_len,
	};
	return addresses->iov_len % sizeof(struct location_address) == 0 &&
	       locations->iov_len % sizeof(struct kept_location) == 0 &&
	       ret->n_addresses <= LOCATION_CACHE_MAX;
}

/* A name is not the end of another one: many such could be far larger than all bytes together. */
static bool is_name(const struct body *b, uint32_t at)
{
	return at == 0 || (at < b->names_size && b->names[at - 1] == '\0');
}

static bool is_sound(const struct body *b, uint32_t flags)
{
	uint64_t n = 0;

	if (b->names_size == 0 || b->names[b->names_size - 1] != '\0')
		return false;
	for (uint64_t i = 0; i < b->n_addresses; i++) {
		if (b->addresses[i].n_locations > LOCATION_MAX || (b->addresses[i].flags & ~flags))
			return false;
		n += b->addresses[i].n_locations;
	}
	for (uint64_t i = 0; i < b->n_locations; i++)
		if (!is_name(b, b->locations[i].function) || !is_name(b, b->locations[i].file))
			return false;
	return n == b->n_locations;
}

static int add_address(const struct body *b, const struct location_address *a,
		       const struct kept_location *kept, struct location_cache *to)
{
	struct source_location shown[LOCATION_MAX];
	bool lines = a->flags & LOCATION_LINES;

	for (uint32_t i = 0; i < a->n_locations; i++)
		shown[i] = (struct source_location){
			.function = kept[i].function ? b->names + kept[i].function : NULL,
			.file = kept[i].file ? b->names + kept[i].file : NULL,
			.line = kept[i].line,
			.column = kept[i].column & ~LOCATION_INLINED,
			.inlined = kept[i].column & LOCATION_INLINED,
		};
	return location_cache_add_shown(to, a->address, lines, a->flags & LOCATION_GO, shown,
					a->n_locations);
}

int location_list_read(const struct iovec sections[LOCATION_N_SECTIONS], uint32_t flags,
		       struct location_cache *to)
{
	const struct kept_location *kept;
	struct body b;
	int err = 0;

	if (!body_init(&b, sections) || !is_sound(&b, flags))
		return -EBADMSG;
	kept = b.locations;
	for (uint64_t i = 0; err == 0 && i < b.n_addresses; i++) {
		err = add_address(&b, &b.addresses[i], kept, to);
		if (b.n_locations > 0) /* else it is NULL, to which C adds nothing */
			kept += b.addresses[i].n_locations;
	}
	return err;
}

/* A name that was already written, by its address in memory: each has a single copy. */
struct location_met {
	UT_hash_handle hh;
	const char *name;
	uint32_t at;
};

void location_list_done(struct location_list *list)
{
	struct location_met *m, *next;

	HASH_ITER(hh, list->met, m, next) {
		HASH_DEL(list->met, m);
		free(m);
	}
	free(list->addresses);
	free(list->locations);
	free(list->names);
	*list = (struct location_list){ 0 };
}

static int append_bytes(struct location_list *list, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (array_reserve(list->names, list->n_names, list->names_size) < 0)
			return -ENOMEM;
		list->names[list->n_names++] = bytes[i];
	}
	return 0;
}

static int add_name(struct location_list *list, const char *name, uint32_t *ret)
{
	struct location_met *m;
	int err;

	*ret = 0;
	if (!name)
		return 0;
	HASH_FIND_PTR(list->met, &name, m);
	if (!m) {
		m = calloc(1, sizeof(*m));
		if (!m)
			return -ENOMEM;
		m->name = name;
		m->at = (uint32_t)list->n_names;
		HASH_ADD_PTR(list->met, name, m);
		if (!HASH_IS_ADDED(hh, m)) {
			free(m);
			return -ENOMEM;
		}
		err = append_bytes(list, name, strlen(name) + 1);
		if (err == 0 && list->n_names > UINT32_MAX)
			err = -EFBIG;
		if (err < 0)
			return err;
	}
	*ret = m->at;
	return 0;
}

int location_list_add(struct location_list *list, uint64_t address, uint32_t flags,
		      const struct source_location *locations, size_t n)
{
	int err = list->n_names == 0 ? append_bytes(list, "", 1) : 0;

	if (err < 0 || array_reserve(list->addresses, list->n_addresses, list->addresses_size) < 0)
		return -ENOMEM;
	list->addresses[list->n_addresses++] =
		(struct location_address){ address, (uint32_t)n, flags };
	for (size_t i = 0; err == 0 && i < n; i++) {
		struct kept_location kept = { .line = locations[i].line,
					      .column = locations[i].column & ~LOCATION_INLINED };

		if (locations[i].inlined)
			kept.column |= LOCATION_INLINED;
		err = add_name(list, locations[i].function, &kept.function);
		if (err == 0)
			err = add_name(list, locations[i].file, &kept.file);
		if (err == 0 &&
		    array_reserve(list->locations, list->n_locations, list->locations_size) < 0)
			err = -ENOMEM;
		if (err == 0)
			list->locations[list->n_locations++] = kept;
	}
	return err;
}

void location_list_sections(const struct location_list *list, struct iovec ret[LOCATION_N_SECTIONS])
{
	ret[LOCATION_ADDRESSES] = (struct iovec){
		list->addresses,
		list->n_addresses * sizeof(*list->addresses),
	};
	ret[LOCATION_LOCATIONS] = (struct iovec){
		list->locations,
		list->n_locations * sizeof(*list->locations),
	};
	ret[LOCATION_NAMES] = list->n_names > 0 ? (struct iovec){ list->names, list->n_names } :
						  (struct iovec){ (char *)"", 1 };
}
