# SPDX-License-Identifier: Apache-2.0
#
# usage: gnuplot -c bench/soak.gp TSV SVG
#
# What `soak.py --host --series TSV` has measured, as a picture. gnuplot itself puts no line about
# the licence into what it draws.
set terminal svg size 800, 480 font "sans-serif,14" background "white"
set output sprintf("| sed '1a <!-- SPDX-License-Identifier: Apache-2.0 -->' >'%s'", ARG2)

set xlabel "minutes"
set ylabel "MiB"
set y2label "open files"
set yrange [0:*]
set y2range [0:*]
set ytics nomirror
set y2tics
set grid xtics ytics
set key bottom right

set datafile separator tab
plot ARG1 using (column("seconds") / 60):(column("rss_kib") / 1024) axes x1y1 \
	with lines linewidth 2 title "resident memory (left)", \
	ARG1 using (column("seconds") / 60):(column("heap_kib") / 1024) axes x1y1 \
	with lines linewidth 2 title "of it, no file's or shared (left)", \
	ARG1 using (column("seconds") / 60):"files" axes x1y2 \
	with lines title "open files (right)"

# Wait for the end of what is written through.
unset output
