// SPDX-License-Identifier: Apache-2.0
/*
 * usage: compare_libdw FILE...
 *
 * Compares the rows of each file's image with the results of libdw's dwarf_cfi_addrframe() for the
 * same addresses: CFA, return address, rbp and the other callee-saved registers, and where neither
 * has a row. Prints some differences and the figures of each file and of all together. Reports a
 * file without unwind information according to its section headers. A file that cannot be compared
 * for another reason is an error, like a difference.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/debug_frame.h"
#include "elf/elf_file.h"
#include "elf/elf_open.h"
#include "tables/decode.h"

/* The maximum number of differences to print per file. */
#define MAX_SHOWN 5

/*
 * The most rows of a file, of whose CFA libdw may give up: libgcrypt's assembly has 8. More would be
 * a change of libdw, or of ours.
 */
#define MAX_GIVEN_UP 16

/* The size of an .eh_frame without records. */
#define TERMINATOR 4

struct comparison {
	const char *path;
	Dwarf_CFI *cfi;
	const struct image_row *row; /* currently being compared */
	uint64_t done;               /* end of the last row */
	bool had_expression;         /* libdw's last known CFA was an expression */
	uint64_t compared, refused, given_up, different;
};

/* Totals of all files. */
struct total {
	int files, nothing;
	uint64_t compared, refused, different;
};

static void differ(struct comparison *c, uint64_t pc, const char *what)
{
	if (c->different++ < MAX_SHOWN)
		printf("%s: at %" PRIx64 " %s differs\n", c->path, pc, what);
}

/* Whether an expression is libdw's form of a register plus an offset. */
static bool is_sum(const Dwarf_Op *op, unsigned int reg, int64_t offset)
{
	if (op->atom == DW_OP_bregx)
		return op->number == reg && (int64_t)op->number2 == offset;
	return op->atom == DW_OP_breg0 + reg && (int64_t)op->number == offset;
}

static bool same_cfa(const struct dp_rule *rule, const Dwarf_Op *ops, size_t n)
{
	uint64_t add;

	switch (rule->cfa) {
	case DP_CFA_REGISTER:
		return n == 1 && is_sum(ops, rule->cfa_reg, rule->cfa_offset);
	case DP_CFA_MEMORY:
		add = n == 3 && ops[2].atom == DW_OP_plus_uconst ? ops[2].number : 0;
		return n == (add ? 3 : 2) && is_sum(ops, rule->cfa_reg, rule->cfa_offset) &&
		       ops[1].atom == DW_OP_deref && add == (uint64_t)rule->cfa_add;
	case DP_CFA_PLT:
		return n == 9 && is_sum(ops, DP_REG_SP, 8) && is_sum(&ops[1], DP_REG_PC, 0) &&
		       ops[4].atom - DW_OP_lit0 == rule->cfa_add;
	case DP_CFA_EXPRESSION: /* its result is tested elsewhere */
		return n > 2;
	case DP_CFA_SIGNAL:
		return n == 2 && ops[1].atom == DW_OP_deref;
	}
	return false;
}

/*
 * Handwritten code returns from an expression to a register without an offset. The earlier offset
 * then applies (libgcc's unwinder, gas's manual), but libdw has no CFA until both are given.
 */
static void compare_cfa(struct comparison *c, Dwarf_Frame *frame, uint64_t pc)
{
	const struct dp_rule *rule = &c->row->rule;
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_cfa(frame, &ops, &n) < 0) {
		/* Ends with the function: the next one starts with the rules of its CIE. */
		if (c->had_expression && rule->cfa == DP_CFA_REGISTER)
			c->given_up++;
		else
			differ(c, pc, "that there is a CFA");
		return;
	}
	if (!same_cfa(rule, ops, n))
		differ(c, pc, "the CFA");
	c->had_expression = rule->cfa == DP_CFA_EXPRESSION || rule->cfa == DP_CFA_MEMORY;
}

/* The register in an operation; -1: it has none. */
static int register_of(const Dwarf_Op *op)
{
	if (op->atom == DW_OP_regx)
		return (int)op->number;
	return op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31 ? op->atom - DW_OP_reg0 : -1;
}

