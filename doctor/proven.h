/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_DOCTOR_PROVEN_H
#define DP_DOCTOR_PROVEN_H

/*
 * Says whether the tests have passed on a kernel's series. release: "6.12.9-1-generic"; series: those
 * proven, oldest first: "6.1, 6.12". At most PROVEN_TEXT_SIZE - 1 bytes are written.
 */
#define PROVEN_TEXT_SIZE 128
void proven_describe(const char *release, const char *series, char ret[PROVEN_TEXT_SIZE]);

#endif
