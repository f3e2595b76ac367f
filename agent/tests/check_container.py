#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manifest for Kubernetes, as its own types read it (ci/backends/manifest), and the agent the file in it. The
image's recipe, by BuildKit's rules (ci/backends/containerfile). Capabilities are those of the unit, as the test capabilities says.

usage: check_container.py DWARFPROF
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DWARFPROF = os.path.abspath(sys.argv[1])
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "cli/tests"))
import otlp  # noqa: E402

with open(os.path.join(ROOT, "agent/container/daemonset.yaml"), encoding="utf-8") as manifest:
    TEXT = manifest.read()
with open(os.path.join(ROOT, "agent/container/Containerfile"), encoding="utf-8") as recipe:
    RECIPE = recipe.read()


def read(text, reader="manifest"):
    return subprocess.run([otlp.backend(reader)], input=text, capture_output=True, text=True, timeout=60)


class Manifest(unittest.TestCase):
    def setUp(self):
        result = read(TEXT)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.namespace, self.config, self.daemons = map(json.loads, result.stdout.splitlines())
        self.pod = self.daemons["spec"]["template"]["spec"]
        [self.container] = self.pod["containers"]

    def test_what_kubernetes_does_not_know(self):
        for right, wrong in ("hostPID: true", "hostPid: true"), ("hostPID: true", "hostPID: 1"), ("kind: DaemonSet", "kind: Daemons"), \
                ("hostPID: true", "hostPID: true\n      hostPID: true"):
            with self.subTest(wrong=wrong):
                self.assertIn(right, TEXT)
                self.assertNotEqual(read(TEXT.replace(right, wrong)).returncode, 0)

    def test_names_that_belong_together(self):
        labels = self.daemons["spec"]["template"]["metadata"]["labels"]
        self.assertEqual(self.daemons["spec"]["selector"]["matchLabels"], labels)
        for one in self.config, self.daemons:
            self.assertEqual(one["metadata"]["namespace"], self.namespace["metadata"]["name"])
        volumes = {volume["name"]: volume for volume in self.pod["volumes"]}
        self.assertEqual({mount["name"] for mount in self.container["volumeMounts"]}, volumes.keys())
        self.assertEqual(volumes["config"]["configMap"]["name"], self.config["metadata"]["name"])

    def test_the_agent_takes_its_configuration(self):
        """It writes only to what is mounted, and answers where it is asked for its health."""
        [(name, text)] = self.config["data"].items()
        mounts = {mount["name"]: mount for mount in self.container["volumeMounts"]}
        self.assertEqual(self.container["args"], ["-c", os.path.join(mounts["config"]["mountPath"], name)])
        keys = dict(line.split(" = ") for line in text.splitlines() if not line.startswith("#"))
        self.assertTrue(keys["spool"].startswith(mounts["state"]["mountPath"] + "/"))
        probe = self.container["livenessProbe"]["httpGet"]
        self.assertEqual(keys["pull"], f"{probe['host']}:{probe['port']}")
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(text)
            file.flush()
            result = subprocess.run([DWARFPROF, "agent", "--check", "-c", file.name], capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_it_is_confined(self):
        context = self.container["securityContext"]
        self.assertEqual(context["capabilities"]["drop"], ["ALL"])
        for key, value in {"privileged": False, "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True}.items():
            self.assertIs(context[key], value)
        self.assertEqual([mount["name"] for mount in self.container["volumeMounts"] if not mount.get("readOnly")], ["state", "cache"])


class Recipe(unittest.TestCase):
    def test_nothing_is_wrong(self):
        result = read(RECIPE, "containerfile")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_what_would_be_wrong(self):
        for right, wrong, rule in (('ENTRYPOINT ["/usr/bin/dwarfprof", "agent"]', "ENTRYPOINT dwarfprof agent", "JSONArgsRecommended"),
                                   ("FROM docker.io", "from docker.io", "ConsistentInstructionCasing"),
                                   ("\\\n\tapt-get update", "\\\n\n\tapt-get update", "NoEmptyContinuation"),
                                   ("ENTRYPOINT", "ENTRYPOINTS", "unknown instruction"),
                                   ("type=bind", "type=bound", "unsupported mount type")):
            with self.subTest(wrong=wrong):
                self.assertIn(right, RECIPE)
                result = read(RECIPE.replace(right, wrong), "containerfile")
                self.assertEqual(result.returncode, 1)
                self.assertIn(rule, result.stdout)

    def test_it_runs_the_agent_of_the_manifest(self):
        """Whose arguments replace the recipe's."""
        words = re.findall(r"^(ENTRYPOINT|CMD) (.*)$", RECIPE, re.M)
        self.assertEqual(json.loads(dict(words)["ENTRYPOINT"]), ["/usr/bin/dwarfprof", "agent"])
        [*_, daemons] = map(json.loads, read(TEXT).stdout.splitlines())
        [container] = daemons["spec"]["template"]["spec"]["containers"]
        self.assertNotIn("command", container)
        self.assertEqual(json.loads(dict(words)["CMD"]), container["args"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
