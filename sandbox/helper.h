/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_HELPER_H
#define DP_SANDBOX_HELPER_H

#include <stdbool.h>

/* The helper's socket. Standard input, output and error lead nowhere; there is no other descriptor. */
#define HELPER_SOCKET 3

/* The kinds of helper: the first argument. */
#define HELPER_SPAWNER "spawner"
#define HELPER_PARSER "parser"
#define HELPER_NAMER "namer"
#define HELPER_VERIFIER "verifier"
#define HELPER_FETCHER "fetcher"
#define HELPER_FINDER "finder"

/* The second argument; a spawner has a third, its kinds. A program of another version must not answer, as messages are structures. */
#define HELPER_VERSION DP_VERSION

/* The running program, however it was found, if its main() is made for it. */
#define HELPER_SELF "/proc/self/exe"

/* Whether this program was executed as a helper (spawner.h), by its name. */
bool helper_is_one(const char *name);

/* What main() of such a program does. Returns an exit status. */
int helper_main(int argc, char **argv);

#endif
