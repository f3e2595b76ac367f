# SPDX-License-Identifier: Apache-2.0
"""A page in headless Chromium, driven by the DevTools protocol over two pipes."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

# How long to wait for something that will happen, on a busy machine.
SECONDS = 120


class Page:
    """A page that is open during the `with` block; `requests` lists what it requested."""

    def __init__(self, url, width=1200, height=700):
        self.url = url
        self.size = f"{width},{height}"
        self.number = 0
        self.requests = []
        self.messages = []
        self.session = None
        self.buffer = b""

    def __enter__(self):
        self.directory = tempfile.mkdtemp()
        to_browser, self.out = os.pipe()
        self.into, from_browser = os.pipe()

        def connect():  # --remote-debugging-pipe uses these descriptors
            read, write = os.dup(to_browser), os.dup(from_browser)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--remote-debugging-pipe",
             "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader",
             "--enable-unsafe-swiftshader", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-dev-shm-usage",
             f"--user-data-dir={self.directory}", f"--window-size={self.size}", "about:blank"],
            preexec_fn=connect, close_fds=False, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        try:
            self.open()
        except BaseException:
            self.__exit__()
            raise
        return self

    def open(self):
        target = self.wait_for_page()
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"],
                                 flatten=True)["sessionId"]
        for domain in ("Network", "Runtime", "Log", "Page"):
            self.call(domain + ".enable")
        self.call("Page.navigate", url=self.url)
        self.wait_for("location.protocol !== 'about:' && document.readyState === 'complete'")

    def wait_for_page(self):
        """Chromium may answer before it has opened one."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            for target in self.call("Target.getTargets")["targetInfos"]:
                if target["type"] == "page":
                    return target
            time.sleep(0.1)
        raise TimeoutError("Chromium opens no page")

    def __exit__(self, *_):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(20)
        except (OSError, TimeoutError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.into)
        os.close(self.out)
        shutil.rmtree(self.directory, ignore_errors=True)

    def receive(self, seconds):
        """The next message, or None."""
        end = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            if not select.select([self.into], [], [], max(0, end - time.monotonic()))[0]:
                return None
            data = os.read(self.into, 1 << 16)
            if not data:
                raise OSError("Chromium has ended")
            self.buffer += data
        message, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(message)
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        elif message.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded",
                                       "Runtime.consoleAPICalled"):
            self.messages.append(json.dumps(message["params"]))
        return message

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            answer = self.receive(end - time.monotonic())
            if answer and answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
        raise TimeoutError(method)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"]))
        return result["result"].get("value")

    def is_true(self, expression):
        try:
            return self.evaluate(expression)
        except RuntimeError:  # navigating, or no body yet
            return False

    def wait_for(self, expression):
        """Waits until the expression is true in the page."""
        end = time.monotonic() + SECONDS
        while not self.is_true(expression):
            if time.monotonic() > end:
                raise TimeoutError(f"{expression}: {self.evaluate('document.body.innerText')} "
                                   f"{self.messages}")
            time.sleep(0.1)

    def press(self, key, modifiers=0, text=None):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, modifiers=modifiers,
                      windowsVirtualKeyCode=ord(key.upper()) if len(key) == 1 else 13,
                      **({"text": text} if text and kind == "keyDown" else {}))

    def click(self, element):
        """A click of the mouse in the middle of what a JavaScript expression gives."""
        x, y = self.evaluate(f"(element => {{ element.scrollIntoView({{block: 'center'}});"
                             "const r = element.getBoundingClientRect();"
                             f"return [r.x + r.width / 2, r.y + r.height / 2]; }})({element})")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, path=None):
        """The page as PNG; also written to a file if given."""
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        if path:
            with open(path, "wb") as file:
                file.write(data)
        return data
