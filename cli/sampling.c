// SPDX-License-Identifier: Apache-2.0
#include "cli/sampling.h"

#include <string.h>

#include "cli/interrupt.h"
#include "cli/options.h"
#include "elf/bus_guard.h"
#include "log/log.h"
#include "sandbox/helper.h"

int sampling_run(struct options *options, int (*begin)(void *arg, int end_fd), void *arg)
{
	struct record_options *record = &options->record;
	struct names *names = name_options_apply(&options->names);
	struct interrupt interrupt;
	int code = EXIT_CODE_FAILED;
	int err;

	if (!names)
		return code;
	err = interrupt_init(&interrupt, names);
	if (err == 0)
		err = bus_guard_install();
	if (err == 0 && begin)
		err = begin(arg, interrupt.end.fd);
	if (err == 0) {
		record->profiler.names = names;
		record->profiler.helper = HELPER_SELF;
		record->end = &interrupt.end;
		code = record_run(record);
	} else {
		log_error("cannot start: %s", strerror(-err));
	}
	interrupt_done(&interrupt);
	names_free(names);
	return code;
}
