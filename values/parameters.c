// SPDX-License-Identifier: Apache-2.0
#include "values/parameters.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/decompressed.h"
#include "elf/elf_open.h"
#include "limits/limits.h"
#include "values/calling_convention.h"
#include "values/enumeration.h"
#include "values/location_place.h"

struct search {
	uint64_t address;
	uint64_t budget; /* entries that may still be visited */
	Dwarf_Die found;
};

static bool may_hold_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_subprogram ||
	       tag == DW_TAG_lexical_block;
}

/* Where a function begins: if it is in parts, the first is the one that is entered. */
static bool begins_at(Dwarf_Die *function, uint64_t address)
{
	Dwarf_Addr base, start, end;

	if (dwarf_entrypc(function, &start) != 0 &&
	    dwarf_ranges(function, 0, &base, &start, &end) <= 0)
		return false;
	return start == address;
}

static bool find_function(struct search *s, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;
	int more = depth < PARAMETERS_MAX_DEPTH ? dwarf_child(parent, &die) : 1;

	while (more == 0 && s->budget > 0) {
		int tag = dwarf_tag(&die);

		s->budget--;
		if (tag == DW_TAG_subprogram && begins_at(&die, s->address)) {
			s->found = die;
			return true;
		}
		if (may_hold_functions(tag) && find_function(s, &die, depth + 1))
			return true;
		more = dwarf_siblingof(&die, &die);
	}
	return false;
}

static bool find_in_units(Dwarf *dwarf, struct search *s)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, inner;

	while (dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, &inner) == 0) {
		if (dwarf_haspc(&die, s->address) > 0 &&
		    find_function(s, inner.addr ? &inner : &die, 0))
			return true;
	}
	return false;
}

/* Where values are read, in an open file. */
struct place {
	Elf *elf;
	Dwarf *dwarf;
	struct code_place at;
	/* Of one within a function, the scopes around it, the innermost last; none where one is entered */
	Dwarf_Die scopes[PARAMETERS_MAX_DEPTH];
	size_t n_scopes;
};

static bool is_scope(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_lexical_block;
}

static bool find_scopes(struct search *s, Dwarf_Die *parent, int depth, struct place *p)
{
	Dwarf_Die die;
	int more = depth < PARAMETERS_MAX_DEPTH ? dwarf_child(parent, &die) : 1;

	for (; more == 0 && s->budget > 0; more = dwarf_siblingof(&die, &die)) {
		int tag = dwarf_tag(&die);

		s->budget--;
		if (is_scope(tag) && dwarf_haspc(&die, s->address) > 0) {
			p->scopes[p->n_scopes++] = die;
			(void)find_scopes(s, &die, depth + 1, p);
			return true;
		}
		if (may_hold_functions(tag) && find_scopes(s, &die, depth + 1, p))
			return true;
	}
	return false;
}

static bool find_scopes_in_units(struct search *s, struct place *p)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, inner;

	while (dwarf_get_units(p->dwarf, unit, &unit, NULL, NULL, &die, &inner) == 0) {
		if (dwarf_haspc(&die, s->address) > 0 &&
		    find_scopes(s, inner.addr ? &inner : &die, 0, p))
			return dwarf_tag(&p->scopes[0]) == DW_TAG_subprogram;
	}
	return false;
}

/* By unwind information (DWARF 5 section 6.4). False: it has none, or another expression. */
static bool find_cfa(Dwarf_CFI *cfi, struct code_place *at)
{
	Dwarf_Frame *frame;
	Dwarf_Op *ops;
	size_t n;
	bool is_found;

	if (!cfi || dwarf_cfi_addrframe(cfi, at->address, &frame) != 0)
		return false;
	is_found = dwarf_frame_cfa(frame, &ops, &n) == 0 && n == 1 && ops[0].atom == DW_OP_bregx &&
		   ops[0].number < DP_REG_PC;
	if (is_found) {
		at->cfa_reg = (int)ops[0].number;
		at->cfa_offset = (int64_t)ops[0].number2;
	}
	free(frame);
	return is_found;
}

