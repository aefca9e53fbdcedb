# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven through its debugging pipe: real pointer and key events, no further packages."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time


def find():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return shutil.which(name)
    return None


class Browser:
    def __init__(self, path, width=1440, height=860):
        self.profile = tempfile.mkdtemp()
        to_browser, self.out = os.pipe()
        self.inp, from_browser = os.pipe()

        def wire():  # the browser reads descriptor 3 and writes descriptor 4
            a, b = os.dup(to_browser), os.dup(from_browser)
            os.dup2(a, 3)
            os.dup2(b, 4)
            os.set_inheritable(3, True)
            os.set_inheritable(4, True)

        self.process = subprocess.Popen(
            [path, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
             "--no-first-run", "--user-data-dir=" + self.profile, f"--window-size={width},{height}", "about:blank"],
            preexec_fn=wire, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.session, self.errors = b"", 0, None, []
        target = [t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page"][0]
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Runtime.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("method") == "Runtime.exceptionThrown":
                self.errors.append(answer["params"]["exceptionDetails"]["exception"].get("description", "?"))
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _read(self):
        while b"\0" not in self.buffer:
            data = os.read(self.inp, 1 << 20)
            if not data:
                raise RuntimeError("the browser has gone")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def open(self, path, timeout=60):
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        end = time.monotonic() + timeout
        while not self.eval("(document.documentElement || {dataset: {}}).dataset.ready || ''"):
            if time.monotonic() > end or self.errors:
                raise RuntimeError(f"the page does not come up: {self.errors}")
            time.sleep(0.05)

    def eval(self, text):
        result = self.call("Runtime.evaluate", expression=text, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def settle(self):
        """Two frames, and the panel's delay."""
        self.eval("new Promise(r => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => r(1))), 180))")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)
        self.settle()

    def drag(self, x0, y0, x1, y1, shift=False):
        m = 8 if shift else 0
        self.mouse("mouseMoved", x0, y0, modifiers=m)
        self.mouse("mousePressed", x0, y0, button="left", buttons=1, clickCount=1, modifiers=m)
        for k in range(1, 6):
            self.mouse("mouseMoved", x0 + (x1 - x0) * k / 5, y0 + (y1 - y0) * k / 5, button="left", buttons=1, modifiers=m)
        self.mouse("mouseReleased", x1, y1, button="left", clickCount=1, modifiers=m)
        self.settle()

    def wheel(self, x, y, delta, **more):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=delta, **more)
        self.settle()

    def key(self, key):
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.settle()

    def type(self, text):
        for c in text:
            self.key(c)

    def click_element(self, selector):
        box = self.eval(f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                        " return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        self.click(*box)

    def screenshot(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)
