// SPDX-License-Identifier: Apache-2.0
#include "symbols/failures.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "limits/limit_hits.h"
#include "log/log.h"

void failures_init(struct failures *f)
{
	*f = (struct failures){ 0 };
	pthread_mutex_init(&f->lock, NULL);
}

void failures_done(struct failures *f)
{
	for (size_t i = 0; i < PARSERS_SHOWN_FAILURES; i++)
		free(f->first[i]);
	pthread_mutex_destroy(&f->lock);
}

bool failures_add(struct failures *f, char *sentence)
{
	size_t number;

	pthread_mutex_lock(&f->lock);
	number = f->n++;
	if (number < PARSERS_SHOWN_FAILURES)
		f->first[number] = sentence;
	else
		free(sentence);
	pthread_mutex_unlock(&f->lock);
	return number < PARSERS_SHOWN_FAILURES;
}

void failures_add_limits(struct failures *f, const char *path, const struct limit_hits *hits,
			 bool is_first)
{
	_cleanup_free_ char *text = limit_hits_text(hits);
	char *sentence;

	if (!text || asprintf(&sentence, "%s: its %s", path, text) < 0)
		sentence = NULL;
	if (sentence)
		log_debug("%s", sentence);
	if (is_first)
		(void)failures_add(f, sentence);
	else
		free(sentence);
}

size_t failures_look(struct failures *f, const char *ret_first[PARSERS_SHOWN_FAILURES])
{
	size_t n;

	pthread_mutex_lock(&f->lock);
	n = f->n;
	for (size_t i = 0; i < PARSERS_SHOWN_FAILURES; i++)
		ret_first[i] = f->first[i];
	pthread_mutex_unlock(&f->lock);
	return n;
}
