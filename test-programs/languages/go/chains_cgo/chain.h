/* SPDX-License-Identifier: Apache-2.0 */

/* C functions called by Go, which call it back in the chains. */
#pragma once

int c_spin(int n);
int c_down(int n);
int c_panic(int n);
int c_sort(int n);
int c_threads(void);
int c_join(void);