/* Debug files have that section without its contents. */
static bool has_eh_frame(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((section = elf_nextscn(elf, section))) {
		const char *name = gelf_getshdr(section, &header) ?
					   elf_strptr(elf, names, header.sh_name) :
					   NULL;

		if (name && strcmp(name, ".eh_frame") == 0)
			return header.sh_type != SHT_NOBITS;
	}
	return false;
}

static void set_cfa(struct place *p)
{
	Dwarf_CFI *cfi = has_eh_frame(p->elf) ? dwarf_getcfi_elf(p->elf) : NULL;

	p->at.cfa_reg = -1;
	if (!find_cfa(cfi, &p->at))
		(void)find_cfa(dwarf_getcfi(p->dwarf), &p->at);
	dwarf_cfi_end(cfi);
}

static void place_done(struct place *p)
{
	dwarf_end(p->dwarf);
	elf_end(p->elf);
}

/* Errors as of parameters_find(). place_done() frees *ret, always. */
static int place_find(int fd, uint64_t address, struct place *ret)
{
	struct search search = { .address = address, .budget = PARAMETERS_MAX_ENTRIES };

	*ret = (struct place){ .elf = elf_open(fd), .at.address = address };
	if (!ret->elf)
		return -ENOEXEC;
	if (!decompressed_debug_fits(ret->elf))
		return -ENODATA;
	ret->dwarf = dwarf_begin_elf(ret->elf, DWARF_C_READ, NULL);
	if (!ret->dwarf)
		return -ENODATA;
	if (find_in_units(ret->dwarf, &search)) {
		ret->at.function = search.found;
		ret->at.is_entry = true;
		ret->at.cfa_reg = DP_REG_SP;
		ret->at.cfa_offset = DP_CALL_SIZE;
		return 0;
	}
	if (!find_scopes_in_units(&search, ret))
		return -ENODATA;
	ret->at.function = ret->scopes[0];
	set_cfa(ret);
	return 0;
}

/*
 * Functions that are inlined in a line may begin where it does. They are not entered yet: names are the
 * line's own.
 */
static void leave_inlined(struct place *p, uint32_t line)
{
	for (size_t i = 1; i < p->n_scopes; i++) {
		Dwarf_Attribute attribute;
		Dwarf_Word call;

		if (dwarf_tag(&p->scopes[i]) == DW_TAG_inlined_subroutine &&
		    begins_at(&p->scopes[i], p->at.address) &&
		    dwarf_formudata(dwarf_attr(&p->scopes[i], DW_AT_call_line, &attribute),
				    &call) == 0 &&
		    call == line) {
			p->n_scopes = i;
			return;
		}
	}
}

static bool find_named(Dwarf_Die *scope, const char *name, size_t n, bool with_variables,
		       Dwarf_Die *ret)
{
	int more = dwarf_child(scope, ret);

	for (int i = 0; more == 0 && i < PARAMETERS_MAX_CHILDREN;
	     i++, more = dwarf_siblingof(ret, ret)) {
		const char *own = dwarf_diename(ret);
		int tag = dwarf_tag(ret);

		if ((tag == DW_TAG_formal_parameter ||
		     (with_variables && tag == DW_TAG_variable)) &&
		    own && strlen(own) == n && memcmp(own, name, n) == 0)
			return true;
	}
	return false;
}

/* Go describes results as parameters that the function sets (DWARF 5 section 4.1). */
static bool is_result(Dwarf_Die *parameter)
{
	Dwarf_Attribute attribute;
	bool is_set = false;

	dwarf_formflag(dwarf_attr_integrate(parameter, DW_AT_variable_parameter, &attribute),
		       &is_set);
	return is_set;
}