/* dwarf_frame_register() in <elfutils/libdw.h> describes how rules are returned. */
static bool same_where(const struct dp_where *w, const Dwarf_Op *ops, size_t n, bool is_return)
{
	int64_t offset = 0;

	if (n == 0) /* unchanged or undefined, which differ only for the return address */
		return w->kind == (is_return ? DP_WHERE_UNDEFINED : w->kind) &&
		       (w->kind == DP_WHERE_SAME || w->kind == DP_WHERE_UNDEFINED);
	if (register_of(&ops[0]) >= 0)
		return n == 1 && w->kind == DP_WHERE_REGISTER && w->reg == register_of(&ops[0]);
	if (ops[0].atom == DW_OP_call_frame_cfa && n <= 2 &&
	    (n == 1 || ops[1].atom == DW_OP_plus_uconst)) {
		if (n == 2)
			offset = (int64_t)ops[1].number;
		return w->kind == DP_WHERE_CFA && w->offset == offset;
	}
	if (ops[0].atom == DW_OP_call_frame_cfa) { /* pushed before an expression */
		ops++;
		n--;
	}
	if (n == 1)
		return w->kind == DP_WHERE_MEMORY && is_sum(ops, w->reg, w->offset);
	return w->kind != DP_WHERE_SAME && w->kind != DP_WHERE_UNDEFINED;
}

static void compare_register(struct comparison *c, Dwarf_Frame *frame, uint64_t pc, int reg,
			     const struct dp_where *w)
{
	Dwarf_Op memory[3], *ops;
	size_t n;

	if (dwarf_frame_register(frame, reg, memory, &ops, &n) < 0 ||
	    !same_where(w, ops, n, reg == DP_REG_PC))
		differ(c, pc, register_name((unsigned int)reg));
}

static void compare_frame(struct comparison *c, Dwarf_Frame *frame, uint64_t pc)
{
	static const int saved[DP_N_SAVED] = {
#define X(name, word) DP_##name,
		DP_SAVED_REGISTERS(X)
#undef X
	};
	const struct image_row *row = c->row;

	if (row->rule.cfa == DP_CFA_NONE) {
		c->had_expression = false;
		c->refused++;
		return;
	}
	compare_cfa(c, frame, pc);
	if (row->rule.cfa == DP_CFA_SIGNAL)
		return; /* by definition, all other registers are where the kernel puts them */
	compare_register(c, frame, pc, DP_REG_PC, &row->rule.ra);
	compare_register(c, frame, pc, DP_REG_FP, &row->rule.fp);
	for (int i = 0; i < DP_N_SAVED; i++)
		compare_register(c, frame, pc, saved[i], &row->saves.where[i]);
}

static bool is_start_up_code(const struct dp_rule *rule)
{
	return rule->ra.kind == DP_WHERE_UNDEFINED;
}

/* Compares each of libdw's rows that begins in a row of the image. */
static int compare_row(const struct image_row *row, void *arg)
{
	struct comparison *c = arg;
	uint64_t pc = row->start;

	c->row = row;
	if (c->done < pc) {
		_cleanup_free_ Dwarf_Frame *none = NULL;

		if (c->done != 0 && dwarf_cfi_addrframe(c->cfi, c->done, &none) == 0)
			differ(c, c->done, "the gap");
	}
	while (pc < row->end) {
		_cleanup_free_ Dwarf_Frame *frame = NULL;
		Dwarf_Addr start, end;

		if (dwarf_cfi_addrframe(c->cfi, pc, &frame) < 0) {
			/* Start-up code has a rule although no unwind information covers it. */
			if (!is_start_up_code(&row->rule))
				differ(c, pc, "that there is a row");
			break;
		}
		if (dwarf_frame_info(frame, &start, &end, NULL) < 0 || end <= pc)
			break;
		c->compared++;
		compare_frame(c, frame, pc);
		pc = end;
	}
	c->done = row->end;
	return 0;
}

static bool is_frame(const char *name, const GElf_Shdr *header, const char **ret_why)
{
	bool is_eh = strcmp(name, ".eh_frame") == 0;

	if (!is_eh && strcmp(name, ".debug_frame") != 0 && strcmp(name, ".zdebug_frame") != 0)
		return false;
	if (header->sh_type == SHT_NOBITS)
		*ret_why = "the bytes are in another file";
	else if (is_eh && header->sh_size <= TERMINATOR)
		*ret_why = ".eh_frame has no record";
	else
		return true;
	return false;
}

