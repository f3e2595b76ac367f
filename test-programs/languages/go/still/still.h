/* SPDX-License-Identifier: Apache-2.0 */

/* The C functions of the chains. */
#pragma once

int c_still(int n);
int c_down(int n, int end);
int c_threads(int from, int to);
int c_count(int n);
