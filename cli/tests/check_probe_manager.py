#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Probes that are added to a run while it samples: their values are those that the program has logged, their counts
the number of its calls; and who may add them.

usage: check_probe_manager.py DWARFPROF PROGRAM-DIR
"""
import array
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import tomllib
import unittest

import chance
import harness
import readers
import valued
from harness import dwarfprof, program, start, wait_for, wait_until_it_says
from slow_files import FLUSH, OPEN, SlowFiles

NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
VALUES = "(size=arg1:u64, path=arg2:str, status=arg4->16:s32, id=arg4->0:u64)"
KEYS = ["size", "path", "status", "id"]


class Program:
    """Of test-programs/valued.c: makes n calls when told to."""
    def __init__(self, n, directory, path=None, prefix=(), arguments=()):
        self.log = os.path.join(directory, "log")
        with open(self.log, "w"):
            os.chmod(self.log, 0o666)
        self.process = subprocess.Popen([*prefix, path or program("valued"), *arguments, str(n), self.log], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid

    def begin(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def go(self):
        self.begin()
        assert self.process.stdout.readline() == "done\n"

    def logged(self):
        with open(self.log) as file:
            return {values["id"]: {key: valued.text_of(value) for key, value in values.items()} for values in map(json.loads, file)}

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class ProbeManager(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory())
        os.chmod(self.directory, 0o755)
        self.socket = os.path.join(self.directory, "probes")
        self.out = os.path.join(self.directory, "out.jsonl")

    @contextlib.contextmanager
    def program(self, n, **kwargs):
        target = Program(n, self.directory, **kwargs)
        try:
            yield target
        finally:
            target.end()

    @contextlib.contextmanager
    def recording(self, *options):
        """Yields what the profiler has said when it has ended."""
        said = []
        profiler = start(*options, "--probe-socket", self.socket, "--no-symbols", "-o", self.out, stderr=subprocess.PIPE, text=True)
        try:
            wait_until_it_says(profiler, "sampling")
            self.assertEqual(os.stat(self.socket).st_mode & 0o777, 0o600)
            yield said
        finally:
            profiler.send_signal(signal.SIGINT)
            said.append(profiler.communicate(timeout=180)[1])
        self.assertEqual(profiler.returncode, 0 if os.path.getsize(self.out) else 5, said)
        self.assertFalse(os.path.exists(self.socket))

    def ask(self, *words, prefix=()):
        return subprocess.run([*prefix, harness.DWARFPROF, "probe", "-s", self.socket, *words], capture_output=True, text=True,
                              timeout=180)

    def add(self, *words, **kwargs):
        result = self.ask("add", *words, **kwargs)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [int(word) for word in result.stdout.split()]

    def list(self, **kwargs):
        result = self.ask("list", "--json", **kwargs)
        self.assertEqual(result.returncode, 0, result.stderr)
        return {probe["id"]: probe for probe in json.loads(result.stdout)["probes"]}

    def do(self, *words):
        result = self.ask(*words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def samples(self):
        with open(self.out) as file:
            return valued.samples_of(file.read())

    def lost(self, said):
        return int(re.search(r" (\d+) lost", said)[1])

    def refuse(self, why, *words, prefix=()):
        result = self.ask(*words, prefix=prefix)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn(why, result.stderr)

    def check_values(self, samples, logged, name):
        self.assertEqual(len({s["labels"]["id"] for s in samples}), len(samples))
        for s in samples:
            values = logged[s["labels"]["id"]]
            labels = {key: value for key, value in s["labels"].items() if not re.match("-e$|process\\.", key)}
            self.assertEqual(labels, {"probe": name, **{key: values[key] for key in KEYS}})
            self.assertEqual(s["weight"], 1)

    def test_values_and_counts(self):
        # A program does not wait for a profiler that gets no CPU: of calls that are lost, only the number is known.
        self.assertTrue(any(self.are_most_there(20000) for _ in range(5)))
        self.refuse("nothing listens for probes at", "list")

    def are_most_there(self, n):
        with self.program(n) as target:
            with self.recording("-p", str(target.pid)) as said:
                self.assertEqual(self.list(), {})
                probe, = self.add(f"uprobe:{program('valued')}:take{VALUES}", "--name", "taken", "--max-rate", "1000000")
                target.go()
                listed = self.list()[probe]
                self.do("remove", str(probe))
                self.assertEqual(self.list(), {})
            self.assertEqual((listed["state"], listed["name"], listed["hits"], listed["thinned"]), ("on", "taken", n, 0))
            samples = self.samples()
            hits = [s for s in samples if s["event"] == "probe"]
            self.check_values(hits, target.logged(), "taken")
            self.assertEqual(len(hits) + self.lost(said[0]), n)
            self.assertLess(len(hits), len(samples))
        if len(hits) <= n / 2:
            return False
        # Up to one in a thousand is not whole.
        self.assertTrue(chance.is_rare(sum(s["outcome"] != "complete" for s in hits), len(hits), 0.001, 0.01))
        return True

    def test_an_instruction(self):
        path = program("valued")
        with self.program(1000) as target, self.recording("-p", str(target.pid)):
            probe, = self.add(f"uprobe:{path}:take+{readers.instructions_of(path, 'take')[1]}")
            target.go()
            self.assertEqual(self.list()[probe]["hits"], 1000)

    def test_with_other_events(self):
        for options in (["--wall"], ["--off-cpu"], ["-e", "page-faults"], ["-e", "page-faults,context-switches"]):
            with self.subTest(options=options), self.program(500) as target:
                with self.recording("-p", str(target.pid), *options) as said:
                    self.add(f"uprobe:{program('valued')}:take{VALUES}", "--name", "taken")
                    target.go()
                hits = [s for s in self.samples() if s["event"] == "probe"]
                self.check_values(hits, target.logged(), "taken")
                self.assertEqual(len(hits) + self.lost(said[0]), 500)

    def test_several_from_a_file(self):
        file, path = os.path.join(self.directory, "probes.toml"), program("valued")
        with open(file, "w") as to:
            to.write(f'[probe.in]\nprobe = "uprobe:{path}:take(id=arg4->0:u64)" # its number\nmax-rate = 100000 # all of them\n'
                     f"# its result\n[probe.\"out\"]\nprobe = 'uretprobe:{path}:take(ret:s32)'\nmax-rate = 100000\n")
        with open(file, "rb") as written:
            self.assertEqual(tomllib.load(written)["probe"]["out"], {"probe": f"uretprobe:{path}:take(ret:s32)", "max-rate": 100000})
        with self.program(1000) as target:
            with self.recording("-p", str(target.pid)) as said:
                first, second = self.add("@" + file)
                target.go()
                listed = self.list()
            self.assertEqual([listed[i]["hits"] for i in (first, second)], [1000, 1000])
            hits = [s["labels"] for s in self.samples() if s["event"] == "probe"]
            logged = target.logged()
            self.assertEqual(len(hits) + self.lost(said[0]), 2000)
            self.assertLessEqual({s["id"] for s in hits if s["probe"] == "in"}, set(logged))
            self.assertLessEqual({s["ret"] for s in hits if s["probe"] == "out"}, {v["ret"] for v in logged.values()})
            self.assertEqual({s["probe"] for s in hits}, {"in", "out"})

    def test_a_static_probe(self):
        path = program("valued_usdt")
        wanted = [line for line in dwarfprof("probes", path).stdout.splitlines() if line.startswith("usdt:")][0].split("(")[0]
        with self.recording("-a", "-F", "1"):
            self.add(wanted)
            listed, = self.list().values()
            self.assertEqual((listed["state"], listed["name"]), ("on", wanted))

    def test_disabled_and_enabled(self):
        with self.program(300) as first, self.recording("-p", str(first.pid)):
            probe, = self.add(f"uprobe:{program('valued')}:take")
            self.do("disable", str(probe))
            first.go()
            self.assertEqual((self.list()[probe]["state"], self.list()[probe]["traps"]), ("off", 0))
        # What is off has the counts of its last look: only the samples show that nothing was hit.
        self.assertNotIn("probe", {s["event"] for s in self.samples()})
        with self.program(300) as second, self.recording("-p", str(second.pid)):
            probe, = self.add(f"uprobe:{program('valued')}:take")
            self.do("disable", "all")
            self.do("enable", "all")
            second.go()
            self.assertEqual((self.list()[probe]["state"], self.list()[probe]["hits"]), ("on", 300))
        self.assertEqual(sum(s["event"] == "probe" for s in self.samples()), 300)

    def test_a_budget(self):
        """At most some 10 samples in a second; a second with more than 1000 hits ends the probe."""
        with self.program(3000) as target:
            with self.recording("-p", str(target.pid)) as said:
                probe, = self.add(f"uprobe:{program('valued')}:take", "--name", "taken", "--max-rate", "10")
                target.go()
                wait_for(lambda: self.list()[probe]["state"] == "over")
                listed = self.list()[probe]
                self.assertGreater(listed["hits"], 1000)  # more if a second ended in between
                self.assertGreater(listed["thinned"], 800)
                self.do("enable", str(probe))
                self.assertEqual(self.list()[probe]["state"], "on")
            hits = [s for s in self.samples() if s["event"] == "probe"]
            self.assertEqual(len(hits) + self.lost(said[0]), listed["hits"] - listed["thinned"])
            self.assertIn("probe 1 (taken) has more than 10 hits in a second: some are chosen at random", said[0])
            self.assertIn("probe 1 (taken) had more than 1000 hits in a second, and is disabled", said[0])

    def test_hits_of_others_count(self):
        """Not sampled, but each costs a trap."""
        with self.program(2000) as other, harness.busy() as sampled, self.recording("-p", sampled):
            probe, = self.add(f"uprobe:{program('valued')}:take", "--max-rate", "10")
            other.go()
            wait_for(lambda: self.list()[probe]["state"] == "over")
            self.assertEqual(self.list()[probe]["hits"], 0)
            self.assertGreater(self.list()[probe]["traps"], 1000)
        self.assertNotIn("probe", {s["event"] for s in self.samples()})

    def test_only_some_processes(self):
        with self.program(100) as target, self.recording("-a", "-F", "1"):
            inside, = self.add(f"uprobe:{program('valued')}:take", "-p", str(target.pid))
            outside, = self.add(f"uprobe:{program('valued')}:take", "-p", str(os.getpid()))
            target.go()
            listed = self.list()
        self.assertEqual([len([s for s in self.samples() if s["event"] == "probe"]), listed[inside]["traps"], listed[outside]["traps"]],
                         [100, 100, 0])

    def test_other_processes_are_not_touched(self):
        """They have no breakpoint, and nobody watches their static probes."""
        path = os.path.realpath(program("valued_usdt"))
        place, counter = places_of(path, "hit")
        with self.program(1, path=path) as target, self.program(1, path=path) as other, self.recording("-a", "-F", "1"):
            wait_for(lambda: all(os.readlink(f"/proc/{p.pid}/exe") == path for p in (target, other)))
            before = [(memory(p.pid, path, place, 1), memory(p.pid, path, counter, 2)) for p in (target, other)]
            self.add(f"usdt:{path}:valued:hit", "-p", str(target.pid))
            after = [(memory(p.pid, path, place, 1), memory(p.pid, path, counter, 2)) for p in (target, other)]
            self.assertEqual(before[0][1], b"\0\0")
            self.assertNotEqual(before[0][0], after[0][0])
            self.assertNotEqual(after[0][1], b"\0\0")
            self.assertEqual(before[1], after[1])
            self.do("disable", "all")
            self.assertEqual(before[0], (memory(target.pid, path, place, 1), memory(target.pid, path, counter, 2)))
            self.do("enable", "all")
            target.end()
            self.do("disable", "all")
            self.refuse("the processes that the probe is for have ended", "enable", "all")

    def test_errors(self):
        with self.program(1) as target, self.recording("-p", str(target.pid)):
            path = program("valued")
            begins = readers.instructions_of(path, "take")
            within = next(at for at in range(1, begins[-1]) if at not in begins)
            for why, words in (("that is within an instruction; the next one begins at +", ["add", f"uprobe:{path}:take+{within}"]),
                               ("are where a function begins", ["add", f"uprobe:{path}:take+4(arg1)"]),
                               ("has no function taek; did you mean take", ["add", f"uprobe:{path}:taek"]),
                               ("is not an ELF file", ["add", f"uprobe:{__file__}:take"]),
                               ("has no parameter siez", ["add", f"uprobe:{path}:take(x=siez)"]),
                               ("what can be added is uprobe:PATH:NAME", ["add", "cpu"]),
                               ("the name probe is reserved", ["add", f"uprobe:{path}:take(probe=arg1)"]),
                               ("only -e uretprobe: has `time'", ["add", f"uretprobe:{path}:take(time)"]),
                               ("cannot read /nowhere", ["add", "uprobe:/nowhere:take"]),
                               ("there is no probe 7 of yours", ["remove", "7"]),
                               ("'x' is not a probe number", ["remove", "x"])):
                with self.subTest(why=why):
                    self.refuse(why, *words)
            self.assertEqual(self.list(), {})
            status = {"pid": target_of(self.socket), "probes": 0, "limit": 64, "ended": [], "changed": []}
            self.assertEqual(json.loads(self.do("status", "--json")), status)
            self.assertEqual(self.do("remove", "all"), "")
            result = dwarfprof("-p", str(target.pid), "-d", "100ms", "--probe-socket", self.socket)
            self.assertEqual(result.returncode, 1)
            self.assertIn("Address already in use", result.stderr)
        for options in (["-e", f"uprobe:{path}:take"], ["--exceptions"], ["-K"], ["--probe", f"label:{path}:take(x=arg1)"]):
            result = dwarfprof("-a", "--probe-socket", self.socket, *options)
            self.assertEqual(result.returncode, 2)
            self.assertIn("--probe-socket", result.stderr)

    def test_files_that_change(self):
        """A name of the old file stays, so that only its path tells of the new one."""
        written, replaced = paths = [shutil.copy(program("valued"), os.path.join(self.directory, name)) for name in ("written", "replaced")]
        shutil.copy(program("valued"), os.path.join(self.directory, "new"))
        meanings = "its file was written to after it was searched: ", "its file was replaced after it was searched: "
        with self.recording("-a", "-F", "1") as said:
            probes = [self.add(f"uprobe:{path}:take", "--name", os.path.basename(path))[0] for path in paths]
            self.assertFalse(any("changed" in probe for probe in self.list().values()))
            os.utime(written, (0, 0))
            os.link(replaced, os.path.join(self.directory, "kept"))
            os.rename(os.path.join(self.directory, "new"), replaced)
            listed, status = self.list(), self.do("status")
            for probe, meaning in zip(probes, meanings):
                self.assertIn(meaning, listed[probe]["changed"])
                self.assertIn(f"probe {probe}: {meaning}", status)
                self.assertEqual(listed[probe]["state"], "on")
            self.do("disable", "all")
            self.refuse("its file was written to: remove the probe", "enable", str(probes[0]))
            self.do("enable", str(probes[1]))
            self.assertEqual([self.list()[probe]["state"] for probe in probes], ["off", "on"])
        for probe, path, meaning in zip(probes, paths, meanings):
            self.assertEqual(said[0].count(f"probe {probe} ({os.path.basename(path)}): {meaning}"), 1)

    def test_damaged_requests(self):
        requests = [b"{\n", b"[]\n", b"{}\n", b'{"do": 1}\n', b'{"do": "add"}\n', b'{"do": "add", "kind": "uprobe", "path": "/bin/true", "probe": "x"}\n',
                    b"\xff\n", b"[" * 3000 + b"\n", b'{"do": "remove", "id": "x"}\n', b'{"do": "list", "x": 1\n']
        with self.program(1) as target, self.recording("-p", str(target.pid)):
            for request in requests:
                with self.subTest(request=request[:80]), socket.socket(socket.AF_UNIX) as peer:
                    peer.connect(self.socket)
                    peer.sendall(request)
                    self.assertTrue(json.loads(peer.makefile().readline())["error"])
            with socket.socket(socket.AF_UNIX) as peer:  # no end
                peer.connect(self.socket)
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    peer.sendall(b"x" * 100000)
                    self.assertIn("too long", json.loads(peer.makefile().readline())["error"])
            idle = [socket.socket(socket.AF_UNIX) for _ in range(20)]
            for peer in idle:
                peer.connect(self.socket)
            self.assertEqual(self.list(), {})
            for peer in idle:
                peer.close()

    def test_other_users(self):
        own = os.path.join(self.directory, "valued")
        hidden = os.path.join(self.directory, "hidden")
        shutil.copy(program("valued"), own)
        shutil.copy(program("valued"), hidden)
        os.chmod(hidden, 0o711)
        binary = os.path.join(self.directory, "dwarfprof")
        shutil.copy(harness.DWARFPROF, binary)
        with self.recording("-a", "-F", "1") as said, self.program(200, path=own) as roots, \
                self.program(200, path=own, prefix=AS_NOBODY) as target:
            wait_for(lambda: os.readlink(f"/proc/{target.pid}/exe") == own)

            def ask(*words):
                return subprocess.run([*AS_NOBODY, binary, "probe", "-s", self.socket, *words], capture_output=True, text=True)

            self.assertIn("Permission denied", ask("list").stderr)
            os.chmod(self.socket, 0o666)
            by_root, = self.add(f"uprobe:{own}:take", "--name", "root's")
            self.refuse("begin the names of other users' probes", "add", f"uprobe:{own}:take", "--name", f"{NOBODY}:root's")
            for why, words in (("only root may probe any process: give -p PID", [f"uprobe:{own}:take"]),
                               (f"you may not trace process {roots.pid}", [f"uprobe:{own}:take", "-p", str(roots.pid)]),
                               ("Permission denied", [f"uprobe:{hidden}:take", "-p", str(target.pid)]),
                               ("is at most 1000", [f"uprobe:{own}:take", "-p", str(target.pid), "--max-rate", "1001"])):
                result = ask("add", *words)
                self.assertEqual(result.returncode, 1)
                self.assertIn(why, result.stderr)
            result = ask("add", f"uprobe:{own}:take", "-p", str(target.pid))
            self.assertEqual(result.returncode, 0, result.stderr)
            probe = int(result.stdout)
            self.assertEqual([p["id"] for p in json.loads(ask("list", "--json").stdout)["probes"]], [probe])
            self.assertIn(f"there is no probe {by_root} of yours", ask("remove", str(by_root)).stderr)
            target.go()
            roots.go()
            listed = self.list()
            self.assertEqual((listed[probe]["name"], listed[by_root]["name"]), (f"{NOBODY}:uprobe:{own}:take", "root's"))
            self.assertEqual((listed[probe]["hits"], listed[probe]["traps"], listed[by_root]["hits"]), (200, 200, 400))
            self.assertEqual(ask("remove", "all").returncode, 0)
            self.assertEqual(set(self.list()), {by_root})
            self.do("enable", "all")  # is on
            self.do("disable", "all")
        self.assertEqual(re.findall("probe [0-9]+ is ([a-z]+) by user ([0-9]+)", said[0]), [("added", "0"), ("disabled", "0")])
        # Whose they are, and nobody else's could look so.
        names = [s["labels"]["probe"] for s in self.samples() if s["event"] == "probe"]
        self.assertEqual(set(names), {"root's", f"{NOBODY}:uprobe:{own}:take"})
        self.assertEqual(sum(name != "root's" for name in names), 200)

    def test_a_process_that_executes_another_program(self):
        """Its user may trace it no more if that is set-user-ID, set-group-ID, or not for them to read."""
        binary = os.path.join(self.directory, "dwarfprof")
        shutil.copy(harness.DWARFPROF, binary)
        own = os.path.join(self.directory, "valued")
        shutil.copy(program("valued"), own)
        for mode, hits in ((0o755, 200), (0o4755, 0), (0o2755, 0), (0o711, 0)):
            with self.subTest(mode=oct(mode)), self.recording("-a", "-F", "1"):
                os.chmod(self.socket, 0o666)
                os.chmod(own, 0o755)
                with self.program(200, path="sh", prefix=AS_NOBODY, arguments=["-c", f'read line; exec {own} "$@"', "sh"]) as target:
                    wait_for(lambda: "read line" in harness.read(f"/proc/{target.pid}/cmdline") and os.path.basename(
                        os.readlink(f"/proc/{target.pid}/exe")) in ("dash", "bash", "sh"))
                    result = subprocess.run([*AS_NOBODY, binary, "probe", "-s", self.socket, "add", f"uprobe:{own}:take", "-p",
                                             str(target.pid)], capture_output=True, text=True)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    os.chmod(own, mode)
                    target.begin()
                    target.go()
                    probe, = self.list().values()
                    self.assertEqual(probe["hits"], hits)
                    self.assertEqual(probe["state"], "on" if hits else "off")
                    if not hits:
                        result = subprocess.run([*AS_NOBODY, binary, "probe", "-s", self.socket, "enable", "all"],
                                                capture_output=True, text=True)
                        self.assertIn(f"you may not trace process {target.pid}", result.stderr)

    def forge(self, pid, *paths):
        """As a peer with another user's rights that claims descriptors to be a program, and the memory of a process."""
        request = {"do": "add", "kind": "uprobe", "path": "/bin/true", "probe": "main", "pids": [pid]}
        script = ("import array, json, os, socket, sys\n"
                  "s = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n"
                  "fds = [os.open(path, os.O_RDONLY) for path in sys.argv[3:]]\n"
                  "s.sendmsg([sys.argv[2].encode() + b'\\n'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))])\n"
                  "print(s.makefile().readline())\n")
        result = subprocess.run([*AS_NOBODY, "python3", "-c", script, self.socket, json.dumps(request), *paths], capture_output=True,
                                text=True, timeout=60)
        return json.loads(result.stdout)["error"]

    def test_forged_processes(self):
        with self.recording("-a", "-F", "1"):
            os.chmod(self.socket, 0o666)
            for path, pid in (("/proc/self/mem", os.getpid()), ("/proc/1/stat", 1), (f"/proc/{os.getpid()}/stat", os.getpid())):
                self.assertIn("you may not trace process", self.forge(pid, "/bin/true", path))

    def test_files_that_do_not_close(self):
        """Whose server does not answer: who gives them waits, and neither others nor the end of the run."""
        mounted = os.path.join(self.directory, "mounted")
        os.mkdir(mounted)
        with SlowFiles(mounted, program("valued"), ["slow"], hangs={FLUSH}, is_deaf=True) as files:
            with self.recording("-a", "-F", "1"):
                os.chmod(self.socket, 0o666)
                files.hang_for(target_of(self.socket))
                for _ in range(3):
                    self.assertIn("do not answer", self.forge(os.getpid(), *files.paths()))
                self.assertEqual(self.list(), {})
                probe, = self.add(f"uprobe:{program('valued')}:take")
                self.assertEqual(list(self.list()), [probe])
                begun = time.monotonic()
            self.assertLess(time.monotonic() - begun, 30)

    def test_a_debug_file_that_does_not_open(self):
        """A file names it, so whoever gives the file chooses where it is."""
        binary, debug = os.path.join(self.directory, "valued"), os.path.join(self.directory, "kept", "valued.debug")
        mounted = os.path.join(self.directory, ".debug")
        for path in (mounted, os.path.dirname(debug)):
            os.mkdir(path)
        subprocess.run(["objcopy", "--only-keep-debug", program("valued"), debug], check=True)
        subprocess.run(["objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", program("valued"), binary], check=True)
        with SlowFiles(mounted, debug, ["valued.debug"], hangs={OPEN}, is_deaf=True) as files, self.recording("-a", "-F", "1"):
            files.hang_for(target_of(self.socket))
            self.refuse("debug information", "add", f"uprobe:{binary}:take(size=size)")
            self.assertEqual(self.list(), {})

    def test_files_that_nobody_receives(self):
        """A connection behind a request that is too long: to close it takes as long as its peer does not read."""
        with socket.create_server(("127.0.0.1", 0)) as listener, self.recording("-a", "-F", "1"):
            others = []
            for _ in range(3):
                lingers = socket.create_connection(listener.getsockname())
                others.append(listener.accept()[0])
                lingers.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    while lingers.send(bytes(100000)):
                        pass
                lingers.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 600))
                pid = target_of(self.socket)
                os.kill(pid, signal.SIGSTOP)
                wait_for(lambda: harness.read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[0] == "T")
                with socket.socket(socket.AF_UNIX) as peer:
                    peer.connect(self.socket)
                    peer.sendall(b"x" * 16384)
                    peer.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [lingers.fileno()]))])
                    lingers.close()
                os.kill(pid, signal.SIGCONT)
                begun = time.monotonic()
                self.assertEqual(self.list(), {})
                self.assertLess(time.monotonic() - begun, 30)
            begun = time.monotonic()
        self.assertLess(time.monotonic() - begun, 30)
        for other in others:
            other.close()

    def test_an_urgent_byte(self):
        """It wakes the one who waits for it, who has to take it."""
        with self.recording("-a", "-F", "1"), socket.socket(socket.AF_UNIX) as peer:
            peer.connect(self.socket)
            peer.send(b"x", socket.MSG_OOB)
            self.assertEqual(self.list(), {})
            thread = next(path for path in glob.glob(f"/proc/{target_of(self.socket)}/task/*")
                          if harness.read(f"{path}/comm") == "probes\n")
            before = harness.read(f"{thread}/stat")
            time.sleep(1)
            used = [sum(map(int, stat.rsplit(")", 1)[1].split()[11:13])) for stat in (before, harness.read(f"{thread}/stat"))]
            self.assertLess(used[1] - used[0], os.sysconf("SC_CLK_TCK") / 4)

    def test_an_agent(self):
        store = os.path.join(self.directory, "store")
        with self.program(400) as target:
            agent = start("agent", "--store", store, "--interval", "1s", "-p", str(target.pid), "--probe-socket", self.socket,
                          stderr=subprocess.PIPE, text=True)
            wait_until_it_says(agent, "sampling")
            probe, = self.add(f"uprobe:{program('valued')}:take{VALUES}", "--name", "taken")
            target.go()
            self.assertEqual(self.list()[probe]["hits"], 400)
            agent.send_signal(signal.SIGTERM)
            agent.communicate(timeout=60)
            self.assertEqual(agent.returncode, 0)
            hits = []
            for file in glob.glob(os.path.join(store, "**", "*.dwarfprof"), recursive=True):
                dwarfprof("convert", file, "--format", "jsonl", "-o", self.out)
                hits += [s for s in self.samples() if s["event"] == "probe"]
            self.check_values(hits, target.logged(), "taken")
            self.assertEqual(len(hits), 400)


def places_of(path, name):
    """Where a static probe of a program first is, and its counter: addresses in the file (readelf -n)."""
    notes = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True, check=True).stdout
    place, counter = re.search(rf"Name: {name}\n *Location: 0x([0-9a-f]+), Base: 0x[0-9a-f]+, Semaphore: 0x([0-9a-f]+)", notes).groups()
    return int(place, 16), int(counter, 16)


def memory(pid, path, address, size):
    """What a process has at an address of its program, which is linked at 0."""
    with open(f"/proc/{pid}/maps") as maps:
        start = next(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(path) and line.split()[2] == "00000000")
    with open(f"/proc/{pid}/mem", "rb", 0) as file:
        file.seek(start + address)
        return file.read(size)


def target_of(path):
    """The process that listens at a socket."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(path)
        return array.array("i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]


if __name__ == "__main__":
    harness.main()
