// SPDX-License-Identifier: Apache-2.0
#include "cli/terminfo.h"

#include <curses.h>
#include <term.h>

bool terminfo_has_places(int fd)
{
	bool has_places;
	int err;

	if (setupterm(NULL, fd, &err) != OK)
		return false;
	has_places = cursor_address != NULL;
	del_curterm(cur_term);
	return has_places;
}
