#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The agent: each call of a function that a program counts itself is in one recording, whatever happens to
the agent meanwhile.

usage: check_agent.py DWARFPROF PROGRAM-DIR
"""
import contextlib
import ctypes
import glob
import os
import re
import signal
import socket
import stat
import subprocess
import threading
import time

import harness
from agents import PUBLISHER, Agent, find_library, free_port
from harness import dwarfprof, start, wait_for, wait_until_it_says

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT, WALL = 17, 0x4206, 0x4207, 0x40000000  # linux/ptrace.h, linux/wait.h
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def wait_until_used(pid, ns):
    """Until a program has had so much CPU time more."""
    cpu_ns = lambda: int(harness.read(f"/proc/{pid}/schedstat").split()[0])
    begin = cpu_ns()
    wait_for(lambda: cpu_ns() > begin + ns)


class Intervals(Agent):
    def test_each_call_is_in_one(self):
        caller = self.caller()
        agent = self.agent(*self.of_calls(caller), "--interval", "300ms", "--store", self.store)
        calls = []
        while len(calls) < 3000 or len(self.recordings()) <= 4:
            self.assertIsNone(agent.poll())
            calls += self.call(caller, 500)
        said = self.end(agent)
        self.assertIn(" 0 lost", said)
        recordings = self.recordings()
        for path in recordings:
            self.assertRegex(os.path.basename(path), r"^\d{8}T\d{6}\.\d{6}Z\.dwarfprof$")
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        each = [self.samples(path) for path in recordings]
        self.assertEqual(sum(map(len, each)), len(calls))
        whole = self.samples(self.store)
        self.assertEqual([s["time_ns"] for s in whole], [s["time_ns"] for part in each for s in part])
        self.assertEqual(len({s["time_ns"] for s in whole}), len(calls))

    def test_a_new_configuration_leaves_no_gap(self):
        caller = self.caller()
        with open(self.config, "w") as file:
            file.write("interval = 300ms\n")
        agent = self.agent(*self.of_calls(caller), "-c", self.config, "--store", self.store)
        caller.stdin.write("6000\n")
        caller.stdin.flush()
        caller.stdout.readline()
        with open(self.config, "w") as file:
            file.write("interval = 200ms\nmax-stack = 7\n")
        agent.send_signal(signal.SIGHUP)
        wait_until_it_says(agent, "new configuration")
        n = 1 + len([*iter(caller.stdout.readline, "done\n")])
        self.end(agent)
        samples = self.samples(self.store)
        depths = [len(s["user_stack"]) for s in samples]
        self.assertGreater(max(depths), depths[-1])
        # One call may be sampled by both, some microseconds apart, with the boundary between.
        self.assertIn(len(samples) - n, (-1, 0, 1))

    def test_a_new_rate_leaves_no_gap(self):
        """Of a busy program: another run counts its CPU time, in ms, between one rate's last sample and the other's first."""
        old, new = 5_000_000, 10_000_000
        pid = self.enterContext(harness.busy())
        def configure(period):
            with open(self.config, "w") as file:
                file.write(f"interval = 500ms\nfreq = {10 ** 9 // period}\n")
        counted = self.out + ".dwarfprof"
        counter = start("-p", pid, "-F", "1000", "-o", counted, stderr=subprocess.PIPE, text=True)
        self.addCleanup(counter.communicate)
        self.addCleanup(counter.kill)
        wait_until_it_says(counter, "sampling")
        configure(old)
        agent = self.agent("-c", self.config, "-p", pid, "--store", self.store)
        wait_until_used(pid, 700_000_000)
        configure(new)
        agent.send_signal(signal.SIGHUP)
        wait_until_it_says(agent, "new configuration")
        wait_until_used(pid, 700_000_000)
        self.end(agent)
        self.end(counter)
        samples = self.samples(self.store)
        last = max(s["time_ns"] for s in samples if s["value_ns"] == old)
        first = min(s["time_ns"] for s in samples if s["value_ns"] == new)
        self.assertLess(last, first)
        between = [s for s in self.samples(counted) if last < s["time_ns"] < first]
        # Six of the longer periods: they may begin anywhere; setting a run up takes longer.
        self.assertLess(len(between), 6 * new // 10 ** 6)

    def test_a_new_list_of_targets_leaves_no_gap(self):
        first, second = self.caller(), self.caller()
        def configure(*callers):
            with open(self.config, "w") as file:
                file.write(f"interval = 300ms\nevent = uprobe:{find_library(first.pid)}:getppid\n"
                           f"pid = {','.join(str(c.pid) for c in callers)}\n")
        configure(first)
        agent = self.agent("-c", self.config, "--store", self.store)
        self.call(second, 200)
        first.stdin.write("6000\n")
        first.stdin.flush()
        first.stdout.readline()
        configure(first, second)
        agent.send_signal(signal.SIGHUP)
        wait_until_it_says(agent, "new configuration")
        calls = self.call(second, 300)
        n = 1 + len([*iter(first.stdout.readline, "done\n")])
        self.end(agent)
        samples = self.samples(self.store)
        self.assertEqual(len([s for s in samples if s["pid"] == second.pid]), len(calls))
        # One call may be sampled by both, some microseconds apart, with the boundary between.
        self.assertIn(len([s for s in samples if s["pid"] == first.pid]) - n, (-1, 0, 1))

    def test_a_wrong_configuration_changes_nothing(self):
        caller = self.caller()
        with open(self.config, "w") as file:
            file.write("interval = 300ms\n")
        agent = self.agent(*self.of_calls(caller), "-c", self.config, "--store", self.store)
        with open(self.config, "w") as file:
            file.write("\ninterval = often\n")
        agent.send_signal(signal.SIGHUP)
        said = wait_until_it_says(agent, "continues with the old options")
        self.assertIn("agent.conf:2:12: --interval takes a time", said)
        calls = self.call(caller, 500)
        self.end(agent)
        self.assertEqual(len(self.samples(self.store)), len(calls))

    def test_a_change_meanwhile_is_taken_later(self):
        def configure(hz):
            with open(self.config, "w") as file:
                file.write(f"store = {self.store}\nfreq = {hz}\n")
            return self.config
        agent = self.agent("-c", configure(47), said=["at 47 Hz"])
        for hz in 53, 59:
            configure(hz)
            agent.send_signal(signal.SIGHUP)
            said = wait_until_it_says(agent, f"at {hz} Hz")  # the one before has not ended yet
        self.assertIn("read again once the last change is complete", said)
        wait_until_it_says(agent, "new configuration")
        self.end(agent)

    def test_the_file_is_read_once(self):
        """One that is just being written would be another one the second time: here it does not come."""
        os.mkfifo(self.config)

        def tell(text):
            with open(self.config, "w") as file:
                file.write(text)
        writer = threading.Thread(target=tell, args=(f"store = {self.store}\n",))
        writer.start()
        agent = self.agent("-c", self.config)
        writer.join()
        agent.send_signal(signal.SIGHUP)
        tell(f"store = {self.store}\nfreq = 53\n")
        wait_until_it_says(agent, "new configuration")
        agent.send_signal(signal.SIGHUP)
        tell("freq = often\n")
        self.assertIn("agent.conf:1:8: -F takes", wait_until_it_says(agent, "continues with the old options"))
        self.end(agent)

    def test_the_open_interval_is_written_at_the_end(self):
        caller = self.caller()
        agent = self.agent(*self.of_calls(caller), "--interval", "1h", "--store", self.store)
        calls = self.call(caller, 500)
        self.end_in_time(agent)
        self.assertEqual(len(self.recordings()), 1)
        self.assertEqual(len(self.samples(self.store)), len(calls))

    def test_a_killed_agent_loses_the_open_interval(self):
        caller = self.caller()
        args = *self.of_calls(caller), "--interval", "500ms", "--store", self.store
        agent = self.agent(*args)
        self.call(caller, 2000)
        wait_for(lambda: len(self.recordings()) >= 2)
        agent.kill()
        agent.wait()
        kept = self.recordings()
        before = sum(len(self.samples(path)) for path in kept)
        self.assertTrue([name for name in os.listdir(self.store) if name.endswith(".part")])
        with open(os.path.join(self.store, ".own.part"), "w"):
            pass  # which the agent did not write
        agent = self.agent(*args, said=["ended abnormally: its last interval is lost ("])
        self.assertFalse([name for name in os.listdir(self.store) if name.endswith(".part") and
                          str(agent.pid) not in name and name != ".own.part"])
        self.assertTrue(os.path.exists(os.path.join(self.store, ".own.part")))
        wait_until_it_says(agent, "sampling")
        calls = self.call(caller, 100)
        self.end(agent)
        self.assertLessEqual(set(kept), set(self.recordings()))
        self.assertEqual(len(self.samples(self.store)), before + len(calls))

    def test_one_agent_at_a_time(self):
        self.agent("--store", self.store)
        other = dwarfprof("agent", "--store", self.store)
        self.assertEqual(other.returncode, 1)
        self.assertIn("another agent does", other.stderr)

    def test_the_oldest_go_first(self):
        caller = self.caller()
        agent = self.agent(*self.of_calls(caller), "--interval", "100ms", "--store", self.store, "--store-size", "4K")
        wait_for(lambda: self.call(caller, 500) and self.recordings())
        for _ in range(5):
            with harness.stopped([agent.pid]):
                wait_for(lambda: all("State:\tT" in harness.read(path) for path in glob.glob(f"/proc/{agent.pid}/task/*/status")))
                names = self.recordings()
                sizes = [os.stat(name).st_size for name in names]
            # It may be about to remove what has no room beside the newest one.
            self.assertLessEqual(sum(sizes[:-1]), max(4096, sizes[0]))
            wait_for(lambda: self.call(caller, 100) and not os.path.exists(names[0]))
            self.assertGreater(min(self.recordings()), names[0])
        said = self.end(agent)
        self.assertIn("old recordings from", said)
        names = self.recordings()
        sizes = [os.stat(name).st_size for name in names]
        self.assertTrue(sum(sizes) <= 4096 or len(names) == 1, sizes)
        written = int(re.search(r"(\d+) intervals written", said).group(1))
        self.assertGreaterEqual(written, len(names) + 5)

    def test_on_a_full_disk_too(self):
        """Though they have not got the size that they may have; and that is said once."""
        os.mkdir(self.store)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96K", "tmpfs", self.store], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.store], check=True)
        caller, address = self.caller(), f"127.0.0.1:{free_port()}"
        agent = self.agent(*self.of_calls(caller), "--interval", "100ms", "--store", self.store, "--pull", address)
        wait_for(lambda: self.call(caller, 200) and self.recordings())
        first = min(self.recordings())
        wait_for(lambda: self.call(caller, 200) and first not in self.recordings())
        for _ in range(5):
            newest = max(self.recordings())
            wait_for(lambda: self.call(caller, 200) and max(self.recordings()) > newest)
        self.assertEqual(self.figures(address)["intervals_failed_total"], 0)
        said = self.end(agent)
        self.assertEqual(said.count("is full: the oldest recordings are removed"), 1)

    def test_old_ones_go(self):
        agent = self.agent("--interval", "100ms", "--store", self.store, "--store-age", "1s")
        wait_for(lambda: len(self.recordings()) >= 2)
        first = self.recordings()[0]
        wait_for(lambda: not os.path.exists(first))
        self.end(agent)


class Times(Agent):
    def test_calls_from_one_time_to_another(self):
        caller = self.caller()
        agent = self.agent(*self.of_calls(caller), "--interval", "400ms", "--store", self.store)
        calls = []
        while len(calls) < 1000 or calls[-1] - calls[0] < 5 * 10 ** 9:
            calls += self.call(caller, 500)
        self.end(agent)
        self.assertEqual(len(self.samples(self.store)), len(calls))
        first = calls[0] // 10 ** 9 + 1
        wanted = [t for t in calls if first * 10 ** 9 <= t < (first + 3) * 10 ** 9]
        for form in "%Y-%m-%dT%H:%M:%S", "%H:%M:%S":
            got = self.samples(self.store, "--from", time.strftime(form, time.localtime(first)),
                               "--to", time.strftime(form, time.localtime(first + 3)))
            # The program looks at the clock just before it calls.
            self.assertAlmostEqual(len(got), len(wanted), delta=2)
        utc = self.samples(self.store, "--from", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(first)),
                           "--to", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(first + 3)))
        self.assertEqual(len(utc), len(got))
        text = dwarfprof("report", self.store, "--by", "comm")
        self.assertEqual(text.returncode, 0, text.stderr)
        self.assertIn(f"Samples: {len(calls)},", text.stdout)

    def test_no_recordings_of_that_time(self):
        self.end(self.agent("--store", self.store))
        result = dwarfprof("report", "--from", "2001-01-01T00:00", "--to", "2001-01-02T00:00", self.store)
        self.assertEqual(result.returncode, 1)
        self.assertIn("no recordings of that time", result.stderr)

    def test_damaged_ones_are_left_out(self):
        """Also the first one, whose head says how to read the others."""
        caller = self.caller()
        agent = self.agent(*self.of_calls(caller), "--interval", "300ms", "--store", self.store)
        calls = self.call(caller, 1500)
        self.end(agent)
        whole = [(path, len(self.samples(path))) for path in self.recordings()]
        self.assertEqual(sum(n for _, n in whole), len(calls))
        for content in b"", b"no recording", b"\0" * 4096:
            with open(whole[0][0], "wb") as file:
                file.write(content)
            result = dwarfprof("report", "--from", "2001-01-01T00:00", self.store)
            self.assertIn(f"{whole[0][0]} is left out: ", result.stderr)
            self.assertIn(f"Samples: {sum(n for _, n in whole[1:])},", result.stdout)
        for path, _ in whole:
            os.truncate(path, 0)
        result = dwarfprof("report", self.store)
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"cannot read {whole[-1][0]}: ", result.stderr)

    def record(self, *args):
        agent = self.agent(*args, "--store", self.store, "-C", "0")
        time.sleep(0.3)
        self.end(agent)

    def test_others_are_left_out(self):
        self.record("-F", "100")
        self.record("-e", "page-faults")
        result = dwarfprof("report", self.store)
        self.assertIn("is left out: it was sampled differently", result.stderr)
        self.assertIn(" at 100 Hz", result.stdout)

    def test_other_rates_are_added_up_by_time(self):
        periods = {"100": 10_000_000, "50": 20_000_000}
        with harness.busy() as pid:
            for hz in periods:
                agent = self.agent("-F", hz, "-p", pid, "--store", self.store)
                wait_until_used(pid, 300_000_000)
                self.end(agent)
        each = [len(self.samples(path)) for path in self.recordings()]
        self.assertGreater(min(each), 0)
        samples = self.samples(self.store)
        self.assertEqual(len(samples), sum(each))
        self.assertEqual([s["value_ns"] for s in samples],
                         [periods["100"]] * each[0] + [periods["50"]] * each[1])
        result = dwarfprof("report", self.store)
        self.assertIn("recordings of different sampling rates: they are added up by time", result.stderr)
        self.assertNotIn("left out", result.stderr)
        self.assertIn(f"Time: {10 * each[0] + 20 * each[1]}.000 ms", result.stdout)
        result = dwarfprof("diff", self.recordings()[0], self.store)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"{10 * each[0]}.000 ms", result.stdout)


class Configuration(Agent):
    def check(self, text, *args):
        with open(self.config, "w") as file:
            file.write(text)
        return dwarfprof("agent", "-c", self.config, "--check", *args)

    def test_what_is_wrong_and_where(self):
        for text, line, column, words in (
                ("freq = x\n", 1, 8, "-F takes a whole number"),
                ("# a comment\n\n  freqq = 19\n", 3, 3, "there is no key 'freqq'; did you mean 'freq'?"),
                ("store = /x\noff-cpu = maybe\n", 2, 11, "off-cpu takes yes or no, not 'maybe'"),
                ("store = /x\n[section x]\n", 2, 1, "unknown section [section NAME]; only [backend NAME] exists"),
                ("store = /x\n[backend]\n", 2, 1, "not of the form `[KIND NAME]'"),
                ("store = /x\nstore\n", 2, 1, "not of the form"),
                ("store = /x\nstore-size=1X\n", 2, 12, "--store-size takes a size"),
                ("comm = (\nstore=/x\n", 1, 8, ""),
                ("store = /x\nredact = (\n", 2, 10, "--redact (: "),
                ("store = /x\nredact = a\nredact = b\n", 3, 10, "give --redact once"),
                ("check = yes\n", 1, 1, "there is no key 'check'"),
                ("store = /x\ncgroup = /" + "x" * 16384 + "\n", 2, 1, "longer than 16384 bytes")):
            result = self.check(text)
            self.assertEqual(result.returncode, 2, text)
            self.assertTrue(result.stderr.startswith(f"dwarfprof agent: {self.config}:{line}:{column}: "), result.stderr)
            self.assertIn(words, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_every_option_is_a_key(self):
        """But those about the configuration itself."""
        listed = dwarfprof("agent", "--help").stdout
        options = dict(re.findall(r"--([a-z-]+)(=\S+)?", listed.partition("Configuration")[0]))
        self.assertGreater(len(options), 30)
        for name, argument in options.items():
            result = self.check(f"store = /x\n{name} = {'no' if not argument else '@@@'}\n")
            self.assertNotIn("there is no key", result.stderr)
            if not argument:
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_the_command_line_takes_precedence(self):
        self.assertEqual(self.check("store = /x\ninterval = 5s\n", "--interval", "7s").returncode, 0)
        result = self.check("store = /x\ninterval = 5s\n", "--interval", "never")
        self.assertEqual(result.returncode, 2)
        self.assertNotIn(self.config, result.stderr)
        with open(self.config, "w") as file:
            file.write(f"store = {self.store}\nfreq = 50 ; a comment\n")
        agent = self.agent("-c", self.config, "-F", "77", said=["at 77 Hz"])
        self.end(agent)
        self.end(self.agent("-c", self.config, said=["at 50 Hz"]))

    def test_one_of_the_command_line_takes_the_place_of_the_files(self):
        text = "store = /x\nredact = a\n"
        self.assertEqual(self.check(text, "--redact", "b").returncode, 0)
        result = self.check(text, "--redact", "b", "--redact", "c")
        self.assertEqual(result.returncode, 2)
        self.assertIn("give --redact once", result.stderr)

    def test_missing(self):
        result = dwarfprof("agent", "-c", "/no/such", "--check")
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot read /no/such: No such file", result.stderr)
        self.assertEqual(dwarfprof("agent", "--check").returncode, 2)


class Redaction(Agent):
    def test_of_values_and_of_what_a_program_says_it_is(self):
        caller = self.caller(PUBLISHER)
        with open(self.config, "w") as file:
            file.write("redact = shop|^-?[0-9]+$\n")
        agent = self.agent("-c", self.config, "-p", str(caller.pid), "-e", f"uprobe:{find_library(caller.pid)}:getppid(value=arg1:u64)",
                           "--interval", "300ms", "--store", self.store)

        def labels():
            self.call(caller, 1)
            return [s["labels"] for s in self.samples(self.store)] if self.recordings() else []

        wait_for(lambda: any("service.name" in of for of in labels()))
        self.end(agent)
        found = labels()
        self.assertEqual({of["value"] for of in found}, {"<redacted>"})
        self.assertEqual({(of["service.name"], of["service.instance.id"]) for of in found if "service.name" in of},
                         {("<redacted>", "<redacted>-7")})


class Service(Agent):
    LONG = "test_one_that_reads_no_samples_says_so",

    def test_it_notifies_the_manager(self):
        path = self.out + ".notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            manager.settimeout(60)
            agent = start("agent", "--store", self.store, "-C", "0", stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "NOTIFY_SOCKET": path, "WATCHDOG_USEC": "400000"})
            self.addCleanup(agent.communicate)
            self.addCleanup(agent.kill)
            said = []
            while said.count(b"WATCHDOG=1") < 3 or b"READY=1" not in said:
                said.append(manager.recv(4096))
            agent.send_signal(signal.SIGHUP)
            while b"RELOADING=1" not in said:
                said.append(manager.recv(4096))
            while manager.recv(4096) != b"READY=1":
                pass
            self.end(agent)
            while manager.recv(4096) != b"STOPPING=1":
                pass

    def test_a_run_that_does_not_end_holds_nothing_up(self):
        """Its thread is stopped when another run takes over: the agent still says that it is well, and ends in time."""
        path = self.out + ".notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            manager.settimeout(60)
            agent = start("agent", "--store", self.store, "-C", "0", stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "NOTIFY_SOCKET": path, "WATCHDOG_USEC": "400000"})
            self.addCleanup(agent.communicate)
            self.addCleanup(agent.kill)
            while manager.recv(4096) != b"READY=1":
                pass
            # Threads that it starts inherit its name.
            runs = lambda: [int(name.split("/")[-2]) for name in glob.glob(f"/proc/{agent.pid}/task/*/comm")
                            if harness.read(name) == "run\n"]
            run, n_runs = min(runs()), len(runs())
            for request in PTRACE_SEIZE, PTRACE_INTERRUPT:
                self.assertEqual(libc.ptrace(request, run, None, None), 0)
            os.waitpid(run, WALL)

            def reap():
                agent.kill()
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(run, WALL)
            self.addCleanup(reap)
            agent.send_signal(signal.SIGHUP)
            wait_for(lambda: len(runs()) > n_runs)
            for _ in range(2):  # the new one, too: it is to take over
                wait_until_it_says(agent, "sampling")
            manager.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    manager.recv(4096)
            manager.settimeout(10)
            self.assertEqual([manager.recv(4096) for _ in range(8)], [b"WATCHDOG=1"] * 8)
            with harness.going_first(agent.pid), harness.Stillness(harness.BEFORE_FIRST) as stillness:
                before = time.monotonic()
                agent.terminate()
                self.assertIn("not be written in time", wait_until_it_says(agent, "is lost"))
                os.waitpid(run, WALL)
                took = time.monotonic() - before
            self.assertLess(took - stillness.total, 5)

    def test_one_that_reads_no_samples_says_so(self):
        """After a while: its thread is stopped."""
        address = f"127.0.0.1:{free_port()}"
        agent = self.agent("--store", self.store, "-C", "0", "--pull", address)
        ask = lambda: subprocess.run(["curl", "-sS", "-w", " %{http_code}", f"http://{address}/healthz"], capture_output=True, text=True,
                                     check=True, timeout=60).stdout
        self.assertEqual(ask(), "ok\n 200")
        run = min(int(name.split("/")[-2]) for name in glob.glob(f"/proc/{agent.pid}/task/*/comm") if harness.read(name) == "run\n")
        for request in PTRACE_SEIZE, PTRACE_INTERRUPT:
            self.assertEqual(libc.ptrace(request, run, None, None), 0)
        os.waitpid(run, WALL)
        try:
            wait_for(lambda: ask() == "no samples are read\n 503")
            self.assertEqual(self.figures(address)["healthy"], 0)
        finally:
            libc.ptrace(PTRACE_DETACH, run, None, None)
        wait_for(lambda: ask() == "ok\n 200")
        self.end(agent)

    def test_messages_for_the_journal(self):
        with open(self.out, "w+") as journal:
            status = os.fstat(journal.fileno())
            for stream, priority in (f"{status.st_dev}:{status.st_ino}", "<6>"), (f"{status.st_dev}:1", ""):
                agent = start("agent", "--store", self.store, "-C", "0", stderr=journal,
                              env={**os.environ, "JOURNAL_STREAM": stream})
                self.addCleanup(agent.wait)
                self.addCleanup(agent.kill)
                wait_for(lambda: "sampling" in harness.read(self.out))
                agent.terminate()
                self.assertEqual(agent.wait(60), 0)
                self.assertRegex(harness.read(self.out), f"(?m)^{priority}dwarfprof: sampling ")
                journal.seek(0)
                journal.truncate()

    def test_too_much_memory_begins_it_anew(self):
        caller = self.caller()
        agent = self.agent(*self.of_calls(caller), "--store", self.store, "--memory", "1M")
        caller.stdin.write("8000\n")
        caller.stdin.flush()
        wait_until_it_says(agent, "more than --memory allows (1 MiB): the profiler is restarted")
        n = len([*iter(caller.stdout.readline, "done\n")])
        wait_for(self.recordings)  # what was before
        n += len(self.call(caller, 10))
        self.end(agent)
        self.assertIn(len(self.samples(self.store)) - n, (-1, 0, 1))
        self.assertGreater(len(self.recordings()), 1)


if __name__ == "__main__":
    harness.main()
