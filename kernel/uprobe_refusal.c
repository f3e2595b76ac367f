// SPDX-License-Identifier: Apache-2.0
#include "kernel/uprobe_refusal.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "kernel/permission.h"
#include "kernel/uprobe.h"
#include "kernel/uprobe_places.h"
#include "limits/limits.h"
#include "log/log.h"

/* The kernel's own ENOTSUPP, which has no name here. */
#define NOT_SUPPORTED 524
#define BREAKPOINT 0xcc

static int attach(int program, bool is_multi, const struct uprobe_places *places, size_t i,
		  unsigned int pid)
{
	struct uprobe_places one = *places;

	one.offsets += i;
	one.cookies += one.cookies ? i : 0;
	one.counters += one.counters ? i : 0;
	one.n = 1;
	one.n_more = 0;
	return is_multi ? uprobe_attach_multi(program, &one, (pid_t)pid) :
			  uprobe_attach_one(program, &one, 0, (pid_t)pid);
}

/* "": it is none of a function's. */
static const char *name_of(const struct uprobe_places *places, uint64_t offset)
{
	struct listed_function f;

	for (size_t at = 0; function_list_next(&places->functions, &at, &f);)
		if (f.kind == LISTED_FUNCTION && f.offset == offset)
			return f.name;
	return "";
}

static void explain(const struct uprobe_places *places, uint64_t offset)
{
	const char *name = name_of(places, offset);
	uint8_t code[4] = { 0 };

	(void)!pread(places->fd, code, sizeof(code), (off_t)offset);
	log_error("cannot set the uprobe at %s%s0x%" PRIx64 " of %s: the kernel does not probe %s, "
		  "%02x %02x %02x %02x",
		  name, name[0] ? ", " : "", offset, places->path,
		  code[0] == BREAKPOINT ? "a breakpoint of the program" : "this instruction",
		  code[0], code[1], code[2], code[3]);
	log_detail("try:  a line of the function, as FILE:LINE");
}

void uprobe_explain_refusal(int program, bool is_multi, const struct uprobe_places *places,
			    unsigned int pid, int err)
{
	for (size_t i = 0; err == -NOT_SUPPORTED && i < places->n && i < UPROBE_REFUSAL_MAX; i++) {
		int link = attach(program, is_multi, places, i, pid);

		if (link == err) {
			explain(places, places->offsets[i]);
			return;
		}
		if (link >= 0)
			close(link);
	}
	permission_explain_uprobe(err);
}
