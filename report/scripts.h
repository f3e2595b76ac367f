/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_SCRIPTS_H
#define DP_REPORT_SCRIPTS_H

/* The texts of svg.js and html_filter.js, fit for CDATA sections and for script elements of HTML. */
extern const char svg_script[], html_filter_script[];

#endif
