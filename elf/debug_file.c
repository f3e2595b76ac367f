// SPDX-License-Identifier: Apache-2.0
#include "elf/debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/elf_open.h"
#include "elf/mapped_file.h"

#define DEBUG_ROOT "/usr/lib/debug"

/* More than the .debug_frame of any program: a damaged header shall not ask for all memory. */
#define MAX_FRAME_SIZE (UINT64_C(1) << 30)

static Elf_Scn *find_section(Elf *elf, const char *wanted)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(scn, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (name && strcmp(name, wanted) == 0)
			return scn;
	}
	return NULL;
}

/* As the ELF standard compresses sections, or as the GNU tools did before that. */
static bool uncompress(Elf_Scn *scn, bool old)
{
	GElf_Shdr header;
	GElf_Chdr compressed;

	if (old)
		return elf_compress_gnu(scn, 0, 0) >= 0;
	if (!gelf_getshdr(scn, &header))
		return false;
	if (!(header.sh_flags & SHF_COMPRESSED))
		return true;
	return gelf_getchdr(scn, &compressed) && compressed.ch_size <= MAX_FRAME_SIZE &&
	       elf_compress(scn, 0, 0) >= 0;
}

void debug_frame_read(Elf *elf, struct cfi_section *ret)
{
	Elf_Scn *scn = find_section(elf, ".debug_frame");
	bool old = !scn;
	Elf_Data *data;

	*ret = (struct cfi_section){ .debug_frame = true };
	if (!scn)
		scn = find_section(elf, ".zdebug_frame");
	if (!scn || !uncompress(scn, old))
		return;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf)
		return;
	ret->data = data->d_buf;
	ret->size = data->d_size;
}

/* CRC-32 as in zlib and in GDB's description of .gnu_debuglink. */
static uint32_t checksum(const uint8_t *bytes, size_t size)
{
	uint32_t table[256], crc = UINT32_MAX;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
	}
	for (size_t i = 0; i < size; i++)
		crc = table[(crc ^ bytes[i]) & 0xff] ^ crc >> 8;
	return ~crc;
}

static bool has_checksum(Elf *elf, uint32_t wanted)
{
	size_t size;
	const char *bytes = elf_rawfile(elf, &size);

	return bytes && checksum((const uint8_t *)bytes, size) == wanted;
}

static bool has_build_id(Elf *elf, const char *wanted)
{
	Elf_Scn *scn = find_section(elf, ".note.gnu.build-id");
	Elf_Data *notes = scn ? elf_getdata(scn, NULL) : NULL;
	size_t name, desc;
	GElf_Nhdr note;

	if (!notes || gelf_getnote(notes, 0, &note, &name, &desc) == 0 ||
	    note.n_type != NT_GNU_BUILD_ID || 2 * (size_t)note.n_descsz != strlen(wanted))
		return false;
	for (size_t i = 0; i < note.n_descsz; i++) {
		char digits[3];

		snprintf(digits, sizeof(digits), "%02x", ((const uint8_t *)notes->d_buf)[desc + i]);
		if (strncmp(digits, wanted + 2 * i, 2) != 0)
			return false;
	}
	return true;
}

/* NULL if there is no such file. One that is no ordinary file could block. */
static Elf *open_elf(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	Elf *elf;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	elf = elf_open(fd);
	/* From here on without the descriptor. */
	if (elf && elf_cntl(elf, ELF_C_FDREAD) < 0) {
		elf_end(elf);
		return NULL;
	}
	return elf;
}

static Elf *open_by_build_id(const char *build_id)
{
	char path[PATH_MAX];
	Elf *elf;

	if (strlen(build_id) < 4)
		return NULL;
	snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%.2s/%s.debug", build_id, build_id + 2);
	elf = open_elf(path);
	if (elf && !has_build_id(elf, build_id)) {
		elf_end(elf);
		return NULL;
	}
	return elf;
}

/* The name in .gnu_debuglink, and behind it, at a multiple of 4, the checksum. */
static const char *read_link(Elf *elf, uint32_t *ret_checksum)
{
	Elf_Scn *scn = find_section(elf, ".gnu_debuglink");
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
	const char *name;
	size_t length;

	if (!data || !data->d_buf)
		return NULL;
	name = data->d_buf;
	length = strnlen(name, data->d_size);
	if (length == 0 || length / 4 * 4 + 8 > data->d_size || memchr(name, '/', length))
		return NULL;
	memcpy(ret_checksum, name + length / 4 * 4 + 4, sizeof(*ret_checksum));
	return name;
}

