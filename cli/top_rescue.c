// SPDX-License-Identifier: Apache-2.0
#include "cli/top_rescue.h"

#include <curses.h>
#include <errno.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

/* Its macros are words that others use, too. */
#include <term.h>

#include "base/array.h"

static struct termios settings;
static volatile sig_atomic_t drawn;

/* What is written. */
static char bytes[256];
static size_t n_bytes;

int top_rescue_keep_settings(void)
{
	return tcgetattr(STDIN_FILENO, &settings) < 0 ? -errno : 0;
}

static int add_byte(int c)
{
	if (n_bytes < sizeof(bytes))
		bytes[n_bytes++] = (char)c;
	return c;
}

void top_rescue_prepare(void)
{
	/* As endwin() does: plain text, the cursor, keys as the shell expects them, its screen. */
	static const char *const capabilities[] = { "sgr0", "cnorm", "rmkx", "rmcup" };

	n_bytes = 0;
	for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++) {
		const char *text = tigetstr(capabilities[i]);

		if (text && text != (const char *)-1)
			tputs(text, 1, add_byte);
	}
}

void top_rescue_set_drawn(bool is_drawn)
{
	drawn = is_drawn;
}

void top_rescue(void)
{
	if (drawn)
		(void)!write(STDOUT_FILENO, bytes, n_bytes);
	tcsetattr(STDIN_FILENO, TCSANOW, &settings);
}
