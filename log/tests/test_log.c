// SPDX-License-Identifier: Apache-2.0
/*
 * Messages contain no control characters; multi-line texts are printed line by line; threads do not
 * interleave.
 */
#include <pthread.h>

#include "log/log.h"
#include "log/tests/said.h"

static void speak_evil(void)
{
	log_warning("cannot read %s", "a\x1b[2J\nb\xff");
	log_detail("try:  %s", "\r\xc2\x9bä");
}

Test(log, says_no_control_characters)
{
	char *text = said(speak_evil);

	cr_assert_str_eq(text, "dwarfprof: warning: cannot read a?[2J?b?\n  try:  ???ä\n");
	free(text);
}

static void speak_lines(void)
{
	char text[2100];

	memset(text, 'x', sizeof(text) - 1);
	memcpy(text + 1002, "\n\nlast", sizeof("\n\nlast"));
	log_lines(LOG_INFO, text);
	log_lines(LOG_INFO, "one\n");
	log_lines(LOG_DEBUG, "nobody asked\n");
}

/* The verifier's log is printed line by line, to the end. */
Test(log, says_all_lines_of_a_text)
{
	char *text = said(speak_lines);

	cr_assert(strncmp(text, "dwarfprof: xxx", 14) == 0);
	cr_assert_str_eq(text + strlen("dwarfprof: ") + 1000,
			 "\ndwarfprof: \ndwarfprof: last\ndwarfprof: one\n");
	free(text);
}

#define N_MESSAGES 2000

static void *speak_often(void *arg)
{
	for (int i = 0; i < N_MESSAGES; i++)
		log_warning("%s", (const char *)arg);
	return NULL;
}

static void speak_at_once(void)
{
	static char words[][4] = { "one", "two" };
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		cr_assert(pthread_create(&threads[i], NULL, speak_often, words[i]) == 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

/* However many threads log, each message is one line. */
Test(log, says_one_thing_after_the_other, .timeout = 20)
{
	char *text = said(speak_at_once);
	const char *at = text;
	int n = 0;

	while (strncmp(at, "dwarfprof: warning: one\n", 24) == 0 ||
	       strncmp(at, "dwarfprof: warning: two\n", 24) == 0) {
		at += 24;
		n++;
	}
	cr_assert_eq(n, 2 * N_MESSAGES, "behind message %d", n);
	cr_assert_eq(*at, '\0');
	free(text);
}
