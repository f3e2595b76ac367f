/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_VALUES_ENUMERATION_H
#define DP_VALUES_ENUMERATION_H

#include <elfutils/libdw.h>

#include "values/enumerator.h"
#include "values/value_type.h"

/*
 * Appends the enumerators of an enumeration type, whose values are read as another type, in the
 * order of the source: none if its values are sums of flags. 0 or -ENOMEM.
 */
int enumeration_read(Dwarf_Die *type, enum value_type as, struct enumerators *list);

#endif
