/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_SCRIPTS_H
#define DP_FORMATS_SCRIPTS_H

/* The texts of scripts, fit for CDATA sections and for script elements of HTML. */
extern const char html_colours_script[], html_filter_script[], svg_script[];

#endif
