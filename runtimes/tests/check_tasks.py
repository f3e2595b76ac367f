#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that `dump --tasks` shows the tasks of asyncio as asyncio itself does.

usage: check_tasks.py [--fetched] [--show] DWARFPROF

--fetched: with the interpreters of `ci/setup runtimes` that publish where tasks are. Their program has tasks
that wait for each other in all ways: in coroutines, generators, gather(), groups, timeouts, several for one,
with names of their own and without, in two threads. Once all wait, they are dumped; then the program writes down
the same by what asyncio knows (all_tasks(), the chains of cr_await, what capture_call_graph() follows); then they are
dumped again, because names are made when somebody asks for them. All three have to be equal, each line too.

A task that runs, but is blocked in a call, is not one of them, and has its functions where others go on with it.

Without it, Debian's interpreter, which does not publish it: that has to be said; as it has to be of other programs.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import fetched

FETCHED = ("python3.14", "python3.15")
OLD = "/usr/bin/python3"
TASK = re.compile(r"\[task .*\]")
SAID = "no tasks: they need CPython 3.14 or later"
SAID_NO_PYTHON = "no tasks: it runs no known CPython"
SAID_NO_ASYNCIO = "no tasks: asyncio is not loaded, or does not publish them"

PROGRAM = '''\
import asyncio, json, os, sys, threading, types

waiting = []

async def sleeper(n):
    if n > 0:
        return await sleeper(n - 1)
    await asyncio.sleep(1000)

class Awaited:
    def __await__(self):
        yield from asyncio.get_running_loop().create_future()

@types.coroutine
def by_generator():
    yield from sleeper(0).__await__()

async def through(what):
    try:
        return await what
    finally:
        pass

async def by_generators():
    return await by_generator()

async def awaits_object():
    await Awaited()

async def gathers():
    await asyncio.gather(sleeper(2), through(asyncio.gather(sleeper(0), sleeper(1))))

async def groups():
    async with asyncio.TaskGroup() as group:
        group.create_task(sleeper(1), name="in a group")
        group.create_task(through(sleeper(1)), name="ünïcode " + "long " * 20)

async def times_out():
    async with asyncio.timeout(2000):
        await asyncio.wait_for(sleeper(1), 3000)

async def gets(queue):
    return await queue.get()

async def main():
    shared = asyncio.create_task(sleeper(3), name="shared")
    many = [asyncio.create_task(through(shared)) for i in range(5)]
    others = [asyncio.create_task(f()) for f in (by_generators, awaits_object, gathers, groups, times_out)]
    others.append(asyncio.create_task(gets(asyncio.Queue())))
    others.append(asyncio.create_task(through(through(through(many[1])))))
    gone = asyncio.create_task(asyncio.wait([shared]))
    await asyncio.sleep(0.1)
    gone.cancel()
    waiting.append(asyncio.get_running_loop())
    await asyncio.wait([*many, *others])

def frame_of(coroutine):
    return getattr(coroutine, "cr_frame", None) or getattr(coroutine, "gi_frame", None)

def chain(coroutine):
    """The functions of a coroutine, innermost first."""
    found = []
    while frame_of(coroutine):
        f = frame_of(coroutine)
        found.append([f.f_code.co_qualname, f.f_code.co_filename, f.f_lineno])
        coroutine = coroutine.cr_await if hasattr(coroutine, "cr_await") else coroutine.gi_yieldfrom
    return found[::-1]

def stacks(graph):
    """Those of a task and of what awaits it: one for each way to the root."""
    own = []
    if isinstance(graph.future, asyncio.Task):
        own = [*chain(graph.future.get_coro()), ["[task " + graph.future.get_name() + "]", None, None]]
    if not graph.awaited_by:
        return [own]
    return [own + rest for above in graph.awaited_by for rest in stacks(above)]

def write(loop, done):
    for task in asyncio.all_tasks(loop):
        done += stacks(asyncio.capture_call_graph(task))
    n_written.release()

n_written = threading.Semaphore(0)
for i in range(2):
    threading.Thread(target=lambda: asyncio.run(main()), daemon=True).start()
while len(waiting) < 2:
    threading.Event().wait(0.05)
print("ready", flush=True)
sys.stdin.readline()
done = []
for loop in waiting:
    loop.call_soon_threadsafe(write, loop, done)
    n_written.acquire()
print(json.dumps(done), flush=True)
sys.stdin.readline()
os._exit(0)
'''

BLOCKED = '''\
import asyncio, time

async def sleeper():
    await asyncio.sleep(1000)

def block():
    print("ready", flush=True)
    time.sleep(1000)

async def inner():
    block()

async def main():
    async with asyncio.TaskGroup() as group:
        group.create_task(sleeper(), name="child")
        await asyncio.sleep(0.1)
        await inner()

asyncio.run(main())
'''
BLOCKED_STACKS = [["sleep", "sleeper", "[task child]", "block", "inner", "main", "[task Task-1]"]]
WITHOUT = 'import time; print("ready", flush=True); time.sleep(1000)'


def dump(dwarfprof, pid, *options):
    done = subprocess.run([dwarfprof, "dump", "-p", str(pid), *options], capture_output=True, text=True, timeout=120,
                          check=False)
    if done.returncode:
        sys.exit(f"dump: {done.stderr}")
    return done


