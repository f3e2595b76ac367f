# SPDX-License-Identifier: Apache-2.0
"""What can be said of the frames of a Go program's stacks by themselves: names, and who calls whom."""
import functools

import go_calls
import go_chains


def linked(name):
    """As it is where another linker than Go's has put the program together."""
    return go_chains.plain(name).replace("·", ".")


class Frames:
    """Of the binary that `calls` (go_calls.Calls) knows; frames as jsonl has them, without inlined ones."""

    def __init__(self, calls):
        self.calls = calls

    def place(self, stack, i):
        """Where a frame is in the program; of a caller, where it called. None: elsewhere."""
        if stack[i]["module"] != self.calls.path:
            return None
        is_caller = stack[i]["method"] in ("table", "frame_pointer")
        return int(stack[i]["offset"], 16) - is_caller

    def name(self, stack, i):
        place = self.place(stack, i)
        return stack[i]["symbol"] or place and self.calls.name(place)

    @functools.lru_cache(None)
    def wrong_name(self, place, symbol):
        """What is wrong with the name of what is at a place in the program?"""
        names = {linked(name) for name in self.calls.names_at(place)}
        # C's own functions have no names in a stripped program; Go's have.
        if not symbol and any(map(go_calls.is_go, names)):
            return f"{' or '.join(names)} has no name"
        is_mangled = any(name.startswith("_Z") for name in names)
        if symbol and not is_mangled and linked(symbol) not in names:
            return f"{' or '.join(names)} is called {symbol}"
        return None

    def wrong(self, stack):
        """Which frame does not have its name, or does not call the next one? None: none that is known."""
        for i, frame in enumerate(stack):
            place = self.place(stack, i)
            # What a signal's handler returns to is not called, and is named by what is in front of it.
            if place is None or i + 1 < len(stack) and stack[i + 1]["method"] == "signal":
                continue
            if why := self.wrong_name(place, frame["symbol"]):
                return why
            callee = self.place(stack, i - 1) if frame["method"] in ("table", "frame_pointer") else None
            if callee is not None and (why := self.calls.wrong_call(place + 1, callee)):
                return why
        return None
