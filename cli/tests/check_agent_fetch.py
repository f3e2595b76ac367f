#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Debug files from servers while the agent samples: what is delivered has the names that only they have, nothing waits
for a server, and nobody is asked unless that is wanted.

usage: check_agent_fetch.py DWARFPROF PROGRAM-DIR
"""
import glob
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest.mock

import harness
from agents import Agent, free_port
from check_agent_backends import Receiver
from harness import dwarfprof, wait_for, wait_until_it_says

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../symbols/tests"))
import debug_files  # noqa: E402

# Functions that are inlined into work() of test-programs/inlined.c.
MIXERS = {"mix", "mix_many"}
CACHE = "/var/cache/dwarfprof"


class Fetches(Agent):
    def setUp(self):
        super().setUp()
        self.began, self.looked = time.time(), 0
        self.directory = os.path.dirname(self.out)
        self.path = os.path.join(self.directory, "inlined")
        debug = os.path.join(self.directory, "debug")
        # One whose names nobody has kept.
        with open(self.out, "wb") as file:
            file.write(os.urandom(16))
        subprocess.run(["objcopy", "--add-section", f".unique={self.out}", harness.program("inlined"), self.path], check=True)
        subprocess.run(["objcopy", "--only-keep-debug", self.path, debug], check=True)
        subprocess.run(["strip", "--strip-all", self.path], check=True)
        self.files = {debug_files.build_id(self.path): debug}
        self.address = f"127.0.0.1:{free_port()}"
        self.receiver = Receiver(self, self.out + ".received")

    def use(self, server):
        variables = server.environment(self.directory)
        patch = unittest.mock.patch.dict(os.environ, variables)
        patch.start()
        self.addCleanup(patch.stop)
        return variables["DEBUGINFOD_URLS"]

    def configure(self, text):
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(text)

    def target(self):
        return self.enterContext(harness.Target(self.path, "600"))

    def args(self, pid):
        return "-p", str(pid), "-F", "99", "--deliver", "300ms", "--pull", self.address, "--pyroscope", \
            f"http://127.0.0.1:{self.receiver.ports['http']}"

    def delivered(self):
        return {name for p in self.receiver.got() for name in p["functions"]}

    def is_kept(self):
        """Not before the program's file has been as it is for two seconds."""
        # It may have thousands of files: they are looked at when there is a new one, and for a while after, as its clock is coarse.
        changed = os.stat(CACHE).st_mtime_ns if os.path.exists(CACHE) else 0
        if changed == self.looked and time.time_ns() - changed > 1e8:
            return False
        self.looked = changed
        for path in glob.glob(f"{CACHE}/*.names"):
            with open(path, "rb") as file:
                if os.fstat(file.fileno()).st_mtime > self.began and b"mix_many" in file.read():
                    return True
        return False

    def test_names_only_a_debug_file_has(self):
        pid = self.target()
        with debug_files.Server(self.files) as server:
            self.use(server)
            agent = self.agent(*self.args(pid), "--debuginfod")
            wait_for(lambda: MIXERS <= self.delivered())
            figures = self.figures(self.address)
            self.assertEqual(figures["debug_files_found_total"], 1)
            self.assertEqual(figures["debug_files_failed_total"], 0)
            os.kill(int(pid), signal.SIGKILL)
            wait_for(self.is_kept)
            self.end(agent)
            # Each file is requested once, by its build id.
            self.assertEqual(len(server.asked), len(set(server.asked)))
            self.assertIn(f"/buildid/{debug_files.build_id(self.path)}/debuginfo", server.asked)
        # They are kept since the program has ended: now there is neither a server nor its files.
        shutil.rmtree(os.path.join(self.directory, "fetched"))
        shutil.rmtree(self.receiver.directory)
        os.mkdir(self.receiver.directory)
        agent = self.agent(*self.args(self.target()), f"--debuginfod=http://127.0.0.1:{free_port()}")
        wait_for(lambda: MIXERS <= self.delivered())
        self.end(agent)

    def test_nothing_waits_for_a_server(self):
        """One that takes requests, and never answers."""
        pid = self.target()
        with debug_files.Server({}, silent=True) as server:
            urls = self.use(server)
            self.configure(f"debuginfod = {urls}\ndebuginfod-timeout = 10m\n")
            del os.environ["DEBUGINFOD_URLS"]
            agent = self.agent(*self.args(pid), "-c", self.config)
            wait_for(lambda: server.asked)
            since, n = time.monotonic(), len(self.receiver.got())
            wait_for(lambda: len(self.receiver.got()) >= n + 10)
            # Each is of 300 ms.
            self.assertLess(time.monotonic() - since, 30)
            self.assertFalse(MIXERS & self.delivered())
            self.end_in_time(agent)
            self.assertEqual(len(server.asked), 1)

    def test_a_server_that_never_answers_is_said(self):
        pid = self.target()
        with debug_files.Server({}, silent=True) as server:
            self.use(server)
            agent = self.agent(*self.args(pid), "--debuginfod", "--debuginfod-timeout=1s")
            wait_until_it_says(agent, "debuginfod: no server answers")
            figures = self.figures(self.address)
            self.assertEqual((figures["debug_files_failed_total"], figures["debug_files_absent_total"]), (1, 0))
            self.end(agent)
            self.assertEqual(glob.glob(os.path.join(self.directory, "fetched", "*", "*")), [])

    def test_a_reload_loses_no_file(self):
        """What is just requested is requested again: libdebuginfod counts a request that is given up as answered."""
        pid = self.target()
        with debug_files.Server(self.files, silent=True) as server:
            self.use(server)
            self.configure("debuginfod = yes\n")
            agent = self.agent(*self.args(pid), "-c", self.config)
            wait_for(lambda: server.asked)
            agent.send_signal(signal.SIGHUP)
            wait_for(lambda: len(server.asked) > 1)
            server.answers.set()
            wait_for(lambda: MIXERS <= self.delivered())
            self.end(agent)

    def test_without_the_library(self):
        libraries = os.path.join(self.directory, "libraries")
        os.mkdir(libraries)
        with open(os.path.join(libraries, "libdebuginfod.so.1"), "wb"):
            pass
        with unittest.mock.patch.dict(os.environ, {"LD_LIBRARY_PATH": libraries}):
            agent = self.agent(*self.args(self.target()), "--debuginfod=http://127.0.0.1:1")
        wait_until_it_says(agent, "debuginfod is set, but libdebuginfod.so.1 is not installed: no debug files are fetched")
        self.end(agent)

    def test_a_server_that_is_away_is_said(self):
        pid = self.target()
        agent = self.agent(*self.args(pid), f"--debuginfod=http://127.0.0.1:{free_port()}")
        wait_until_it_says(agent, "debuginfod: no server answers")
        n = len(self.receiver.got())
        wait_for(lambda: len(self.receiver.got()) >= n + 3)
        self.assertEqual(self.figures(self.address)["debug_files_failed_total"], 1)
        self.end(agent)

    def test_where_files_are_kept(self):
        """Where names are, unless the environment has another place; and what a URL has of a password is not said."""
        kept = f"/var/cache/dwarfprof/debuginfod/{debug_files.build_id(self.path)}"
        self.addCleanup(shutil.rmtree, kept, ignore_errors=True)
        with debug_files.Server(self.files) as server:
            urls = self.use(server)
            del os.environ["DEBUGINFOD_URLS"], os.environ["DEBUGINFOD_CACHE_PATH"]
            agent = self.agent(*self.args(self.target()),
                               f"--debuginfod={urls.replace('://', '://user:very-secret@')}", "-v")
            wait_for(lambda: MIXERS <= self.delivered())
            page = subprocess.run(["curl", "-sS", f"http://{self.address}/status"], capture_output=True, text=True, check=True).stdout
            self.assertNotIn("very-secret", page + self.end(agent))
        with open(os.path.join(kept, "debuginfo"), "rb") as file:
            self.assertEqual(file.read(4), b"\x7fELF")

    def test_a_server_that_lies(self):
        """What it sends is no ELF file, or another program's: it is requested once, and names stay missing."""
        wrong = os.path.join(self.directory, "wrong")
        with open(wrong, "wb") as file:
            file.write(b"no ELF file" * 1000)
        for path in wrong, harness.program("fibonacci"):
            with self.subTest(path):
                sent = {build_id: path for build_id in self.files}
                with debug_files.Server(sent) as server:
                    self.use(server)
                    shutil.rmtree(os.path.join(self.directory, "fetched"), ignore_errors=True)
                    agent = self.agent(*self.args(self.target()), "--debuginfod")
                    wait_for(lambda: self.figures(self.address)["debug_files_found_total"] == 1)
                    n = len(self.receiver.got())
                    wait_for(lambda: len(self.receiver.got()) >= n + 10)
                    self.end(agent)
                    self.assertFalse(MIXERS & self.delivered())
                    self.assertEqual(server.asked.count(f"/buildid/{debug_files.build_id(self.path)}/debuginfo"), 1)

    def test_nobody_is_asked(self):
        pid = self.target()
        with debug_files.Server(self.files) as server:
            self.use(server)
            for args in ((), ("--debuginfod", "--no-debuginfod"), ("--debuginfod=no",)):
                n = len(self.receiver.got())
                agent = self.agent(*self.args(pid), *args)
                wait_for(lambda: len(self.receiver.got()) >= n + 3)
                self.assertNotIn("debug_files_found_total", self.figures(self.address))
                self.end(agent)
            self.assertEqual(server.asked, [])

    def test_it_can_be_turned_on(self):
        """But for other servers, a restart is needed."""
        pid = self.target()
        with debug_files.Server(self.files) as server:
            self.use(server)
            self.configure("debuginfod = no\n")
            agent = self.agent(*self.args(pid), "-c", self.config)
            self.configure("debuginfod = http://127.0.0.1:1\n")
            agent.send_signal(signal.SIGHUP)
            said = wait_until_it_says(agent, "the new configuration is not used")
            self.assertIn("other servers can only be asked after a restart", said)
            self.assertEqual(server.asked, [])
            self.configure("debuginfod = http://127.0.0.1:1\nno-debuginfod = yes\n")
            agent.send_signal(signal.SIGHUP)
            wait_until_it_says(agent, "sampling goes on with the new configuration")
            self.configure("debuginfod = yes\n")
            agent.send_signal(signal.SIGHUP)
            wait_for(lambda: MIXERS <= self.delivered())
            self.end(agent)

    def test_it_can_be_turned_off_and_on(self):
        pid = self.target()
        with debug_files.Server(self.files) as server:
            urls = self.use(server)
            del os.environ["DEBUGINFOD_URLS"]
            self.configure(f"debuginfod = {urls}\n")
            agent = self.agent(*self.args(pid), "-c", self.config)
            for text in "debuginfod = http://127.0.0.1:1\nno-debuginfod = yes\n", "debuginfod = yes\n", f"debuginfod = {urls}\n":
                self.configure(text)
                agent.send_signal(signal.SIGHUP)
                wait_until_it_says(agent, "sampling goes on with the new configuration")
            self.end(agent)

    def test_what_is_wrong(self):
        with unittest.mock.patch.dict(os.environ, {"DEBUGINFOD_URLS": ""}):
            for args, words in (
                    (["--debuginfod"], "--debuginfod needs a server: give its URL, or set DEBUGINFOD_URLS"),
                    (["--debuginfod=yes"], "--debuginfod needs a server"),
                    (["--debuginfod=here"], "--debuginfod takes URLs with http://, https:// or file://, not 'here'"),
                    (["--debuginfod=http://a b"], "not 'http://a b'"),
                    (["--debuginfod=ftp://user:secret@a"], "not 'ftp://***@a'"),
                    (["--debuginfod=http://a", "--no-symbols"], "exclude each other"),
                    (["--debuginfod-timeout=1s"], "--debuginfod-timeout needs --debuginfod"),
                    (["--debuginfod=no", "--debuginfod-timeout=1s"], "--debuginfod-timeout needs --debuginfod")):
                result = dwarfprof("agent", "--check", "--store", self.store, *args)
                self.assertEqual(result.returncode, 2, args)
                self.assertIn(words, result.stderr)
            for args in (["--debuginfod=http://a https://b"], ["--debuginfod", "--no-debuginfod"], ["--debuginfod=no"]):
                self.assertEqual(dwarfprof("agent", "--check", "--store", self.store, *args).returncode, 0, args)


if __name__ == "__main__":
    harness.main()