def is_task(sample):
    return bool(sample["user_stack"]) and bool(TASK.fullmatch(sample["user_stack"][-1]["symbol"] or ""))


def tasks_of(dwarfprof, pid):
    """The stacks of all tasks, and what was said. Their threads may be woken, or be slow to read: then again."""
    for _ in range(10):
        done = dump(dwarfprof, pid, "--tasks", "-U", "--format", "jsonl")
        samples = [json.loads(line) for line in done.stdout.splitlines()]
        if "it ran at each attempt" not in done.stderr and "only a part is shown" not in done.stderr:
            break
    found = [s for s in samples if is_task(s)]
    assert {s["outcome"] for s in found} <= {"complete"}, found
    for sample in samples:
        names = [f["symbol"] for f in sample["user_stack"] if TASK.fullmatch(f["symbol"] or "")]
        assert sample["labels"] == ({"task": names[0][len("[task "):-1]} if names else None), sample
    return [[[f["symbol"], f["file"], f["line"]] for f in s["user_stack"]] for s in found], done.stderr


def wait_until_idle(pid):
    """All threads sleep, and nobody has run since the last look."""
    last = None
    for _ in range(600):
        now = []
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/status", encoding="utf-8") as file:
                now.append(re.findall(r"^(?:State|\w*ctxt_switches):\s+(\w+)", file.read(), re.M))
        if now == last and all(facts[0] == "S" for facts in now):
            return
        last = now
        time.sleep(0.1)
    sys.exit("the program does not come to rest")


def compare(name, found, wanted, show):
    missing = [s for s in wanted if s not in found]
    extra = [s for s in found if s not in wanted]
    good = sorted(map(json.dumps, found)) == sorted(map(json.dumps, wanted))
    if not good or show:
        for word, stacks in (("missing", missing), ("extra", extra)):
            for stack in stacks[:5]:
                print(f"  {name}, {word}:", *stack, sep="\n    ")
    return good


def check(dwarfprof, python, show):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tasks.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        with subprocess.Popen([python, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
            try:
                assert program.stdout.readline() == "ready\n"
                wait_until_idle(program.pid)
                before, _ = tasks_of(dwarfprof, program.pid)
                program.stdin.write("\n")
                program.stdin.flush()
                wanted = json.loads(program.stdout.readline())
                wait_until_idle(program.pid)
                after, _ = tasks_of(dwarfprof, program.pid)
                text = dump(dwarfprof, program.pid, "--tasks").stdout
                plain = dump(dwarfprof, program.pid).stdout
            finally:
                program.kill()
    good = [compare("before", before, wanted, show), compare("after", after, wanted, show),
            text.count("\nTASK of TID ") == len(wanted), "[task " not in plain, len(wanted) >= 40]
    print(f"{python}: {len(wanted)} stacks of tasks, {sum(map(len, wanted))} frames: {good}", flush=True)
    return all(good)


def tasks_of_text(dwarfprof, python, text):
    with subprocess.Popen([python, "-c", text], stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout.readline() == "ready\n"
            wait_until_idle(program.pid)
            return tasks_of(dwarfprof, program.pid)
        finally:
            program.kill()


def check_others(dwarfprof, python):
    stacks, said = tasks_of_text(dwarfprof, python, BLOCKED)
    names = [[symbol.split(".")[-1] for symbol, _, _ in stack] for stack in stacks]
    print(f"{python}: with one that is blocked: {names} {said}", flush=True)
    without, said_without = tasks_of_text(dwarfprof, python, WITHOUT)
    # It may be a part of the interpreter.
    own = ".AsyncioDebug" in subprocess.run(["readelf", "-SW", fetched.find("root/usr/bin", os.path.basename(python))],
                                            capture_output=True, text=True, check=True).stdout
    print(f"without asyncio: {without} {said_without.strip()}", flush=True)
    return names == BLOCKED_STACKS and "tasks" not in said and not without and \
        said_without.count(SAID_NO_ASYNCIO) == (0 if own else 1)


def check_no_python(dwarfprof):
    with subprocess.Popen(["sleep", "1000"]) as program:
        try:
            wait_until_idle(program.pid)
            _, said = tasks_of(dwarfprof, program.pid)
        finally:
            program.kill()
    return said.count(SAID_NO_PYTHON) == 1


def check_old(dwarfprof):
    with subprocess.Popen([OLD, "-c", "import asyncio; asyncio.run(asyncio.sleep(1000))"]) as program:
        try:
            for _ in range(100):
                with open(f"/proc/{program.pid}/maps", encoding="utf-8") as maps:
                    if "_asyncio" in maps.read():
                        break
                time.sleep(0.1)
            wait_until_idle(program.pid)
            tasks, said = tasks_of(dwarfprof, program.pid)
        finally:
            program.kill()
    print(f"{OLD}: {said.strip()}")
    return not tasks and said.count(SAID) == 1 and check_no_python(dwarfprof)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("dwarfprof")
    parser.add_argument("--fetched", action="store_true")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    if os.geteuid() != 0:
        return 77
    if not args.fetched:
        return 0 if check_old(args.dwarfprof) else 1
    pythons = [fetched.find("bin", name) for name in FETCHED]
    good = [check(args.dwarfprof, python, args.show) for python in pythons]
    good += [check_others(args.dwarfprof, python) for python in pythons]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
