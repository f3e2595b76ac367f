# SPDX-License-Identifier: Apache-2.0
"""Plots for the page: SVG, by gnuplot."""
import subprocess

HEAD = """set terminal svg size 800, 440 font "sans-serif,14" background "white"
set xlabel "{x}"
set ylabel "{y}"
set logscale xy
set format x "%.0s%c"
set grid xtics ytics
set key top left
"""


def draw(path, x, y, lines):
    """lines: {title: [(x, y), ...]} or {title: [(x, median, low, high), ...]}."""
    script = HEAD.format(x=x, y=y)
    plots = []
    for i, (title, points) in enumerate(lines.items()):
        script += f"$data{i} << END\n" + "\n".join(" ".join(map(str, p)) for p in points) + "\nEND\n"
        style = "linewidth 2 pointtype 7 pointsize 0.6"
        if title.startswith("expected"):
            plots.append(f'$data{i} using 1:2 with lines dashtype 2 linecolor "gray40" title "{title}"')
        elif len(points[0]) == 4:
            plots.append(f'$data{i} using 1:2 with linespoints {style} linecolor {i + 1} title "{title}", '
                         f'$data{i} using 1:2:3:4 with yerrorbars linecolor {i + 1} pointtype 0 notitle')
        else:
            plots.append(f'$data{i} using 1:2 with linespoints {style} linecolor {i + 1} title "{title}"')
    script += "plot " + ", \\\n\t".join(plots) + "\n"
    svg = subprocess.run(["gnuplot"], input=script, capture_output=True, text=True, check=True).stdout
    # gnuplot itself writes no licence line.
    head, rest = svg.split("\n", 1)
    with open(path, "w") as file:
        file.write(f"{head}\n<!-- SPDX-License-Identifier: Apache-2.0 -->\n{rest}")


def like(points, curve):
    """The expected curve: scaled to go through the first point."""
    x, y = points[0][:2]
    return [(p[0], y * curve(p[0]) / curve(x)) for p in points]
