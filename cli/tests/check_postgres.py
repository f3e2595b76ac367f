#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The query as a label of PostgreSQL's samples, and each query as an event, under pgbench: what bpftrace sees by the
server's static probes at the same time, what pg_stat_activity and pg_stat_statements say, and what its client sent.

usage: check_postgres.py DWARFPROF PROGRAM-DIR
"""
import collections
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import bpftrace
import harness
from harness import start, wait_for, wait_until_it_says

BIN = max(glob.glob("/usr/lib/postgresql/*/bin"), default=None, key=lambda path: int(path.split("/")[4]))
AS_POSTGRES = ["runuser", "-u", "postgres", "--"]
# PortalRun(portal, ...), which runs the statements of each query: portal->sourceText.
LABEL = "PortalRun(query=arg1->56:str)"
SECONDS = 12
CLIENTS = 4
TIMES = 200  # each of them sends all queries

# What clients send; each has its number.
SCRIPT = """
SELECT {0} AS client, count(*) FROM pgbench_accounts WHERE aid % :n = 1;
SELECT {0} AS client, sum(length(md5(i::text))) FROM generate_series(1, :n) i;
SELECT {0} AS client, nested(:n);
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + {0} WHERE aid = :n;
SELECT {0} AS client, abalance FROM pgbench_accounts WHERE aid = :n;
END;
"""
NESTED = """
CREATE FUNCTION nested(n int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE total bigint := 0; part bigint;
BEGIN
  FOR i IN 1 .. 3 LOOP
    SELECT count(*) INTO part FROM generate_series(1, n) AS inner_query WHERE inner_query % 7 = i;
    total := total + part;
  END LOOP;
  RETURN total;
END $$;
"""
# What runs, since when, and until when at least: what this says is read after that.
ACTIVITY = "SELECT pid, extract(epoch FROM query_start), extract(epoch FROM statement_timestamp()), query FROM pg_stat_activity " \
           "WHERE state = 'active' AND application_name = 'pgbench'"


def normal(query):
    """As pg_stat_statements writes it."""
    numbers = iter(range(1, 100))
    return re.sub(r"\b\d+\b", lambda _: f"${next(numbers)}", query.rstrip("; \n"))


class Postgres(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = cls.enterClassContext(tempfile.TemporaryDirectory())
        shutil.chown(cls.directory, "postgres")
        data = os.path.join(cls.directory, "db")
        cls.do(f"{BIN}/initdb", "-D", data, "-A", "trust")
        server = subprocess.Popen([*AS_POSTGRES, f"{BIN}/postgres", "-D", data, "-k", cls.directory, "-c", "listen_addresses=",
                                   "-c", "shared_preload_libraries=pg_stat_statements", "-c", "max_parallel_workers_per_gather=0",
                                   "-c", "autovacuum=off"], cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(cls.end, data, server)
        wait_for(lambda: subprocess.run([f"{BIN}/pg_isready", "-q", "-h", cls.directory]).returncode == 0)
        with open(f"{data}/postmaster.pid") as file:
            cls.pid = file.readline().strip()
        cls.do(f"{BIN}/pgbench", "-h", cls.directory, "-i", "-q", "postgres")
        cls.sql("CREATE EXTENSION pg_stat_statements", NESTED)

    @classmethod
    def end(cls, data, server):
        cls.do(f"{BIN}/pg_ctl", "-D", data, "-m", "immediate", "stop")
        server.wait(timeout=60)

    @classmethod
    def do(cls, *command):
        result = subprocess.run([*AS_POSTGRES, *command], capture_output=True, text=True, cwd="/", timeout=180)
        assert result.returncode == 0, result.stderr
        return result.stdout

    @classmethod
    def sql(cls, *statements):
        return cls.do(f"{BIN}/psql", "-h", cls.directory, "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1",
                      *(word for statement in statements for word in ("-c", statement)), "postgres").splitlines()

    def script(self):
        path = os.path.join(self.directory, "script.sql")
        with open(path, "w") as file:
            file.write("\\set n random(2, 30000)" + SCRIPT.format(":client_id"))
        return path

    @contextlib.contextmanager
    def clients(self, *options):
        """Ends when each has sent all; the number of times."""
        with subprocess.Popen([*AS_POSTGRES, f"{BIN}/pgbench", "-n", "-h", self.directory, "-c", str(CLIENTS), "-f", self.script(),
                               *options, "postgres"], cwd="/", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield process
            except BaseException:
                process.kill()
                raise

    def record(self, path, *options):
        profiler = start("-p", self.pid, "-o", path, *options, stderr=subprocess.PIPE, text=True)
        wait_until_it_says(profiler, "sampling")
        return profiler

    def finish(self, profiler, path):
        profiler.send_signal(signal.SIGINT)
        said = profiler.communicate(timeout=180)[1]
        self.assertEqual(profiler.returncode, 0, said)
        with open(path) as file:
            return [json.loads(line) for line in file], said

    def activity(self, until):
        """What pg_stat_activity says again and again: pid, when the query began, when that was said, query."""
        found = []
        while until():
            # Whoever waits for a CPU in between gets too small a number.
            between = max(time.time_ns() - time.monotonic_ns() for _ in range(9))
            for pid, began, now, query in (line.split("\t") for line in self.sql(ACTIVITY)):
                found.append((int(pid), *(int(float(when) * 1e9) - between for when in (began, now)), query))
        return found

    def check_activity(self, samples, seen):
        """Samples while pg_stat_activity says that a query runs."""
        n, by_pid = 0, collections.defaultdict(list)
        for s in samples:
            by_pid[s["pid"]].append(s)
        for pid, began, now, query in seen:
            for s in by_pid[pid]:
                # Its clock has microseconds, and is another one.
                if began + 100000 <= s["time_ns"] <= now - 100000 and is_run(s) and not s["late"]:
                    self.assertEqual(s["labels"], {"query": query})
                    n += 1
        return n

    def test_query_as_label(self):
        path = os.path.join(self.directory, "label.jsonl")
        place = f"usdt:{BIN}/postgres:postgresql:query__"
        script = "".join(f'{place}{name} {{ printf("{letter} %d %llu %s\\n", pid, nsecs, {text}); }}\n' for name, letter, text in (
            ("start", "S", "str(arg0)"), ("done", "D", '""'), ("execute__start", "X", '""'), ("execute__done", "Y", '""')))
        with bpftrace.Bpftrace(script) as peer, self.clients("-T", str(SECONDS + 2)) as clients:
            profiler = self.record(path, "-F", "2999", "--probe", f"label:{BIN}/postgres:{LABEL}")
            began = time.monotonic()
            end = began + SECONDS
            seen = self.activity(lambda: time.monotonic() < end)
            samples, said = self.finish(profiler, path)
            self.assertEqual(clients.wait(timeout=60), 0)
        samples = [s for s in samples if s["time_ns"] >= (began + 1) * 1e9 and s["user_stack"]]
        queries, runs = bpftrace.Intervals(peer.lines, "S", "D"), bpftrace.Intervals(peer.lines, "X", "Y")
        found = collections.Counter()
        for s in samples:
            query, is_executed = queries.at(s["pid"], s["time_ns"]), runs.at(s["pid"], s["time_ns"]) is not None
            label = (s["labels"] or {}).get("query")
            # Of a process that is so young that the kernel has no table of it, or that is just ending.
            if label == "<unknown>" and (s["late"] or s["outcome"] != "complete"):
                found["unknown"] += 1
            elif label is None and not is_executed and not is_run(s):
                found["none"] += 1
            else:
                self.assertEqual((label, s["outcome"]), (query, "complete"), s)
                found["executed" if is_executed else "right"] += 1
        n = self.check_activity(samples, seen)
        print(dict(found), f"{n} comparisons with pg_stat_activity", said, flush=True)
        self.assertGreater(found["executed"], 1000)
        self.assertGreater(found["none"], 100)
        self.assertGreater(n, 200)
        self.assertLess(found["unknown"], found["executed"] / 50)
        labels = {query for s in samples for query in (s["labels"] or {}).values()}
        self.assertEqual({match[1] for query in labels if (match := re.match(r"SELECT (\d+) AS client", query))},
                         {str(client) for client in range(CLIENTS)})

    def test_queries_as_events(self):
        path = os.path.join(self.directory, "event.jsonl")
        self.sql("SELECT pg_stat_statements_reset()")
        probe = f"{BIN}/postgres:postgresql:query__start"
        with bpftrace.Bpftrace(f'usdt:{probe} {{ printf("%s\\n", str(arg0)); }}') as peer:
            profiler = self.record(path, "-e", f"usdt:{probe}(query=arg1:str)")
            with self.clients("-t", str(TIMES)) as clients:
                self.assertEqual(clients.wait(timeout=180), 0, clients.stderr)
            samples, said = self.finish(profiler, path)
        self.assertIn(" 0 lost", said)
        found = collections.Counter(s["labels"]["query"] for s in samples)
        # bpftrace also sees the clients of this test.
        own = re.compile("|".join(re.escape(word) for word in ("pgbench_accounts", "generate_series", "nested", "BEGIN", "END")))
        self.assertEqual(found, collections.Counter(line for line in peer.lines if own.search(line)))
        counted = collections.Counter(map(normal, found.elements()))
        said = {query: int(calls) for query, calls in (line.split("\t") for line in self.sql(
            "SELECT query, calls FROM pg_stat_statements WHERE query NOT LIKE '%pg\\_stat%'"))}
        print(dict(counted), flush=True)
        self.assertEqual(counted, said)
        self.assertEqual(set(counted.values()), {CLIENTS * TIMES})
        self.assertEqual(len(counted), SCRIPT.count(";"))


def is_run(sample):
    """Is it within the function? At its begin, the call may not have been seen."""
    return any(frame["symbol"] == "PortalRun" for frame in sample["user_stack"][1:])


if __name__ == "__main__":
    if not BIN or not shutil.which("bpftrace"):
        sys.exit(77)  # skipped: `ci/setup bench` installs them
    harness.main()
