#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The labels that backends get: of made cgroups with the names that systemd, Kubernetes and runtimes of containers give,
by the code of the OpenTelemetry collector and Pyroscope (ci/backends). Programs count their calls themselves.

usage: check_agent_labels.py DWARFPROF PROGRAM-DIR
"""
import collections
import json
import os
import socket
import subprocess
import sys
import time

import harness
from agents import PUBLISHER, Agent, find_library, free_port
from check_agent_backends import Receiver
from harness import dwarfprof, wait_for

POD = "12345678-9abc-def0-1234-56789abcdef0"
ID, OTHER_ID, LAST_ID = "0123456789abcdef" * 4, "fedcba9876543210" * 4, "00112233" * 8


class Labels(Agent):
    def setUp(self):
        super().setUp()
        with open("/proc/self/mounts", encoding="utf-8") as mounts:
            mount = [line.split()[1] for line in mounts if line.split()[2] == "cgroup2"][0]
        self.made = []
        self.addCleanup(lambda: [wait_for(lambda path=path: self.remove(path)) for path in reversed(self.made)])
        self.outer = f"dwarfprof-test-{os.getpid()}"
        self.mount = mount
        self.make(self.outer)
        self.receiver = Receiver(self, self.out + ".received")

    def make(self, path):
        os.mkdir(os.path.join(self.mount, path))
        self.made.append(os.path.join(self.mount, path))

    @staticmethod
    def remove(path):
        try:
            os.rmdir(path)
        except OSError:
            return False
        return True

    def cgroup(self, path):
        """Its path in /proc."""
        parts = path.split("/")
        for i in range(len(parts)):
            part = os.path.join(self.outer, *parts[:i + 1])
            if os.path.join(self.mount, part) not in self.made:
                self.make(part)
        return f"/{self.outer}/{path}"

    def caller_in(self, path):
        caller = self.caller()
        if path:
            with open(self.mount + self.cgroup(path) + "/cgroup.procs", "w", encoding="utf-8") as file:
                file.write(str(caller.pid))
        return caller

    def deliver(self, callers, *args, calls=20):
        """Each of them makes that many calls, in one interval, which its end ends."""
        self.spool = self.out + ".spool"
        self.args = *[word for c in callers for word in ("-p", str(c.pid))], \
            "-e", f"uprobe:{find_library(callers[0].pid)}:getppid", "--deliver", "1h", *args
        agent = self.agent("--spool", self.spool, *self.args)
        for caller in callers:
            self.assertEqual(len(self.call(caller, calls)), calls)
        return agent

    def urls(self):
        return "--otlp", f"grpc://127.0.0.1:{self.receiver.ports['grpc']}", \
            "--pyroscope", f"http://127.0.0.1:{self.receiver.ports['http']}"

    def resources(self):
        """The calls of each resource, by its process."""
        found = collections.defaultdict(collections.Counter)
        for r in self.receiver.got():
            if r["by"] == "grpc":
                for p in r["profiles"]:
                    n = sum(sum(s["values"] or ()) or len(s["times"] or ()) for s in p["samples"])
                    found[int(p["resource"].get("process.pid", 0))][tuple(sorted(p["resource"].items()))] += n
        return found

    def pushed(self):
        """The calls of each set of labels."""
        found = collections.Counter()
        for r in self.receiver.got():
            if r["by"] == "push":
                found[tuple(sorted(r["labels"].items()))] += r["totals"][0]
        return found


class Cgroups(Labels):
    def test_services_pods_and_containers(self):
        pod = f"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{POD.replace('-', '_')}.slice"
        cases = (("system.slice/web@1.service", {"service.name": "web@1"}),
                 (f"{pod}/cri-containerd-{ID}.scope", {"k8s.pod.uid": POD, "container.id": ID}),
                 (f"kubepods/besteffort/pod{POD}/{OTHER_ID}", {"k8s.pod.uid": POD, "container.id": OTHER_ID}),
                 (f"system.slice/docker-{ID}.scope", {"container.id": ID}),
                 (f"system.slice/docker-{OTHER_ID}.scope/system.slice/in.service",
                  {"container.id": OTHER_ID, "service.name": "in"}),
                 ("lxc.payload.box", {"container.name": "box", "service.name": "box"}),
                 ("user.slice/session-1.scope", {}))
        callers = [self.caller_in(path) for path, _ in cases]
        agent = self.deliver(callers, *self.urls(), "--store", self.store, "--interval", "1h")
        self.end_and_deliver(agent, self.spool, *self.args)
        comm = harness.read(f"/proc/{callers[0].pid}/comm").strip()
        expected = collections.Counter()
        resources = self.resources()
        self.assertEqual(set(resources), {c.pid for c in callers})
        for caller, (path, labels) in zip(callers, cases):
            (resource, n), = [*resources[caller.pid].items()]
            resource = dict(resource)
            self.assertEqual(n, 20)
            for key in "container.id", "container.name", "k8s.pod.uid", "service.name":
                self.assertEqual(resource.get(key), {"service.name": comm, **labels}.get(key), (path, key))
            self.assertEqual(resource["host.name"], socket.gethostname())
            self.assertEqual(resource["process.linux.cgroup"], self.cgroup(path))
            self.assertEqual(resource["process.executable.path"], os.path.realpath(sys.executable))
            series = {"service_name": comm, "host": socket.gethostname(),
                      **{key.replace(".", "_"): value for key, value in labels.items()}}
            expected[tuple(sorted(series.items()))] += 20
        pushed = collections.Counter()
        for labels, n in self.pushed().items():
            pushed[tuple((key, value) for key, value in labels if key != "__name__")] += n
        self.assertEqual(pushed, expected)
        recorded = collections.Counter(s["labels"].get("k8s.pod.uid") for s in self.samples(self.store))
        self.assertEqual(recorded, {POD: 40, None: 20 * (len(cases) - 2)})
        self.assertIn(ID, dwarfprof("report", self.store, "--by", "label:container.id").stdout)


    def test_of_processes_that_have_ended(self):
        """Long before anybody could read where they were. Each sh asks for its parent once."""
        n = 100
        starter = subprocess.Popen(["sh", "-c", f"read _; for i in $(seq {n}); do sh -c :; done"], stdin=subprocess.PIPE, text=True)
        self.addCleanup(starter.communicate)
        self.addCleanup(starter.kill)
        path = self.cgroup(f"system.slice/docker-{ID}.scope")
        with open(f"{self.mount}{path}/cgroup.procs", "w", encoding="utf-8") as file:
            file.write(str(starter.pid))
        agent = self.agent("-e", f"uprobe:{find_library(os.getpid())}:getppid", "--store", self.store, "--interval", "1h")
        starter.communicate("\n")
        self.end(agent)
        samples = [s["labels"] or {} for s in self.samples(self.store) if s["comm"] == "sh"]
        labels = collections.Counter((s.get("container.id"), s.get("process.linux.cgroup")) for s in samples)
        named = sum("process.executable.path" in s for s in samples if s.get("process.linux.cgroup") == path)
        print(f"{named} of {n} had not ended", flush=True)
        self.assertEqual(labels[ID, path], n, labels)
        self.assertLess(named, n)


class Containers(Labels):
    def put(self, path, content):
        path = self.tree + path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file)

    def test_names_from_the_files_of_runtimes(self):
        """Which the agent alone sees here. What is in a container cannot have the names of another one."""
        self.tree = self.out + ".tree"
        for directory in "run", "var/lib":
            os.makedirs(os.path.join(self.tree, directory))
        self.prefix = ("unshare", "--mount", "sh", "-ec",
                       'for of in run var/lib; do mount --bind "$0/$of" "/$of"; done; exec "$@"', self.tree)
        self.put(f"/var/lib/docker/containers/{ID}/config.v2.json",
                 {"ID": ID, "Config": {"Image": "registry:5000/shop/db:3", "Labels": {}}, "Name": "/db"})
        self.put(f"/run/containerd/io.containerd.runtime.v2.task/k8s.io/{OTHER_ID}/config.json",
                 {"annotations": {"io.kubernetes.cri.container-name": "web", "io.kubernetes.cri.image-name": "shop/web:1",
                                  "io.kubernetes.cri.sandbox-name": "web-0", "io.kubernetes.cri.sandbox-namespace": "shop"}})
        self.put("/var/lib/containers/storage/overlay-containers/containers.json",
                 [{"id": LAST_ID, "names": ["log"], "metadata": json.dumps({"image-name": "shop/log"})}])
        cases = ((f"system.slice/docker-{ID}.scope",
                  {"container.name": "db", "container.image.name": "registry:5000/shop/db", "service.name": "db"}),
                 (f"kubepods/pod{POD}/{OTHER_ID}",
                  {"k8s.container.name": "web", "k8s.pod.name": "web-0", "k8s.namespace.name": "shop",
                   "container.image.name": "shop/web", "service.name": "web", "service.origin": "user"}),
                 (f"machine.slice/libpod-{LAST_ID}.scope/container",
                  {"container.name": "log", "container.image.name": "shop/log", "service.name": "log"}),
                 (f"system.slice/docker-{ID}.scope/docker-{LAST_ID}.scope", {}))
        callers = [self.caller_in(path) for path, _ in cases]
        agent = self.deliver(callers, *self.urls())
        self.end(agent)
        comm = harness.read(f"/proc/{callers[0].pid}/comm").strip()
        keys = {key for _, labels in cases for key in labels}
        resources = self.resources()
        for caller, (path, labels) in zip(callers, cases):
            [resource] = map(dict, resources[caller.pid])
            self.assertEqual({key: resource[key] for key in keys & resource.keys()}, {"service.name": comm, **labels}, path)
        names = {dict(labels).get("container_name") for labels in self.pushed()}
        self.assertEqual(names, {"db", "log", None})


class Contexts(Labels):
    def test_services_that_programs_say_they_are(self):
        """Marked as such, and not in place of what is known of them. They are read soon after the first sample."""
        caller = self.caller(PUBLISHER)
        agent = self.agent(*self.of_calls(caller), "--store", self.store, "--interval", "1h")
        for _ in range(20):
            self.assertEqual(len(self.call(caller, 1)), 1)
            time.sleep(0.2)
        self.end(agent)
        labels = [s["labels"] for s in sorted(self.samples(self.store), key=lambda s: s["time_ns"])]
        self.assertEqual(len(labels), 20)
        known = [of.get("service.origin") == "program" for of in labels]
        self.assertTrue(known[-1], labels[-1])
        self.assertEqual(known, sorted(known), "what is known stays so")
        self.assertEqual({key: labels[-1].get(key) for key in ("service.name", "service.instance.id", "k8s.pod.name")},
                         {"service.name": "shop", "service.instance.id": "shop-7", "k8s.pod.name": None})
        self.assertEqual(labels[-1]["process.executable.path"], os.path.realpath(sys.executable))


class Cardinality(Labels):
    def test_what_is_too_much_is_folded_and_counted(self):
        """Each is in one profile; the limit's are told apart."""
        callers = [self.caller_in(f"system.slice/s{i}.service") for i in range(6)]
        address = f"127.0.0.1:{free_port()}"
        agent = self.deliver(callers, *self.urls(), "--label-sets", "4", "--pull", address)
        read = lambda: subprocess.run(["curl", "-sS", f"http://{address}/metrics", f"http://{address}/status"],
                                      capture_output=True, text=True, check=True, timeout=60).stdout
        for port in self.receiver.ports.values():
            wait_for(lambda port=port: f':{port}"}} 40\n' in "".join(
                line for line in read().splitlines(True) if line.startswith("dwarfprof_samples_folded_total")))
        self.assertIn("40 of too many sets of labels, 40 keep nothing", read())
        self.assertIn('kept="nothing"} 40\n', read())
        self.end_and_deliver(agent, self.spool, *self.args)
        services = collections.Counter()
        for labels, n in self.pushed().items():
            services[dict(labels)["service_name"]] += n
        self.assertEqual(services, {"s0": 20, "s1": 20, "s2": 20, "s3": 20, "other": 40})
        resources = self.resources()
        self.assertEqual(len(resources), 5)
        self.assertEqual([(dict(labels)["service.name"], n) for labels, n in resources[0].items()], [("other", 40)])
        self.assertNotIn("process.linux.cgroup", dict(next(iter(resources[0]))))


