// SPDX-License-Identifier: Apache-2.0
#include "elf/loader.h"

#include <ctype.h>
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "bpf/arch.h"
#include "elf/loader_level.h"

#define CACHE "/etc/ld.so.cache"
#define CACHE_MAGIC "glibc-ld.so.cache1.1"
/* A machine has some thousand libraries. */
#define CACHE_MAX_SIZE (16u << 20)

/* glibc's: sysdeps/generic/dl-cache.h. Texts are at offsets from the header. */
struct cache_header {
	char magic[sizeof(CACHE_MAGIC) - 1];
	uint32_t n_entries, texts_size;
	uint32_t unused[5];
};

struct cache_entry {
	int32_t flags;
	uint32_t name, path;
	uint32_t system_version;
	uint64_t cpu; /* 0: for any; else the path tells, too (glibc-hwcaps) */
};

#if DP_ELF_MACHINE == EM_X86_64
#define CACHE_FLAGS 0x303 /* FLAG_ELF_LIBC6 | FLAG_X8664_LIB64 */
#elif DP_ELF_MACHINE == EM_AARCH64
#define CACHE_FLAGS 0xa03 /* FLAG_ELF_LIBC6 | FLAG_AARCH64_LIB64 */
#else
#error "which libraries of the cache are for this machine?"
#endif

const char *library_name(const char *text)
{
	size_t n = strlen(LIBRARY_PREFIX);

	return strncmp(text, LIBRARY_PREFIX, n) == 0 && text[n] && !strchr(text + n, '/') ?
		       text + n :
		       NULL;
}

bool library_is_file(const char *path, const char *name)
{
	const char *last = strrchr(path, '/'), *base = last ? last + 1 : path, *end;
	size_t n = strlen(name);

	if (strcmp(name, "c") == 0 && strncmp(base, "ld-musl-", strlen("ld-musl-")) == 0)
		return true;
	if (strncmp(base, "lib", 3) != 0 || strncmp(base + 3, name, n) != 0)
		return false;
	end = base + 3 + n;
	if (end[0] == '-' && isdigit((unsigned char)end[1]))
		end = strstr(end, ".so") ?: end;
	return strncmp(end, ".so", 3) == 0 && (end[3] == '\0' || end[3] == '.');
}

/* Of names without a version, one may be a script for the linker. */
static bool is_better(const char *name, const char *than)
{
	bool has_version = strstr(name, ".so."), had_version = strstr(than, ".so.");

	if (has_version != had_version)
		return has_version;
	return strverscmp(name, than) > 0;
}

static bool find_in_directory(const char *directory, const char *name, char ret[PATH_MAX])
{
	_cleanup_closedir_ DIR *dir = opendir(directory);
	char best[NAME_MAX + 1] = "";
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (library_is_file(entry->d_name, name) && is_better(entry->d_name, best))
			snprintf(best, sizeof(best), "%s", entry->d_name);
	return best[0] && snprintf(ret, PATH_MAX, "%s/%s", directory, best) < PATH_MAX;
}

static bool find_in_directories(const char *list, const char *name, char ret[PATH_MAX])
{
	bool is_found = false;

	while (!is_found && list && *list) {
		size_t n = strcspn(list, ":");
		_cleanup_free_ char *directory = strndup(list, n);

		is_found = directory && *directory && find_in_directory(directory, name, ret);
		list += n + (list[n] == ':');
	}
	return is_found;
}

/* One that ends within the cache; or "". */
static const char *text_at(const char *cache, size_t size, uint32_t offset)
{
	return offset < size && memchr(cache + offset, '\0', size - offset) ? cache + offset : "";
}

/* Where the texts of an entry are, and what the library is called. */
struct cache_text {
	const char *begin;
	size_t size;
	const char *name;
};

/* The level of an entry that is for this machine and the library, or 0. */
static int level_of_entry(const struct cache_entry *e, const struct cache_text *texts, int level)
{
	int needed =
		e->cpu == 0 ? 1 : loader_level_of_path(text_at(texts->begin, texts->size, e->path));

	return e->flags == CACHE_FLAGS && needed <= level &&
			       library_is_file(text_at(texts->begin, texts->size, e->name),
					       texts->name) ?
		       needed :
		       0;
}

/* Of those for the best level, the cache's order is that of preference. */
bool loader_find_in_cache(const char *cache, size_t size, int level, const char *name,
			  char ret[PATH_MAX])
{
	const char *begin = memmem(cache, size, CACHE_MAGIC, strlen(CACHE_MAGIC)), *path = "";
	struct cache_text texts = { begin, size - (size_t)((begin ?: cache) - cache), name };
	struct cache_header header;
	size_t room;
	int best = 0;

	if (!begin || texts.size < sizeof(header))
		return false;
	memcpy(&header, begin, sizeof(header));
	room = (texts.size - sizeof(header)) / sizeof(struct cache_entry);
	for (size_t i = 0; i < header.n_entries && i < room; i++) {
		struct cache_entry e;
		int found;

		memcpy(&e, begin + sizeof(header) + i * sizeof(e), sizeof(e));
		found = level_of_entry(&e, &texts, level);
		if (found <= best)
			continue;
		best = found;
		path = text_at(begin, texts.size, e.path);
	}
	return path[0] == '/' && snprintf(ret, PATH_MAX, "%s", path) < PATH_MAX;
}

static bool find_in_file(const char *name, char ret[PATH_MAX])
{
	_cleanup_fclose_ FILE *file = fopen(CACHE, "re");
	_cleanup_free_ char *bytes = NULL;
	struct stat st;

	if (!file || fstat(fileno(file), &st) < 0 || st.st_size <= 0 ||
	    st.st_size > (off_t)CACHE_MAX_SIZE)
		return false;
	bytes = malloc((size_t)st.st_size);
	return bytes && fread(bytes, 1, (size_t)st.st_size, file) == (size_t)st.st_size &&
	       loader_find_in_cache(bytes, (size_t)st.st_size, loader_level_of_cpu(), name, ret);
}

bool loader_find(const char *name, char ret[PATH_MAX])
{
	return find_in_directories(getenv("LD_LIBRARY_PATH"), name, ret) ||
	       find_in_file(name, ret) ||
	       find_in_directories("/lib64:/usr/lib64:/lib:/usr/lib:/usr/lib/" DP_ARCH "-linux-gnu",
				   name, ret);
}
