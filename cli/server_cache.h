/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_SERVER_CACHE_H
#define DP_CLI_SERVER_CACHE_H

/*
 * The directory in which libdebuginfod keeps what it gets, for a process that is about to give up its rights:
 * it is made, and DEBUGINFOD_CACHE_PATH says it from now on. That is the one that libdebuginfod would take:
 *
 *     DEBUGINFOD_CACHE_PATH
 *     $HOME/.debuginfod_client_cache, if it is there
 *     $XDG_CACHE_HOME/debuginfod_client, or $HOME/.cache/debuginfod_client
 *
 * Root, for whom sudo has kept another user's environment, may not write there without rights: it has one
 * beside its cache of names.
 *
 * Returns a reference (O_PATH), or a negative errno after a message.
 */
int server_cache_open(void);

#endif
