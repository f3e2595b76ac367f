/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_AGENT_NOTIFY_H
#define DP_AGENT_NOTIFY_H

#include <stdint.h>

/*
 * Tells the service manager how the service is: sd_notify(3)'s protocol, one datagram per message to
 * the socket in NOTIFY_SOCKET. Without one, nothing happens.
 */

/* Sends lines such as "READY=1". 0; -ENOENT: nobody wants to know; or -errno. */
int notify_send(const char *state);

/* The interval in which WATCHDOG=1 is expected from this process; 0: it is not. */
uint64_t notify_watchdog_ns(void);

#endif