static bool find_in_order(Dwarf_Die *function, uint64_t number, Dwarf_Die *ret)
{
	int more = dwarf_child(function, ret);

	for (int i = 0; more == 0 && i < PARAMETERS_MAX_CHILDREN;
	     i++, more = dwarf_siblingof(ret, ret))
		if (dwarf_tag(ret) == DW_TAG_formal_parameter && !is_result(ret) && --number == 0)
			return true;
	return false;
}

static bool find_origin(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute attribute;

	return dwarf_formref_die(dwarf_attr(die, DW_AT_abstract_origin, &attribute), ret) != NULL;
}

/* The source has the order; copies of the function may have some parameters elsewhere, or not at all. */
static bool find_numbered(Dwarf_Die *function, uint64_t number, Dwarf_Die *ret)
{
	Dwarf_Die source, wanted, origin;
	int more;

	if (!find_origin(function, &source))
		return find_in_order(function, number, ret);
	if (!find_in_order(&source, number, &wanted))
		return false;
	more = dwarf_child(function, ret);
	for (int i = 0; more == 0 && i < PARAMETERS_MAX_CHILDREN;
	     i++, more = dwarf_siblingof(ret, ret))
		if (find_origin(ret, &origin) && origin.addr == wanted.addr)
			return true;
	return false;
}

/* "arg2" in front of members. 0: it is a name. */
static uint64_t number_of(const char *name, size_t n)
{
	const size_t word = strlen(PARAMETER_WORD);

	if (n <= word || memcmp(name, PARAMETER_WORD, word) != 0 ||
	    strspn(name + word, "0123456789") != n - word)
		return 0;
	return strtoull(name + word, NULL, 10);
}

/* What a name means at the place: a parameter, or, within a function, also a variable. */
static bool find_variable(struct place *p, const char *name, size_t n, Dwarf_Die *ret)
{
	const uint64_t number = number_of(name, n);

	if (p->at.is_entry && number > 0)
		return find_numbered(&p->at.function, number, ret);
	if (p->at.is_entry)
		return find_named(&p->at.function, name, n, false, ret);
	for (size_t i = p->n_scopes; i-- > 0;) {
		if (find_named(&p->scopes[i], name, n, true, ret))
			return true;
		/* The names of an inlined function's caller are not known to it. */
		if (dwarf_tag(&p->scopes[i]) == DW_TAG_inlined_subroutine)
			return false;
	}
	return false;
}

/* What is wanted as a number remains one. */
static int read_names(Dwarf_Die *type, const struct parameter_wanted *wanted, struct parameter *ret,
		      struct enumerators *names)
{
	const size_t n = names->n;
	int err = 0;

	if (wanted->type == VALUE_N_TYPES && dwarf_tag(type) == DW_TAG_enumeration_type)
		err = enumeration_read(type, (enum value_type)ret->type, names);
	ret->n_names = (uint32_t)(names->n - n);
	return err;
}

/* 0, or -EINVAL, explained. */
static int find_place(struct place *at, const char *name, size_t n, struct typed_place *p)
{
	Dwarf_Die variable;
	int err;

	if (!find_variable(at, name, n, &variable)) {
		snprintf(p->why, PARAMETER_WHY_SIZE,
			 at->at.is_entry ? "the function has no parameter %.*s" :
					   "there is no variable %.*s at that place",
			 (int)n, name);
		return -EINVAL;
	}
	err = location_place(&at->at, &variable, p);
	if (err == 0 && !type_of(&variable, &p->type)) {
		snprintf(p->why, PARAMETER_WHY_SIZE, "its type is not known");
		return -EINVAL;
	}
	return err;
}

static bool returns_float(Dwarf_Die *function)
{
	Dwarf_Die type;

	return type_of(function, &type) && type_is_float(&type);
}

static int find_result(Dwarf_Die *function, struct typed_place *p)
{
	if (calling_convention_result(function, p) && type_of(function, &p->type))
		return 0;
	snprintf(p->why, PARAMETER_WHY_SIZE, "%s",
		 returns_float(function) ? IN_FLOAT_REGISTER :
					   "how the function returns it is not known");
	return -EINVAL;
}