# Threads with names of their own, one after the other, each of which makes some calls.
NAMER = ("import os, sys, threading\n"
         "def call(i):\n"
         "    with open(f'/proc/self/task/{threading.get_native_id()}/comm', 'w') as file: file.write(f'worker-{i}')\n"
         "    for _ in range(4): os.getppid()\n"
         "for line in sys.stdin:\n"
         "    for i in range(int(line)):\n"
         "        thread = threading.Thread(target=call, args=(i,))\n"
         "        thread.start()\n"
         "        thread.join()\n"
         "    print('done', flush=True)\n")


class Series(Labels):
    """Pyroscope makes one of each set of texts that a profile's samples have, and of OpenTelemetry's attributes, too."""
    LONG = "test_of_many_labels_there_are_few",

    def series(self):
        """The values of each, of all pushes."""
        found = collections.Counter()
        for r in self.receiver.got():
            for of in r["series"] if r["by"] == "push" else ():
                found[tuple(sorted(of["labels"].items()))] += of["totals"][0]
        return found

    def test_of_many_threads_there_are_few(self):
        namer = subprocess.Popen([sys.executable, "-c", NAMER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(namer.communicate)
        self.addCleanup(namer.kill)
        wait_for(lambda: "libc.so.6" in harness.read(f"/proc/{namer.pid}/maps"))
        agent = self.deliver([namer], *self.urls(), "--label-sets", "20", calls=0)
        self.call(namer, 50)
        self.end_and_deliver(agent, self.spool, *self.args)
        found = self.series()
        self.assertEqual(sum(found.values()), 200)
        names = collections.Counter()
        for labels, n in found.items():
            names[dict(labels)["thread_name"]] += n
        self.assertEqual(len(names), len(found), found)
        # A quarter of them, a quarter of that, and one of all others.
        self.assertEqual(names, {**{f"worker-{i}": 4 for i in range(6)}, "other": 176})
        attributes = collections.Counter()
        for r in self.receiver.got():
            for p in r["profiles"] if r["by"] == "grpc" else ():
                for s in p["samples"]:
                    key = tuple(sorted(p["resource"].items())), tuple(sorted(s["attributes"].items()))
                    attributes[key] += sum(s["values"] or ()) or len(s["times"])
        self.assertEqual(len(attributes), len(found), attributes)
        self.assertEqual(sum(attributes.values()), 200)

    def test_of_many_labels_there_are_few(self):
        """A program that never sets the same one again."""
        log, address = self.out + ".log", f"127.0.0.1:{free_port()}"
        program = subprocess.Popen([harness.program("custom-pie"), "3600", log], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   text=True)
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        url = self.urls()[-1]
        agent = self.agent("-p", str(program.pid), "-F", "499", "--label-sets", "40", "--deliver", "300ms", "--pyroscope", url,
                           "--pull", address)
        program.stdin.write("\n")
        program.stdin.flush()
        wait_for(lambda: sum(self.series().values()) > 300)
        figures = self.figures(address)
        self.end(agent)
        found = self.series()
        self.assertLessEqual(len(found), 40 / 4 + 2)
        self.assertTrue(any("number" in dict(labels) for labels in found), found)
        self.assertEqual(figures[f'delivery_failed_total{{backend="{url}"}}'], 0)
        self.assertGreater(figures[f'samples_folded_total{{backend="{url}"}}'], 100)


class Rules(Labels):
    def test_of_all_and_of_one(self):
        """A file with Prometheus's names; each backend has its own filter. What is dropped is counted."""
        callers = [self.caller_in(f"{path}.service") for path in ("shop/web-1", "shop/web-2", "bank/db", "bank/tmp")]
        otlp, pyroscope = self.urls()[1::2]
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("relabel = source_labels=service_name regex=tmp action=drop\n"
                       "relabel = source_labels=__meta_process_cgroup regex=.*/([a-z]+)/[^/]* target_label=team\n"
                       "relabel = source_labels=team,service_name separator=/ regex=shop/(web)-.* target_label=service_name\n"
                       f"[backend o]\notlp = {otlp}\nrelabel = source_labels=team regex=shop action=keep\n"
                       f"[backend p]\npyroscope = {pyroscope}\nrelabel = action=labeldrop regex=host\n"
                       "relabel = source_labels=__meta_thread_name target_label=thread replacement=t:$1\n")
        address = f"127.0.0.1:{free_port()}"
        agent = self.deliver(callers, "-c", self.config, "--pull", address)
        read = lambda: subprocess.run(["curl", "-sS", f"http://{address}/metrics"], capture_output=True, text=True,
                                      check=True, timeout=60).stdout
        for words in '{backend="o"} 40\n', '{backend="p"} 20\n':
            wait_for(lambda words=words: "dwarfprof_samples_filtered_total" + words in read())
        self.end_and_deliver(agent, self.spool, *self.args)
        found = [dict(labels) for of in self.resources().values() for labels in of]
        self.assertEqual(sorted((f["service.name"], f["team"], f["host.name"], int(f["process.pid"])) for f in found),
                         sorted(("web", "shop", socket.gethostname(), c.pid) for c in callers[:2]))
        thread = "t:" + harness.read(f"/proc/{callers[0].pid}/comm").strip()
        pushed = {tuple((key, value) for key, value in labels if key != "__name__"): n for labels, n in self.pushed().items()}
        self.assertEqual(pushed, {(("service_name", "web"), ("team", "shop"), ("thread", thread)): 40,
                                  (("service_name", "db"), ("team", "bank"), ("thread", thread)): 20})

    def test_what_is_wrong(self):
        url = "[backend a]\notlp = http://h\n"
        for text, line, column, words in (
                ("relabel = source_labels=a regex=(b action=drop\n", 1, 35, "a ( has no ), at ' action=drop'"),
                ("relabel = source_labels=a regex=b action=kep\n", 1, 42, "unknown action 'kep'"),
                (url + "relabel = action=drop\n", 3, 11, "drop needs source_labels"),
                (url + "relabel = source_labels=a regex=\\d action=drop\n", 3, 33, "write [0-9] for \\d"),
                ("relabel = source_labels=a regex=b action=drop\ninterval = x\n", 2, 12, "'x'")):
            with open(self.config, "w", encoding="utf-8") as file:
                file.write(text)
            result = dwarfprof("agent", "-c", self.config, "--check")
            self.assertEqual(result.returncode, 2, text)
            self.assertTrue(result.stderr.startswith(f"dwarfprof agent: {self.config}:{line}:{column}: "), result.stderr)
            self.assertIn(words, result.stderr)
        result = dwarfprof("agent", "--check", "--otlp", "http://h", "--relabel", "regex=")
        self.assertEqual(result.returncode, 2)
        self.assertIn("replace needs target_label", result.stderr)


if __name__ == "__main__":
    harness.main()
