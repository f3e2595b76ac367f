// SPDX-License-Identifier: Apache-2.0
/*
 * usage: inefficient [SECONDS]
 *
 * A program that a profiler helps: it makes a report of words, and does every
 * part of it in a needlessly slow way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seconds.h"

#define N_WORDS 600
#define WORD_SIZE 12

static char words[N_WORDS][WORD_SIZE];

static void make_words(void)
{
	unsigned int seed = 1;

	for (int i = 0; i < N_WORDS; i++) {
		for (int j = 0; j < WORD_SIZE - 1; j++) {
			seed = seed * 1103515245 + 12345;
			words[i][j] = (char)('a' + seed / 65536 % 26);
		}
		words[i][WORD_SIZE - 1] = '\0';
	}
}

/* Sorts by swapping neighbours: the square of the number of words. */
__attribute__((noinline)) static void sort_words(void)
{
	char swap[WORD_SIZE];

	for (int i = 0; i < N_WORDS; i++) {
		for (int j = 0; j + 1 < N_WORDS - i; j++) {
			if (strcmp(words[j], words[j + 1]) <= 0)
				continue;
			memcpy(swap, words[j], WORD_SIZE);
			memcpy(words[j], words[j + 1], WORD_SIZE);
			memcpy(words[j + 1], swap, WORD_SIZE);
		}
	}
}

/* Finds the end of the text anew for each word. */
__attribute__((noinline)) static char *join_words(void)
{
	char *text = calloc(N_WORDS, WORD_SIZE + 1);

	for (int i = 0; text && i < N_WORDS; i++) {
		strcat(text, words[i]);
		strcat(text, " ");
	}
	return text;
}

static int compare_letters(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}

/* Sorts a copy of the whole text to count one letter. */
__attribute__((noinline)) static size_t count_letter(const char *text, char letter)
{
	char *copy = strdup(text);
	size_t n = 0;

	if (!copy)
		return 0;
	qsort(copy, strlen(copy), 1, compare_letters);
	for (size_t i = 0; copy[i]; i++)
		n += copy[i] == letter;
	free(copy);
	return n;
}

__attribute__((noinline)) static size_t report(void)
{
	size_t total = 0;
	char *text;

	make_words();
	sort_words();
	text = join_words();
	for (char letter = 'a'; text && letter <= 'e'; letter++)
		total += count_letter(text, letter);
	free(text);
	return total;
}

int main(int argc, char **argv)
{
	double end = seconds_now() + (argc > 1 ? atoi(argv[1]) : 1);
	size_t total = 0;

	while (seconds_now() < end)
		total += report();
	printf("%zu\n", total);
	return 0;
}
