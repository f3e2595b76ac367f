# SPDX-License-Identifier: Apache-2.0
"""Checks on single frames of a Go program's stacks: names, and who calls whom."""
import functools

import go_calls
import go_chains


def linked(name):
    """The program's name after linking with another linker than Go's."""
    return go_chains.plain(name).replace("·", ".")


class Frames:
    """For the binary of `calls` (go_calls.Calls). Frames are as in jsonl, without inlined ones."""

    def __init__(self, calls):
        self.calls = calls

    def place(self, stack, i):
        """Where a frame is in the program, for callers the place of the call. None: elsewhere."""
        if stack[i]["module"] != self.calls.path:
            return None
        is_caller = stack[i]["method"] in ("table", "frame_pointer")
        return int(stack[i]["offset"], 16) - is_caller

    def name(self, stack, i):
        place = self.place(stack, i)
        return stack[i]["symbol"] or place and self.calls.name(place)

    @functools.lru_cache(None)
    def wrong_name(self, place, symbol):
        """What is wrong with the name for a place in the program, or None."""
        names = {linked(name) for name in self.calls.names_at(place)}
        # In a stripped program C's functions have no names; Go's have.
        if not symbol and any(map(go_calls.is_go, names)):
            return f"{' or '.join(names)} has no name"
        is_mangled = any(name.startswith("_Z") for name in names)
        if symbol and not is_mangled and linked(symbol) not in names:
            return f"{' or '.join(names)} is called {symbol}"
        return None

    def wrong(self, stack):
        """The frame that has a wrong name, or does not call the next one. None: no frame is known
        to be wrong."""
        for i, frame in enumerate(stack):
            place = self.place(stack, i)
            # The code a signal handler returns to was not called; the name is that of the code
            # before it.
            if place is None or i + 1 < len(stack) and stack[i + 1]["method"] == "signal":
                continue
            if why := self.wrong_name(place, frame["symbol"]):
                return why
            callee = self.place(stack, i - 1) if frame["method"] in ("table", "frame_pointer") else None
            if callee is not None and (why := self.calls.wrong_call(place + 1, callee)):
                return why
        return None
