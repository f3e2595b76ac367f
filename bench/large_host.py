# SPDX-License-Identifier: Apache-2.0
"""Extrapolates the figures to a larger machine."""
import statistics

import verdicts

CPUS, PROCESSES, HZ = 64, 10_000, 99

# Files with unwind information shared by ten thousand processes, and rows per file: as many as in a
# distribution's /usr, see BENCHMARKS.md.
FILES, ROWS_PER_FILE = 2_320, 13_000


def per_process_kib(processes):
    """The slope of memory over the number of processes, by least squares."""
    x = [p["processes"] for p in processes]
    y = [p["memory_kib"] for p in processes]
    mean_x, mean_y = statistics.mean(x), statistics.mean(y)
    square = sum((a - mean_x) ** 2 for a in x)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / square if square else 0


def section(programs, growing, table):
    bpf_ns = statistics.median(verdicts.column(programs, programs["known"], HZ, verdicts.OURS, "bpf_ns"))
    cpu = statistics.median(verdicts.column(programs, programs["known"], HZ, verdicts.OURS, "cpu_share"))
    sample_bytes = statistics.median(
        verdicts.column(programs, programs["known"], HZ, verdicts.OURS, "ring_bytes_per_sample"))
    process_kib = per_process_kib(growing["processes"])
    largest = growing["rows"]["making"][-1]
    row_bytes = largest["image_bytes"] / largest["rows"]
    yield f"""## On a large host, by calculation

{CPUS} busy CPUs, {PROCESSES:,} processes, {HZ} Hz, computed from the figures above. Assumptions: CPUs share nothing; the
work of user space is in proportion to the samples; processes have as many mappings as those above (each more
takes 80 bytes), of {FILES:,} different files of {ROWS_PER_FILE:,} rows.
"""
    rate = CPUS * HZ
    yield from table(["what", "calculation", "result"], [
        ["time of each CPU in the BPF program", f"{HZ} × {bpf_ns:,.0f} ns", f"{HZ * bpf_ns / 1e9:.3%}"],
        ["samples per second", f"{CPUS} × {HZ}", f"{rate:,}"],
        ["CPU time of user space", f"{CPUS} × {cpu:.2%} of a CPU", f"{CPUS * cpu:.1%} of one CPU"],
        ["bytes per second out of the kernel", f"{rate:,} × {sample_bytes:,.0f}",
         f"{rate * sample_bytes / 2**20:.1f} MiB"],
        ["memory for processes", f"{PROCESSES:,} × {process_kib:.1f} KiB",
         f"{PROCESSES * process_kib / 1024:,.0f} MiB"] if process_kib > 0 else
        ["memory for processes", "not to be told from other memory", ""],
        ["memory for tables", f"{FILES:,} × {ROWS_PER_FILE:,} × {row_bytes:.2f} bytes",
         f"{FILES * ROWS_PER_FILE * row_bytes / 2**20:,.0f} MiB"],
    ])
