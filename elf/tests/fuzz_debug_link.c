// SPDX-License-Identifier: Apache-2.0
/*
 * The name of a debug file in .gnu_debuglink: it is read as its description says, and only files of
 * the program's owner, or everyone's, are opened. Input: bytes of the build id (1, the low 5 bits), the
 * build id, the section.
 */
#include <errno.h>

#include "elf/debug_frame.h"
#include "elf/tests/debug_tree.h"
#include "elf/tests/elf_bytes.h"

#define N_SECTIONS 3

static const char names[] = "\0.gnu_debuglink\0.shstrtab";
static int program = -1;

/* A file with nothing but the section; the caller frees it. */
static char *make_file(const struct feed *f, size_t *ret_size)
{
	size_t left = (size_t)(f->end - f->pos);
	const Elf64_Ehdr head = elf_header(0, N_SECTIONS);
	const Elf64_Shdr sections[N_SECTIONS] = {
		[1] = { .sh_name = 1,
			.sh_type = SHT_PROGBITS,
			.sh_offset = sizeof(head) + sizeof(sections) + sizeof(names),
			.sh_size = left },
		[2] = { .sh_name = 16,
			.sh_type = SHT_STRTAB,
			.sh_offset = sizeof(head) + sizeof(sections),
			.sh_size = sizeof(names) },
	};
	char *file;

	*ret_size = sections[1].sh_offset + left;
	file = malloc(*ret_size);
	EXPECT(file);
	memcpy(file, &head, sizeof(head));
	memcpy(file + sizeof(head), sections, sizeof(sections));
	memcpy(file + sections[2].sh_offset, names, sizeof(names));
	memcpy(file + sections[1].sh_offset, f->pos, left);
	return file;
}

/* The name is one in a directory and ends with a zero; the checksum follows at a multiple of 4 bytes. */
static bool has_link(const struct feed *f, const char **ret, uint32_t *ret_checksum)
{
	size_t left = (size_t)(f->end - f->pos), at;
	const uint8_t *end = memchr(f->pos, '\0', left);

	if (!end || end == f->pos || memchr(f->pos, '/', (size_t)(end - f->pos)) ||
	    strcmp((const char *)f->pos, ".") == 0 || strcmp((const char *)f->pos, "..") == 0)
		return false;
	at = ((size_t)(end - f->pos) + 1 + 3) & ~(size_t)3;
	if (at + sizeof(*ret_checksum) > left)
		return false;
	*ret = (const char *)f->pos;
	memcpy(ret_checksum, f->pos + at, sizeof(*ret_checksum));
	return true;
}

static void feed_build_id(struct feed *f, char ret[65])
{
	int n = feed_u8(f) & 31;

	for (int i = 0; i < n; i++)
		snprintf(ret + 2 * i, 3, "%02x", feed_u8(f));
}

/* Whatever is found is the debug file. */
static bool belongs(void *n, int fd, const struct debug_wanted *wanted)
{
	++*(size_t *)n;
	return true;
}

static void search(const struct debug_wanted *wanted)
{
	struct stat st;
	char path[PATH_MAX];
	size_t n = 0;
	const struct debug_reader reader = { .belongs = belongs, .arg = &n };
	int fd = debug_search(program, wanted, &reader);

	EXPECT(fd >= 0 ? n == 1 : fd == -ENOENT && n == 0);
	if (fd < 0)
		return;
	EXPECT(fstat(program, &st) == 0);
	snprintf(path, sizeof(path), "%s/%s", tree_path("in"), wanted->link);
	if (!is_straight(fd, path))
		snprintf(path, sizeof(path), "%s/%s", tree_path("in/.debug"), wanted->link);
	tree_check(fd, path, st.st_uid);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = { data, data + size };
	char build_id[65] = "";
	struct debug_wanted wanted = { .build_id = build_id };
	const char *expected;
	uint32_t checksum;
	char *file;
	Elf *elf;

	if (program < 0) {
		tree_make();
		program = open(tree_path("in/program"), O_RDONLY | O_CLOEXEC);
		EXPECT(program >= 0 && elf_version(EV_CURRENT) != EV_NONE);
	}
	feed_build_id(&feed, build_id);
	file = make_file(&feed, &size);
	elf = elf_memory(file, size);
	EXPECT(elf);
	wanted.link = debug_link_read(elf, &wanted.checksum);
	EXPECT((wanted.link != NULL) == has_link(&feed, &expected, &checksum));
	if (wanted.link)
		EXPECT(strcmp(wanted.link, expected) == 0 && wanted.checksum == checksum);
	search(&wanted);
	elf_end(elf);
	free(file);
	return 0;
}
