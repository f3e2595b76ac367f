// SPDX-License-Identifier: Apache-2.0
#include "elf/elf_usdt.h"

#include <ctype.h>
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf_open.h"
#include "limits/limits.h"

#define NOTE_OWNER "stapsdt"
#define NOTE_TYPE 3
/* An address that no segment has. */
#define NOWHERE UINT64_MAX

struct search {
	Elf *elf;
	uint64_t base; /* where .stapsdt.base is; 0: there is none */
	elf_usdt_fn fn;
	void *arg;
};

static uint64_t offset_of(Elf *elf, uint64_t address)
{
	size_t n;

	if (elf_getphdrnum(elf, &n) < 0 || n > ELF_MAX_SEGMENTS)
		return NOWHERE;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;

		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && address >= p.p_vaddr &&
		    address - p.p_vaddr < p.p_filesz)
			return address - p.p_vaddr + p.p_offset;
	}
	return NOWHERE;
}

/* Takes a text that ends with a zero from the rest of a note. NULL: it is none. */
static const char *take_text(const char **at, const char *end)
{
	const char *text = *at, *zero = memchr(text, '\0', (size_t)(end - text));

	if (!zero)
		return NULL;
	*at = zero + 1;
	for (const char *c = text; c < zero; c++)
		if (!isprint((unsigned char)*c))
			return NULL;
	return text;
}

/*
 * Three addresses: of the probe, the base, the semaphore; then provider, name and arguments. A file
 * that was moved by prelink has moved with its base; the notes have not.
 */
static bool read_note(const struct search *s, const char *at, size_t size, struct elf_usdt *ret)
{
	const char *end = at + size;
	uint64_t addresses[3], moved;

	*ret = (struct elf_usdt){ 0 };
	if (size < sizeof(addresses))
		return false;
	memcpy(addresses, at, sizeof(addresses));
	at += sizeof(addresses);
	ret->provider = take_text(&at, end);
	ret->name = ret->provider ? take_text(&at, end) : NULL;
	ret->arguments = ret->name ? take_text(&at, end) : NULL;
	moved = s->base && addresses[1] ? s->base - addresses[1] : 0;
	ret->offset = offset_of(s->elf, addresses[0] + moved);
	if (addresses[2])
		ret->semaphore = offset_of(s->elf, addresses[2] + moved);
	return ret->arguments && ret->offset != NOWHERE && ret->semaphore != NOWHERE;
}

static int read_notes(const struct search *s, Elf_Data *data)
{
	size_t at = 0, name, text;
	int result = 0;
	GElf_Nhdr note;

	while (result == 0 && data && (at = gelf_getnote(data, at, &note, &name, &text)) > 0) {
		const char *bytes = data->d_buf;
		struct elf_usdt usdt;

		if (note.n_type == NOTE_TYPE && note.n_namesz == sizeof(NOTE_OWNER) &&
		    memcmp(bytes + name, NOTE_OWNER, sizeof(NOTE_OWNER)) == 0 &&
		    read_note(s, bytes + text, note.n_descsz, &usdt))
			result = s->fn(s->arg, &usdt);
	}
	return result;
}

/* The next section with this name; NULL: there is no other one. */
static Elf_Scn *next_named(Elf *elf, Elf_Scn *section, const char *wanted, GElf_Shdr *ret)
{
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *name;

		if (!gelf_getshdr(section, ret))
			continue;
		name = elf_strptr(elf, names, ret->sh_name);
		if (name && strcmp(name, wanted) == 0)
			return section;
	}
	return NULL;
}

int elf_usdt_each(int fd, elf_usdt_fn fn, void *arg)
{
	_cleanup_elf_ Elf *elf = elf_open(fd);
	struct search s = { .elf = elf, .fn = fn, .arg = arg };
	Elf_Scn *section;
	GElf_Shdr header;

	/* Addresses in the notes of others have four bytes. */
	if (!elf || gelf_getclass(elf) != ELFCLASS64)
		return -ENOEXEC;
	if (next_named(elf, NULL, ".stapsdt.base", &header))
		s.base = header.sh_addr;
	/* Linkers make one; many could all be the same bytes. */
	section = next_named(elf, NULL, ".note.stapsdt", &header);
	return section && header.sh_type == SHT_NOTE ? read_notes(&s, elf_getdata(section, NULL)) :
						       0;
}
