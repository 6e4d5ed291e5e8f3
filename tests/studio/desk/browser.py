"""The system's Chromium, driven over WebDriver: a few requests to chromedriver, and no library."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""By this name WebDriver hands out an element."""
PATIENCE = 60.0
QUIET = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
"""So started, the browser asks no address but those of the test."""


def missing() -> str:
    """Why no browser can be started; empty where one can."""
    lacking = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"needs {' and '.join(lacking)} on the path" if lacking else ""


AXE = os.environ.get("SYNTHRELEASE_AXE", "")
"""The path of axe.min.js, of the npm package axe-core."""
needs_axe = pytest.mark.skipif(not AXE, reason="needs axe-core: set SYNTHRELEASE_AXE to the path of its axe.min.js")


class Browser:
    """One window."""

    def __init__(self, driver: httpx.Client, session: str):
        self._driver, self._session = driver, session
        self.clicks = 0

    def ask(self, what: str, body: dict[str, Any] | None = None) -> Any:
        """A command of WebDriver; without a body it is a question."""
        path = f"/session/{self._session}/{what}"
        answer = self._driver.get(path) if body is None else self._driver.post(path, json=body)
        value = answer.json()["value"]
        if answer.is_error:
            raise LookupError(f"{what}: {value['error']}: {value['message'].splitlines()[0]}")
        return value

    def devtools(self, command: str, **parameters: Any) -> Any:
        return self.ask("goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, address: str) -> None:
        self.ask("url", {"url": address})

    def enter(self, address: str) -> None:
        """Open the address of a desk, whose page leads on to the first screen by itself."""
        self.open(address)
        self.wait_for("//h1[.='Whom do we protect?']")

    @property
    def address(self) -> str:
        return str(self.ask("url"))

    def size(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        mobile = {"mobile": width < 600, "deviceScaleFactor": 1}
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, **mobile)
        scheme = "dark" if dark else "light"
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def without_scripts(self, *, on: bool) -> None:
        self.devtools("Emulation.setScriptExecutionDisabled", value=on)

    def run(self, script: str) -> Any:
        """The value of a script of the test; the page's own policy does not hold for it."""
        return self.ask("execute/sync", {"script": script, "args": []})

    def find(self, path: str) -> str:
        """The first element of an XPath."""
        return str(self.ask("element", {"using": "xpath", "value": path})[ELEMENT])

    def count(self, path: str) -> int:
        return len(self.ask("elements", {"using": "xpath", "value": path}))

    def text(self, path: str = "//body") -> str:
        return str(self.ask(f"element/{self.find(path)}/text"))

    def click(self, path: str) -> None:
        """Click, and wait until another page is there where it leads to one."""
        self.clicks += 1
        self.ask(f"element/{self.find(path)}/click", {})

    def type(self, path: str, text: str) -> None:
        """Click into a field and type in the place of what it holds."""
        self.clicks += 1
        field = self.find(path)
        self.ask(f"element/{field}/clear", {})
        self.ask(f"element/{field}/value", {"text": text})

    def value(self, path: str) -> str:
        """What is in a field now."""
        return str(self.ask(f"element/{self.find(path)}/property/value"))

    def focus(self, path: str) -> None:
        self.ask("execute/sync", {"script": "arguments[0].focus()", "args": [{ELEMENT: self.find(path)}]})

    def drag(self, path: str, right: int) -> None:
        """Move an element by so many pixels, with the mouse."""
        found = self.find(path)
        self.ask("execute/sync", {"script": "arguments[0].scrollIntoView({block: 'center'})", "args": [{ELEMENT: found}]})
        steps = [
            {"type": "pointerMove", "origin": {ELEMENT: found}, "x": 0, "y": 0},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerMove", "origin": "pointer", "x": right, "y": 0, "duration": 50},
            {"type": "pointerUp", "button": 0},
        ]
        self.ask("actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": steps}]})

    @contextmanager
    def second_window(self) -> Iterator[None]:
        """Another tab of the same browser, while it is needed."""
        first = self.ask("window")
        self.ask("window", {"handle": self.ask("window/new", {"type": "tab"})["handle"]})
        yield
        self.ask("window", {"handle": first})

    def keys(self, *keys: str) -> None:
        """Press keys, one after another, wherever the focus is."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.ask("actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def wait_for(self, path: str, seconds: float = PATIENCE) -> None:
        """Until there is such an element; the driver looks again and again."""
        self.ask("timeouts", {"implicit": int(1000 * seconds)})
        try:
            self.find(path)
        finally:
            self.ask("timeouts", {"implicit": 0})

    def picture(self, path: Path, *, highest: int = 100_000) -> None:
        """The whole page as a WebP file."""
        size = self.devtools("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], highest), "scale": 1}
        taken = self.devtools(
            "Page.captureScreenshot", format=path.suffix[1:], quality=60, clip=clip, captureBeyondViewport=True
        )
        path.write_bytes(base64.b64decode(taken["data"]))

    def axe(self) -> list[str]:
        """What axe finds wrong with the page for people who use a keyboard or a screen reader: a line for each rule."""
        self.run(Path(AXE).read_text(encoding="utf-8") + "\nreturn 0")
        script = "const done = arguments[0]; axe.run().then(found => done(found.violations.map(each => each.id + ' ' + "
        script += "each.nodes.map(node => node.target + ' ' + node.failureSummary).join('; '))))"
        return list(self.ask("execute/async", {"script": script, "args": []}))


@contextmanager
def driver() -> Iterator[httpx.Client]:
    """A chromedriver, which starts browsers."""
    with subprocess.Popen(
        ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            port = next(line.rsplit(" ", 1)[1].strip(" .\n") for line in process.stdout or () if "started successfully" in line)
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE, trust_env=False) as client:
                yield client
        finally:
            process.terminate()


@contextmanager
def browser(client: httpx.Client) -> Iterator[Browser]:
    """A new, headless browser with a profile of its own: what one test leaves behind, stopped pages too, ends with it."""
    options = {"binary": shutil.which("chromium"), "args": ["--headless=new", "--disable-dev-shm-usage", *QUIET]}
    if os.geteuid() == 0:
        options["args"].append("--no-sandbox")
    wanted = {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options}}}
    session = client.post("/session", json=wanted).json()["value"]["sessionId"]
    try:
        yield Browser(client, session)
    finally:
        client.delete(f"/session/{session}")


@contextmanager
def desk(*arguments: str | Path) -> Iterator[str]:
    """A desk in a process of its own: the address that it prints."""
    import sys

    command = [sys.executable, "-m", "synthrelease", "desk", *map(str, arguments), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            address = process.stdout.readline().strip() if process.stdout else ""
            if not address.startswith("http://127.0.0.1:"):
                raise RuntimeError(f"no desk: {process.stderr.read() if process.stderr else ''}")
            yield address
        finally:
            process.terminate()


def until(condition: Any, seconds: float = PATIENCE) -> bool:
    """Whether something becomes true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
    return False
