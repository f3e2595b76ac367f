# SPDX-License-Identifier: Apache-2.0
#
# usage: gnuplot -c bench/growth.gp TSV SVG
#
# Plots the results of bench_growth: time and memory per row. gnuplot itself writes no licence line.
set terminal svg size 800, 480 font "sans-serif,14" background "white"
set output sprintf("| sed '1a <!-- SPDX-License-Identifier: Apache-2.0 -->' >'%s'", ARG2)

set xlabel "rows of the table"
set logscale x
set xrange [500:1e7]
set format x "%.0s%c"
set ylabel "CPU time per row (ns)"
set y2label "peak of heap memory per row (bytes)"
set yrange [0:*]
set y2range [0:*]
set ytics nomirror
set y2tics
set grid xtics ytics
set key top center

set datafile separator tab
plot ARG1 using "rows":"ns_per_row" axes x1y1 with linespoints linewidth 2 pointtype 7 \
	title "time (left)", \
	ARG1 using "rows":"peak_bytes_per_row" axes x1y2 with linespoints linewidth 2 pointtype 5 \
	title "memory (right)"

# Waits until the pipe's reader has finished.
unset output
