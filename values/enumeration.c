// SPDX-License-Identifier: Apache-2.0
#include "values/enumeration.h"

#include <dwarf.h>
#include <errno.h>

#include "limits/limits.h"

static int add(struct enumerators *list, Dwarf_Die *die, enum value_type as)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	/* Compilers write negative ones as DW_FORM_sdata, and others in as few bytes as they need. */
	if (dwarf_formudata(dwarf_attr(die, DW_AT_const_value, &attribute), &value) != 0)
		return 0;
	return enumerators_add(list, dwarf_diename(die), value_type_extend(as, value));
}

int enumeration_read(Dwarf_Die *type, enum value_type as, struct enumerators *list)
{
	const size_t first = list->n;
	Dwarf_Die die;
	int err = 0, more = dwarf_child(type, &die);

	for (int i = 0; err == 0 && more == 0 && i < ENUMERATION_MAX_ENTRIES; i++) {
		if (dwarf_tag(&die) == DW_TAG_enumerator)
			err = add(list, &die, as);
		more = list->n - first < ENUMERATION_MAX ? dwarf_siblingof(&die, &die) : 1;
	}
	if (list->n > first && enumerators_are_flags(list->of + first, list->n - first))
		list->n = first;
	return err;
}