/* Finds "parameter->member" as a wanted type, or is_result->member. 0, or -EINVAL, explained. */
static int find_value(struct place *at, const char *path, bool is_result, enum value_type wanted,
		      struct typed_place *p, enum value_type *ret)
{
	size_t n = strcspn(path, "-.");
	int err = is_result ? find_result(&at->at.function, p) : find_place(at, path, n, p);

	if (err == 0)
		err = member_path_follow(p, path + n);
	return err < 0 ? err : typed_place_read(p, wanted, ret);
}

/* The length of a text: an integer. */
static int find_length(struct place *at, const struct parameter_wanted *wanted,
		       struct parameter *ret)
{
	struct typed_place place = { .why = ret->why };
	enum value_type type;
	int err = find_value(at, wanted->length, wanted->is_result, VALUE_N_TYPES, &place, &type);

	if (err < 0)
		return err;
	if (value_type_kind(type) != VALUE_IS_UNSIGNED &&
	    value_type_kind(type) != VALUE_IS_SIGNED) {
		snprintf(ret->why, sizeof(ret->why), "its length is no integer");
		return -EINVAL;
	}
	ret->length = place.how;
	ret->length.size = (__u8)value_type_size(type);
	return 0;
}

/* -EINVAL, explained, or -ENOMEM. */
static int resolve(struct place *at, const struct parameter_wanted *wanted, struct parameter *ret,
		   struct enumerators *names)
{
	struct typed_place place = { .why = ret->why };
	enum value_type type;
	int err;

	if (wanted->length[0]) {
		err = find_length(at, wanted, ret);
		if (err < 0 || !wanted->path[0])
			return err;
	}
	err = find_value(at, wanted->path, wanted->is_result, (enum value_type)wanted->type, &place,
			 &type);
	if (err < 0 && wanted->is_result && returns_float(&at->at.function))
		ret->type = VALUE_F64;
	if (err < 0)
		return err;
	ret->type = type;
	ret->how = place.how;
	if (place.how.is_text == DP_TEXT_SIZED && wanted->type != VALUE_BYTES)
		ret->length = place.length;
	return read_names(&place.type, wanted, ret, names);
}

int parameters_find(int fd, uint64_t address, const struct parameter_wanted *wanted, size_t n,
		    struct parameter *ret, struct enumerators *ret_names)
{
	_cleanup_(place_done) struct place place;
	int err = place_find(fd, address, &place);

	if (err < 0)
		return err;
	if (n > 0)
		leave_inlined(&place, wanted[0].line);
	for (size_t i = 0; i < n; i++) {
		ret[i] = (struct parameter){ 0 };
		if ((wanted[i].path[0] || wanted[i].length[0]) &&
		    resolve(&place, &wanted[i], &ret[i], ret_names) == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

int parameters_list(int fd, uint64_t address, struct enumerators *ret)
{
	_cleanup_(place_done) struct place place;
	Dwarf_Die die;
	int more, err = place_find(fd, address, &place);

	if (err < 0)
		return err;
	more = dwarf_child(&place.at.function, &die);
	for (int i = 0; more == 0 && err == 0 && i < PARAMETERS_MAX_CHILDREN;
	     i++, more = dwarf_siblingof(&die, &die)) {
		char why[PARAMETER_WHY_SIZE];
		struct typed_place value = { .why = why };
		const char *name = dwarf_diename(&die);
		enum value_type type;

		if (dwarf_tag(&die) != DW_TAG_formal_parameter || is_result(&die) || !name ||
		    strpbrk(name, "-."))
			continue;
		if (find_value(&place, name, false, VALUE_N_TYPES, &value, &type) < 0)
			type = VALUE_N_TYPES;
		err = enumerators_add(ret, name, type);
		if (ret->n == ENUMERATION_MAX)
			break;
	}
	return err;
}
