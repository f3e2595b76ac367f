/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_SVG_SCRIPT_H
#define DP_REPORT_SVG_SCRIPT_H

/* The text of svg.js, fit for a CDATA section. */
extern const char svg_script[];

#endif
