/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_GO_BUILD_INFO_H
#define DP_GO_BUILD_INFO_H

#include <stddef.h>
#include <stdint.h>

/*
 * What Go's linker records about how a program was built, stripped or not (`go version FILE` prints
 * it): here, the version of Go.
 */

/*
 * Returns n of Go 1.n, from data of a program that is loaded at an address; it is stored as text
 * since Go 1.18 (debug/buildinfo, buildinfo.go). 0: it is missing, or no such version.
 */
unsigned int build_info_minor(const uint8_t *bytes, size_t size, uint64_t address);

#endif
