// SPDX-License-Identifier: Apache-2.0
/* Runs a fuzz target on every file of a directory: earlier findings, and initial inputs. */
#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "cfi/tests/fuzz.h"

/* No input of a few KiB needs more. AddressSanitizer's own memory is beyond any limit. */
#define MEMORY_LIMIT (UINT64_C(256) << 20)

static int limit_memory(void)
{
#ifdef __SANITIZE_ADDRESS__
	return 0;
#else
	const struct rlimit limit = { MEMORY_LIMIT, MEMORY_LIMIT };

	return setrlimit(RLIMIT_AS, &limit);
#endif
}

/* In memory of the file's size, so that a sanitizer sees a read behind its end. */
static int replay(const char *directory, const char *name)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_free_ uint8_t *bytes = NULL;
	struct stat st;
	size_t size;

	if (asprintf(&path, "%s/%s", directory, name) < 0)
		return -1;
	file = fopen(path, "re");
	if (!file || fstat(fileno(file), &st) < 0 || !S_ISREG(st.st_mode)) {
		perror(path);
		return -1;
	}
	size = (size_t)st.st_size;
	bytes = malloc(size ? size : 1);
	if (!bytes || fread(bytes, 1, size, file) != size) {
		perror(path);
		return -1;
	}
	printf("%s\n", name);
	fflush(stdout); /* the last name is the one that failed */
	LLVMFuzzerTestOneInput(bytes, size);
	return 0;
}

int main(int argc, char **argv)
{
	_cleanup_closedir_ DIR *directory = argc == 2 ? opendir(argv[1]) : NULL;
	struct dirent *entry;
	int n = 0;

	if (!directory) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 2;
	}
	if (limit_memory() < 0) {
		perror("setrlimit");
		return 1;
	}
	while ((entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		if (replay(argv[1], entry->d_name) < 0)
			return 1;
		n++;
	}
	if (n == 0)
		fprintf(stderr, "%s: no files\n", argv[1]);
	return n == 0;
}
