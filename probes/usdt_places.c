// SPDX-License-Identifier: Apache-2.0
#include "probes/usdt_places.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "limits/limits.h"
#include "log/log.h"
#include "log/suggestion.h"
#include "probes/parameter_source.h"
#include "sandbox/parsers.h"

#define FULL_SIZE (2 * USDT_NAME_SIZE)

static void full_name(const struct usdt_place *place, char ret[FULL_SIZE])
{
	snprintf(ret, FULL_SIZE, "%s:%s", place->provider, place->name);
}

int usdt_places_list(struct parsers *parsers, uid_t user, int fd, const char *file,
		     struct usdt_place **ret, size_t *ret_n)
{
	const struct parse_request request = {
		.kind = PARSE_USDT,
		.fd = fd,
		.other = -1,
		.user = user,
		.cpu_ns = probe_cpu_ns(user),
	};
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	clockid_t clock = 0;
	int err = parsers_ask(parsers, &request, &clock, &result);

	if (err < 0)
		log_error("cannot look for probes in %s: %s", file, parsers_explain(err));
	if (err < 0)
		return err;
	*ret = steal_ptr(result.usdt);
	*ret_n = result.n_usdt;
	return 0;
}

static void say_none(const struct usdt_places *p, size_t n, const char *file, const char *pattern)
{
	struct suggestion suggestion = { .given = pattern };
	char word[FULL_SIZE] = "", name[FULL_SIZE];

	for (size_t i = 0; i < n; i++) {
		full_name(&p->all[i], name);
		suggestion_consider(&suggestion, name);
		if (suggestion.word == name)
			strcpy(word, name);
		suggestion.word = NULL;
	}
	if (n == 0)
		log_error("%s has no USDT probes", file);
	else if (word[0])
		log_error("%s has no USDT probe %s; did you mean %s?", file, pattern, word);
	else
		log_error("%s has no USDT probe %s", file, pattern);
	if (n > 0)
		log_detail("try:  dwarfprof probes %s", p->at.path);
}

static int add(struct usdt_places *p, const struct usdt_place *place)
{
	size_t n = p->at.n;

	/* One that is noted twice is still hit once. */
	for (size_t i = 0; i < n; i++)
		if (p->at.offsets[i] == place->offset)
			return 0;
	if (n == UPROBE_MAX_PLACES)
		return -E2BIG;
	p->at.offsets[n] = place->offset;
	p->at.counters[n] = place->semaphore;
	p->notes[n] = place;
	p->at.n++;
	return 0;
}

static int choose(struct usdt_places *p, size_t n, const char *file, const char *pattern)
{
	int err = 0;

	p->at.offsets = calloc(UPROBE_MAX_PLACES, sizeof(*p->at.offsets));
	p->at.counters = calloc(UPROBE_MAX_PLACES, sizeof(*p->at.counters));
	p->notes = calloc(UPROBE_MAX_PLACES, sizeof(struct usdt_place *));
	if (!p->at.offsets || !p->at.counters || !p->notes) {
		log_error("%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	for (size_t i = 0; err == 0 && i < n; i++) {
		char name[FULL_SIZE];

		full_name(&p->all[i], name);
		if (fnmatch(pattern, name, 0) == 0)
			err = add(p, &p->all[i]);
	}
	if (err < 0)
		log_error(
			"%s has USDT probes %s at too many places; at most %d can be sampled at once",
			file, pattern, UPROBE_MAX_PLACES);
	if (err == 0 && p->at.n == 0) {
		say_none(p, n, file, pattern);
		err = -ENOENT;
	}
	return err;
}

int usdt_places_find(struct parsers *parsers, const struct uprobe_reader *reader, const char *file,
		     const char *pattern, struct usdt_places *ret)
{
	size_t n = 0;
	int err;

	*ret = (struct usdt_places){ 0 };
	err = uprobe_places_open(file, reader, &ret->at);
	if (err == 0)
		err = usdt_places_list(parsers, reader->user, ret->at.fd, file, &ret->all, &n);
	if (err == 0)
		err = choose(ret, n, file, pattern);
	if (err < 0)
		usdt_places_done(ret);
	return err;
}

void usdt_places_done(struct usdt_places *p)
{
	uprobe_places_done(&p->at);
	free(p->notes);
	free(p->all);
	p->notes = NULL;
	p->all = NULL;
}
