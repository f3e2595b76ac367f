// SPDX-License-Identifier: Apache-2.0
#include "symbols/usdt.h"

#include <ctype.h>
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/elf_open.h"

#define NOTE_OWNER "stapsdt"
#define NOTE_TYPE 3
#define MAX_SEGMENTS 256
/* An address that no segment has. */
#define NOWHERE UINT64_MAX

struct search {
	Elf *elf;
	uint64_t base; /* where .stapsdt.base is; 0: there is none */
	struct usdt_place *places;
	size_t n, size;
};

static uint64_t offset_of(Elf *elf, uint64_t address)
{
	size_t n;

	if (elf_getphdrnum(elf, &n) < 0 || n > MAX_SEGMENTS)
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
static bool read_note(const struct search *s, const char *at, size_t size, struct usdt_place *ret)
{
	const char *end = at + size, *provider, *name, *arguments;
	uint64_t addresses[3], moved;

	if (size < sizeof(addresses))
		return false;
	memcpy(addresses, at, sizeof(addresses));
	at += sizeof(addresses);
	provider = take_text(&at, end);
	name = provider ? take_text(&at, end) : NULL;
	arguments = name ? take_text(&at, end) : NULL;
	if (!arguments)
		return false;
	moved = s->base && addresses[1] ? s->base - addresses[1] : 0;
	memset(ret, 0, sizeof(*ret));
	ret->offset = offset_of(s->elf, addresses[0] + moved);
	if (addresses[2])
		ret->semaphore = offset_of(s->elf, addresses[2] + moved);
	snprintf(ret->provider, sizeof(ret->provider), "%s", provider);
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	ret->n_arguments = (uint32_t)usdt_arguments_parse(arguments, ret->arguments);
	return ret->offset != NOWHERE && ret->semaphore != NOWHERE;
}

static int read_notes(struct search *s, Elf_Data *data)
{
	size_t at = 0, name, text;
	GElf_Nhdr note;

	while (data && (at = gelf_getnote(data, at, &note, &name, &text)) > 0) {
		const char *bytes = data->d_buf;

		if (note.n_type != NOTE_TYPE || note.n_namesz != sizeof(NOTE_OWNER) ||
		    memcmp(bytes + name, NOTE_OWNER, sizeof(NOTE_OWNER)) != 0)
			continue;
		if (s->n == USDT_MAX_PLACES)
			return -EFBIG;
		if (array_reserve(s->places, s->n, s->size) < 0)
			return -ENOMEM;
		s->n += read_note(s, bytes + text, note.n_descsz, &s->places[s->n]);
	}
	return 0;
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

int usdt_find(int fd, struct usdt_place **ret, size_t *ret_n)
{
	_cleanup_elf_ Elf *elf = elf_open(fd);
	struct search s = { .elf = elf };
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	int err = 0;

	if (!elf)
		return -ENOEXEC;
	if (next_named(elf, NULL, ".stapsdt.base", &header))
		s.base = header.sh_addr;
	while (err == 0 && (section = next_named(elf, section, ".note.stapsdt", &header)))
		if (header.sh_type == SHT_NOTE)
			err = read_notes(&s, elf_getdata(section, NULL));
	if (err < 0) {
		free(s.places);
		return err;
	}
	*ret = s.places;
	*ret_n = s.n;
	return 0;
}
