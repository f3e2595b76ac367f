/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_SERVER_CACHE_H
#define DP_CLI_SERVER_CACHE_H

/*
 * Creates libdebuginfod's cache directory for a process that is about to give up its privileges, and sets
 * DEBUGINFOD_CACHE_PATH to it. It is the one that libdebuginfod would use:
 *
 *     DEBUGINFOD_CACHE_PATH
 *     $HOME/.debuginfod_client_cache, if it is there
 *     $XDG_CACHE_HOME/debuginfod_client, or $HOME/.cache/debuginfod_client
 *
 * Root, if sudo has kept another user's environment, could not write there without privileges, and uses a directory
 * beside its cache of names.
 *
 * Returns a reference (O_PATH), or a negative errno after a message.
 */
int server_cache_open(void);

#endif
