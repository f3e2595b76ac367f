// SPDX-License-Identifier: Apache-2.0
#include "runtimes/hotspot/classes.h"

#include <errno.h>

#include "base/array.h"

#define WORD_BITS 64
#define SHORT_BITS 32

static bool are_offsets(const struct hotspot_layout *layout)
{
	static const enum hotspot_member members[] = { HOTSPOT_OBJECT_CLASS, HOTSPOT_KLASS_NAME,
						       HOTSPOT_SYMBOL_LENGTH, HOTSPOT_SYMBOL_BODY };

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (layout->at[members[i]] > UINT16_MAX)
			return false;
	return true;
}

/* Where in an object its class is: a number, or its address. */
static int set_place(const struct hotspot_layout *layout, const struct hotspot_flags *flags,
		     struct dp_hotspot *ret)
{
	if (flags->is_in_mark) {
		if (flags->mark_shift >= WORD_BITS)
			return -ENOTSUP;
		ret->class_drop = (uint32_t)flags->mark_shift;
		return 0;
	}
	ret->class_at = (uint32_t)layout->at[HOTSPOT_OBJECT_CLASS];
	if (flags->is_short)
		ret->class_lift = ret->class_drop = WORD_BITS - SHORT_BITS;
	return 0;
}

/* What makes an address of a number. */
static int read_base(const struct hotspot_layout *layout, hotspot_read *read, void *memory,
		     struct dp_hotspot *ret)
{
	int err;

	if (!hotspot_layout_has(layout, HOTSPOT_CLASS_BASE) ||
	    !hotspot_layout_has(layout, HOTSPOT_CLASS_SHIFT))
		return -ENOTSUP;
	err = read(memory, &ret->class_base, sizeof(ret->class_base),
		   layout->at[HOTSPOT_CLASS_BASE]);
	if (err == 0)
		err = read(memory, &ret->class_up, sizeof(ret->class_up),
			   layout->at[HOTSPOT_CLASS_SHIFT]);
	return err == 0 && ret->class_up >= SHORT_BITS ? -ENOTSUP : err;
}

int hotspot_classes_read(const struct hotspot_layout *layout, const struct hotspot_flags *flags,
			 hotspot_read *read, void *memory, struct dp_hotspot *ret)
{
	int err;

	if (!are_offsets(layout))
		return -ENOTSUP;
	err = set_place(layout, flags, ret);
	if (err == 0 && (flags->is_short || flags->is_in_mark))
		err = read_base(layout, read, memory, ret);
	if (err < 0)
		return err;
	ret->class_name = (uint32_t)layout->at[HOTSPOT_KLASS_NAME];
	ret->symbol_length = (uint32_t)layout->at[HOTSPOT_SYMBOL_LENGTH];
	ret->symbol_text = (uint32_t)layout->at[HOTSPOT_SYMBOL_BODY];
	ret->has_classes = 1;
	return 0;
}