static Elf *open_by_link(Elf *file, int fd)
{
	static const char *const places[][2] = { { "", "" },
						 { "", "/.debug" },
						 { DEBUG_ROOT, "" } };
	char self[64], directory[PATH_MAX];
	uint32_t wanted;
	const char *name = read_link(file, &wanted);
	ssize_t n;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = name ? readlink(self, directory, sizeof(directory) - 1) : -1;
	if (n <= 0 || directory[0] != '/')
		return NULL;
	directory[n] = '\0';
	*strrchr(directory, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char *path;
		Elf *elf;

		if (asprintf(&path, "%s%s%s/%s", places[i][0], directory, places[i][1], name) < 0)
			return NULL;
		elf = open_elf(path);
		free(path);
		if (elf && has_checksum(elf, wanted))
			return elf;
		elf_end(elf);
	}
	return NULL;
}

/* Has the process another root, or other mounts, than this one? */
static bool has_other_root(pid_t pid)
{
	static const char *const names[] = { "root/", "ns/mnt" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char path[48], own[32];
		struct stat st, ours;

		snprintf(path, sizeof(path), "/proc/%d/%s", pid, names[i]);
		snprintf(own, sizeof(own), "/proc/self/%s", names[i]);
		if (stat(path, &st) == 0 && stat(own, &ours) == 0 &&
		    (st.st_dev != ours.st_dev || st.st_ino != ours.st_ino))
			return true;
	}
	return false;
}

/* Open a file below a root, which its links do not leave. Without openat2() (Linux 5.6), none. */
static int open_below(int root, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int place = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	char link[32];

	if (place < 0)
		return -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	return regular_file_open(link, 0);
}

/* By their build id, files are known; those that have none, by the link's checksum. */
static bool belongs(int fd, const char *build_id, uint32_t wanted)
{
	_cleanup_elf_ Elf *elf = elf_open(fd);

	return elf && (build_id[0] ? has_build_id(elf, build_id) : has_checksum(elf, wanted));
}

static int open_link_below(int root, const char *path, Elf *elf, const char *build_id)
{
	static const char *const places[][2] = { { "", "" },
						 { "", "/.debug" },
						 { DEBUG_ROOT, "" } };
	uint32_t wanted;
	const char *name = read_link(elf, &wanted);
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; name && slash && i < sizeof(places) / sizeof(*places); i++) {
		char file[2 * PATH_MAX];
		int fd;

		snprintf(file, sizeof(file), "%s%.*s%s/%s", places[i][0], (int)(slash - path), path,
			 places[i][1], name);
		fd = open_below(root, file);
		if (fd >= 0 && belongs(fd, build_id, wanted))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -ENOENT;
}

/* Paths are told as this process sees them, which, if the other one's root is below, shows that. */
static const char *path_inside(pid_t pid, const char *path)
{
	char place[48], root[PATH_MAX];
	ssize_t n;

	snprintf(place, sizeof(place), "/proc/%d/root", pid);
	n = readlink(place, root, sizeof(root) - 1);
	if (n <= 1)
		return path;
	root[n] = '\0';
	return strncmp(path, root, (size_t)n) == 0 && path[n] == '/' ? path + n : path;
}

int debug_file_open_for(pid_t pid, const char *path, Elf *elf, const char *build_id)
{
	_cleanup_close_ int root = -1;
	char place[PATH_MAX];
	int fd = -ENOENT;

	/* With servers to ask, libdwfl's search leaves links out (dwfl_file.c). */
	if (!has_other_root(pid) && !getenv("DEBUGINFOD_URLS"))
		return -ENOENT;
	snprintf(place, sizeof(place), "/proc/%d/root", pid);
	root = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	if (strlen(build_id) >= 4) {
		snprintf(place, sizeof(place), DEBUG_ROOT "/.build-id/%.2s/%s.debug", build_id,
			 build_id + 2);
		fd = open_below(root, place);
	}
	if (fd >= 0 && belongs(fd, build_id, 0))
		return fd;
	if (fd >= 0)
		close(fd);
	return open_link_below(root, path_inside(pid, path), elf, build_id);
}

Elf *debug_file_open(Elf *elf, int fd, const char *build_id)
{
	Elf *found = open_by_build_id(build_id);

	return found ? found : open_by_link(elf, fd);
}
