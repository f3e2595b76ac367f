// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "tables/x86_64/return_path.h"

/* True if it is a register plus a number. */
static bool is_register(const struct sum *s, unsigned int reg, int64_t *ret)
{
	struct sum alone = sum_register(reg);

	return sum_distance(s, &alone, ret) && *ret >= INT32_MIN && *ret <= INT32_MAX;
}

/* True if it is the word at a distance from the CFA. */
static bool is_saved(const struct sum_parts *parts, const struct sum *s, const struct sum *cfa,
		     int64_t *ret)
{
	struct sum address;

	return sum_is_word(parts, s, &address) && sum_distance(&address, cfa, ret) &&
	       *ret >= INT32_MIN && *ret <= INT32_MAX;
}

/* Where the caller's value of a register is. */
static struct dp_where where_of(const struct sum_parts *parts, const struct sum *s,
				const struct sum *cfa, unsigned int reg)
{
	int64_t distance;

	if (s->is_known && is_register(s, reg, &distance) && distance == 0)
		return (struct dp_where){ .kind = DP_WHERE_SAME };
	if (s->is_known && is_saved(parts, s, cfa, &distance))
		return (struct dp_where){ .kind = DP_WHERE_CFA, .offset = (int32_t)distance };
	return (struct dp_where){ .kind = DP_WHERE_UNKNOWN };
}

static bool set_cfa(const struct sum_parts *parts, const struct sum *cfa, struct dp_rule *rule,
		    struct rule_program *program)
{
	int64_t distance;

	if (is_register(cfa, DP_RSP, &distance)) {
		rule->cfa = DP_CFA_REGISTER;
		rule->cfa_reg = DP_RSP;
		rule->cfa_offset = (int32_t)distance;
		return true;
	}
	rule->cfa = DP_CFA_SWITCH;
	return sum_compile(parts, cfa, 0, program);
}

static bool set_return_address(const struct sum_parts *parts, const struct return_values *values,
			       struct dp_rule *rule, struct rule_program *program)
{
	int64_t distance;

	if (is_saved(parts, &values->pc, &values->sp, &distance)) {
		rule->ra = (struct dp_where){ .kind = DP_WHERE_CFA, .offset = (int32_t)distance };
		return true;
	}
	rule->ra = (struct dp_where){ .kind = DP_WHERE_VALUE };
	/* The CFA is on the stack already. */
	return sum_compile(parts, &values->pc, 1, program);
}

enum return_found return_path_rule(struct return_path *path, size_t number, struct dp_rule *ret,
				   struct dp_saves *ret_saves, struct rule_programs *ret_programs)
{
	static const uint8_t saved[DP_N_SAVED] = {
#define X(name, word) DP_##name,
		DP_SAVED_REGISTERS(X)
#undef X
	};
	struct return_values values;
	struct dp_rule rule;
	enum return_found found = return_path_find(path, number, &values);

	if (found != RETURN_FOUND)
		return found;
	memset(&rule, 0, sizeof(rule));
	memset(ret_saves, 0, sizeof(*ret_saves));
	if (!set_cfa(&path->parts, &values.sp, &rule, &ret_programs->of[RULE_PART_CFA]) ||
	    !set_return_address(&path->parts, &values, &rule, &ret_programs->of[RULE_PART_RA]))
		return RETURN_UNCLEAR;
	rule.lands = values.is_jump ? DP_LANDS_MAYBE : DP_LANDS_NOT;
	rule.fp = where_of(&path->parts, &values.fp, &values.sp, DP_RBP);
	for (int i = 0; i < DP_N_SAVED; i++)
		ret_saves->where[i] =
			where_of(&path->parts, &values.saved[i], &values.sp, saved[i]);
	*ret = rule;
	return RETURN_FOUND;
}
