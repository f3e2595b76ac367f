// SPDX-License-Identifier: Apache-2.0
/*
 * Lines of /proc/PID/maps. Input: the kind (1); if even, the lines as they are; else the name of a
 * mapped file, which the line gets as the kernel writes it.
 */
#include <errno.h>

#include "cfi/tests/fuzz.h"
#include "kernel/proc_maps.h"

#define START "1000-2000 r-xp 00003000 08:01 42                         "
#define NEXT "5000-6000 rw-p 00000000 00:00 0 \n"

static void read_lines(const char *text, size_t size)
{
	struct proc_maps maps = { .file = fmemopen((void *)text, size, "r") };
	struct proc_map map;
	size_t n = 0, seen = 0;
	int err;

	EXPECT(maps.file);
	while ((err = proc_maps_next(&maps, &map)) == 1) {
		seen += strlen(map.name) + 1;
		n++;
		EXPECT(!map.executable || memchr(text, 'x', size));
	}
	EXPECT(err == 0 || err == -EBADMSG);
	EXPECT(n <= size && seen <= size + 1);
	proc_maps_close(&maps);
	EXPECT(!maps.file && !maps.line);
}

/* As the kernel writes a path (seq_path()), and as it is then read. */
static void put_path(const struct feed *feed, FILE *line, FILE *shown)
{
	const uint8_t *end = memchr(feed->pos, '\0', (size_t)(feed->end - feed->pos));

	end = end ? end : feed->end;
	fputc('/', line);
	fputc('/', shown);
	for (const uint8_t *at = feed->pos; at < end; at++) {
		if (*at == '\n')
			fputs("\\012", line);
		else
			fputc(*at, line);
		if (end - at >= 4 && memcmp(at, "\\012", 4) == 0) {
			fputs("012", line);
			fputc('\n', shown);
			at += 3;
		} else {
			fputc(*at, shown);
		}
	}
}

/* Whatever its name is, a file has one line. */
static void read_path(const struct feed *feed)
{
	static const char deleted[] = " (deleted)";
	char *text = NULL, *shown = NULL;
	size_t size, shown_size;
	FILE *line = open_memstream(&text, &size), *expected = open_memstream(&shown, &shown_size);
	struct proc_maps maps = { 0 };
	struct proc_map map;

	EXPECT(line && expected);
	fputs(START, line);
	put_path(feed, line, expected);
	fputs("\n" NEXT, line);
	EXPECT(fclose(line) == 0 && fclose(expected) == 0);
	if (shown_size >= sizeof(deleted) &&
	    strcmp(shown + shown_size - strlen(deleted), deleted) == 0)
		shown[shown_size - strlen(deleted)] = '\0';
	maps.file = fmemopen(text, size, "r");
	EXPECT(maps.file && proc_maps_next(&maps, &map) == 1);
	EXPECT(map.start == 0x1000 && map.end == 0x2000 && map.offset == 0x3000);
	EXPECT(map.executable && map.inode == 42 && strcmp(map.name, shown) == 0);
	EXPECT(proc_maps_next(&maps, &map) == 1);
	EXPECT(map.start == 0x5000 && !map.executable && map.name[0] == '\0');
	EXPECT(proc_maps_next(&maps, &map) == 0);
	proc_maps_close(&maps);
	free(text);
	free(shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = { data, data + size };
	uint8_t kind = feed_u8(&feed);

	if (kind % 2 == 1)
		read_path(&feed);
	else if (feed.pos < feed.end) /* glibc's fmemopen() refuses an empty file */
		read_lines((const char *)feed.pos, (size_t)(feed.end - feed.pos));
	return 0;
}