/* Why a file has no unwind information, from its section headers; NULL: it may have some. */
static const char *why_nothing(Elf *elf)
{
	const char *why = "neither .eh_frame nor .debug_frame";
	Elf_Scn *scn = NULL;
	size_t names, n;

	if (elf_getshdrnum(elf, &n) < 0 || n == 0 || elf_getshdrstrndx(elf, &names) < 0)
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr header;
		const char *name =
			gelf_getshdr(scn, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;

		if (!name || is_frame(name, &header, &why))
			return NULL;
	}
	return why;
}

/* For .debug_frame, *ret owns the result. elf has it. */
static Dwarf_CFI *cfi_of(const struct elf_file *file, Elf *elf, Dwarf **ret)
{
	if (file->source != ELF_SOURCE_DEBUG_FRAME && file->source != ELF_SOURCE_DEBUG_FILE)
		return dwarf_getcfi_elf(elf);
	*ret = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	return *ret ? dwarf_getcfi(*ret) : NULL;
}

/* 0, or the reason why it cannot be compared. */
static int compare_image(struct comparison *c, struct elf_file *file, Elf *elf)
{
	Dwarf *dwarf = NULL;
	struct image image;
	int err;

	/* libdw has no rows from anything but unwind information. */
	file->code.n_ranges = 0;
	/* Nor from .debug_frame for the gaps: libdw reads a single section. */
	file->code.fallback.size = 0;
	file->code.go.size = 0;
	err = image_build(&file->cfi, &file->code, &image);
	if (err < 0)
		return err;
	c->cfi = cfi_of(file, elf, &dwarf);
	if (c->cfi)
		image_for_each_row(&image, compare_row, c);
	else if (image.stats.n_fdes > 0)
		err = -EBADMSG;
	if (!dwarf)
		dwarf_cfi_end(c->cfi);
	dwarf_end(dwarf);
	image_done(&image);
	return err;
}

/* *ret_why: the reason if there is nothing to compare */
static int compare_opened(struct comparison *c, struct elf_file *file, int fd, const char **ret_why)
{
	_cleanup_elf_ Elf *elf = elf_open(fd), *debug = NULL;

	if (!elf)
		return -ENOEXEC;
	if (file->source == ELF_SOURCE_DEBUG_FILE)
		debug = debug_file_open(elf, fd, file->build_id);
	*ret_why = why_nothing(elf);
	return compare_image(c, file, debug ? debug : elf);
}

static int compare_file(struct total *total, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct comparison c = { .path = path };
	const char *why = NULL;
	struct elf_file file;
	int err = fd < 0 ? -errno : elf_file_init_fd(&file, fd);

	if (err == 0) {
		err = compare_opened(&c, &file, fd, &why);
		elf_file_done(&file);
	}
	if (err == 0 && c.compared == 0)
		err = -ENODATA;
	if (err == -ENODATA && why) {
		printf("%s: nothing to compare: %s, %" PRIu64 " different\n", path, why,
		       c.different);
		total->different += c.different;
		total->nothing++;
		return 0;
	}
	if (err < 0) {
		printf("%s: not compared: %s\n", path,
		       err == -ENODATA ? "no row, but sections that could have some" :
					 strerror(-err));
		return err;
	}
	if (c.given_up > MAX_GIVEN_UP) {
		printf("%s: libdw gives up too often\n", path);
		c.different++;
	}
	printf("%s: %" PRIu64 " rows compared, %" PRIu64 " refused, %" PRIu64
	       " of whose CFA libdw gives up, %" PRIu64 " different\n",
	       path, c.compared, c.refused, c.given_up, c.different);
	total->files++;
	total->compared += c.compared;
	total->refused += c.refused;
	total->different += c.different;
	return 0;
}

int main(int argc, char **argv)
{
	struct total total = { 0 };
	int failed = 0;

	for (int i = 1; i < argc; i++)
		failed += compare_file(&total, argv[i]) < 0;
	printf("%d files: %d compared, %d with nothing to compare, %d not compared; %" PRIu64
	       " rows compared, %" PRIu64 " refused, %" PRIu64 " different\n",
	       argc - 1, total.files, total.nothing, failed, total.compared, total.refused,
	       total.different);
	return total.files == 0 || failed > 0 || total.different > 0;
}
