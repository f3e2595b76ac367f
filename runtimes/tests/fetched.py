# SPDX-License-Identifier: Apache-2.0
"""Versions of languages that this Debian does not have, as `ci/setup runtimes` fetches them."""
import os
import sys

DIRECTORY = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "dwarfprof-tests/runtimes")


def find(*parts):
    """A program (bin, NAME), or a JVM's home (jvm, VERSION). Ends the test if there is none."""
    path = os.path.join(DIRECTORY, *parts)
    if not os.path.exists(os.path.join(DIRECTORY, "made")) or not os.path.exists(path):
        sys.exit(f"{path} is missing; try: ci/setup runtimes")
    return path
