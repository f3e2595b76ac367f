/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_GO_BUILD_INFO_H
#define DP_GO_BUILD_INFO_H

#include <stddef.h>
#include <stdint.h>

/*
 * What Go's linker notes of how a program was built, stripped or not (what `go version FILE`
 * prints): here, the version of Go.
 */

/*
 * The n of Go 1.n, from data of a program that is loaded at an address; since Go 1.18 it is
 * there as text (debug/buildinfo, buildinfo.go). 0: it is not there, or says no such version.
 */
unsigned int build_info_minor(const uint8_t *bytes, size_t size, uint64_t address);

#endif
