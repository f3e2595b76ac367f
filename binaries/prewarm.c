// SPDX-License-Identifier: Apache-2.0
#include "binaries/prewarm.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/elf_open.h"
#include "elf/mapped_file.h"
#include "log/log.h"

/* The dynamic linker's default directories, ld.so(8). /etc/ld.so.conf is not read. */
static const char *const default_dirs[] = {
	"/lib/" DP_ARCH "-linux-gnu",
	"/usr/lib/" DP_ARCH "-linux-gnu",
	"/lib64",
	"/usr/lib64",
	"/lib",
	"/usr/lib",
	"/usr/local/lib",
};

/* Files found so far. Each is loaded once, and its dependencies are added. */
struct prewarm {
	struct binary_store *store;
	char **paths;
	size_t n_paths, paths_size;
};

static void prewarm_done(struct prewarm *p)
{
	for (size_t i = 0; i < p->n_paths; i++)
		free(p->paths[i]);
	free(p->paths);
}

/* Adds a file by its resolved path. False if it does not exist or is already there. */
static bool add_path(struct prewarm *p, const char *path)
{
	_cleanup_free_ char *real = NULL;

	if (access(path, R_OK) < 0)
		return false;
	real = realpath(path, NULL);
	if (!real)
		return false;
	for (size_t i = 0; i < p->n_paths; i++)
		if (strcmp(p->paths[i], real) == 0)
			return true;
	if (array_reserve(p->paths, p->n_paths, p->paths_size) < 0)
		return false;
	p->paths[p->n_paths++] = steal_ptr(real);
	return true;
}

static bool add_from_dir(struct prewarm *p, const char *dir, size_t dir_length, const char *name)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%.*s/%s", (int)dir_length, dir, name);

	return n > 0 && (size_t)n < sizeof(path) && add_path(p, path);
}

/* Searches the directories of a colon-separated list; $ORIGIN is the file's own directory. */
static bool add_from_list(struct prewarm *p, const char *list, const char *origin, const char *name)
{
	static const char variable[] = "$ORIGIN";
	const char *slash = strrchr(origin, '/');

	while (list && *list) {
		size_t n = strcspn(list, ":");
		char dir[PATH_MAX];

		if (strncmp(list, variable, strlen(variable)) == 0)
			snprintf(dir, sizeof(dir), "%.*s%.*s", (int)(slash - origin), origin,
				 (int)(n - strlen(variable)), list + strlen(variable));
		else
			snprintf(dir, sizeof(dir), "%.*s", (int)n, list);
		if (add_from_dir(p, dir, strlen(dir), name))
			return true;
		list += n + (list[n] == ':');
	}
	return false;
}

static void add_library(struct prewarm *p, const char *origin, const char *rpath, const char *name)
{
	if (strchr(name, '/')) {
		add_path(p, name);
		return;
	}
	if (add_from_list(p, rpath, origin, name) ||
	    add_from_list(p, getenv("LD_LIBRARY_PATH"), origin, name))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(default_dirs); i++)
		if (add_from_dir(p, default_dirs[i], strlen(default_dirs[i]), name))
			return;
}

/* Adds the libraries listed in a file's dynamic section. */
static void add_needed(struct prewarm *p, const char *path, Elf *elf, Elf_Scn *scn,
		       const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	const char *rpath = NULL;
	GElf_Dyn dyn;

	for (size_t i = 0; i < n && gelf_getdyn(data, (int)i, &dyn); i++)
		if (dyn.d_tag == DT_RUNPATH || (dyn.d_tag == DT_RPATH && !rpath))
			rpath = elf_strptr(elf, header->sh_link, dyn.d_un.d_val);
	for (size_t i = 0; i < n && gelf_getdyn(data, (int)i, &dyn); i++) {
		const char *name;

		if (dyn.d_tag != DT_NEEDED)
			continue;
		name = elf_strptr(elf, header->sh_link, dyn.d_un.d_val);
		if (name)
			add_library(p, path, rpath, name);
	}
}

static void add_interpreter(struct prewarm *p, Elf *elf, const GElf_Shdr *header)
{
	size_t size;
	const char *file = elf_rawfile(elf, &size);

	if (file && header->sh_offset < size &&
	    memchr(file + header->sh_offset, '\0', size - header->sh_offset))
		add_path(p, file + header->sh_offset);
}

static void add_dependencies(struct prewarm *p, const char *path, Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;
		GElf_Shdr header;

		if (!gelf_getshdr(scn, &header))
			return;
		name = elf_strptr(elf, names, header.sh_name);
		if (header.sh_type == SHT_DYNAMIC)
			add_needed(p, path, elf, scn, &header);
		else if (name && strcmp(name, ".interp") == 0)
			add_interpreter(p, elf, &header);
	}
}

/* Loads a file; for a script, its interpreter. */
static void load(struct prewarm *p, const char *path)
{
	_cleanup_close_ int fd = regular_file_open(path, 0);
	char line[PATH_MAX] = "";
	struct binary *b;
	ssize_t n;
	Elf *elf;

	if (fd < 0)
		return;
	n = pread(fd, line, sizeof(line) - 1, 0);
	if (n > 2 && line[0] == '#' && line[1] == '!') {
		char *word = line + 2 + strspn(line + 2, " \t");

		word[strcspn(word, " \t\n")] = '\0';
		add_path(p, word);
		return;
	}
	elf = elf_open(fd);
	/* The store may close the descriptor. */
	if (elf && elf_cntl(elf, ELF_C_FDREAD) < 0) {
		elf_end(elf);
		elf = NULL;
	}
	if (binary_store_get(p->store, getpid(), steal_fd(&fd), path, &b) == 0)
		add_dependencies(p, path, elf);
	elf_end(elf);
}

void prewarm_command(struct binary_store *store, const char *command)
{
	_cleanup_(prewarm_done) struct prewarm p = { .store = store };
	const char *search = strchr(command, '/') ? NULL : getenv("PATH");

	if (!search)
		add_path(&p, command);
	else
		add_from_list(&p, search, "/", command);
	for (size_t i = 0; i < p.n_paths; i++)
		load(&p, p.paths[i]);
}
