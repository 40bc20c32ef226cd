"""A page in Debian's headless Chromium, driven through its own pipe: nothing but the standard library.

    with Browser(find()) as browser:
        page = browser.open(path_of_a_file)
        page.value("document.title")

Commands and events of the DevTools protocol are JSON, each ended by a zero byte: the browser reads
them from file descriptor 3 and writes them to 4 (--remote-debugging-pipe).
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 60.0


def find() -> str | None:
    """The browser's program, or None where there is none."""
    return next((found for found in map(shutil.which, NAMES) if found), None)


class Browser:
    """One headless browser with a profile of its own; it and its children end with the block."""

    def __init__(self, program: str) -> None:
        self.profile = Path(tempfile.mkdtemp(prefix="browser"))
        read_commands, self.commands = os.pipe()
        self.events, write_events = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (read_commands, write_events)]
        os.close(read_commands)
        os.close(write_events)

        def place() -> None:
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        options = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
        ]
        options += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
        self.process = subprocess.Popen(
            [program, *options, f"--user-data-dir={self.profile}", "--remote-debugging-pipe"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=place,
            pass_fds=(3, 4),
            start_new_session=True,
            env={**os.environ, "HOME": str(self.profile)},
        )
        for end in ends:
            os.close(end)
        self.number, self.rest, self.seen = 0, b"", [{}]

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *told: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.commands)
        os.close(self.events)
        shutil.rmtree(self.profile, ignore_errors=True)

    def ask(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Send one command and wait for its answer; events that arrive meanwhile are kept in `seen`."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        answer = self.wait(lambda event: event.get("id") == self.number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def wait(self, wanted: Any) -> dict[str, Any]:
        """The first message for which wanted(message), among those still to come."""
        until = time.monotonic() + PATIENCE
        while True:
            while b"\0" in self.rest:
                text, _, self.rest = self.rest.partition(b"\0")
                event = json.loads(text)
                self.seen.append(event)
                if wanted(event):
                    return event
            ready, _, _ = select.select([self.events], [], [], max(0.0, until - time.monotonic()))
            data = os.read(self.events, 1 << 20) if ready else b""
            assert data, "the browser said nothing for a minute" if not ready else "the browser ended"
            self.rest += data

    def open(self, path: Path, width: int = 1280, dark: bool = False) -> Page:
        """A file of this machine in a new tab, loaded to the end."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.ask(f"{domain}.enable")
        page.look(width, dark)
        start = len(self.seen)
        page.ask("Page.navigate", url=path.resolve().as_uri())
        if not any(event.get("method") == "Page.loadEventFired" for event in self.seen[start:]):
            self.wait(lambda event: event.get("method") == "Page.loadEventFired")
        page.ask("Page.bringToFront")
        return page


class Page:
    """One tab."""

    def __init__(self, browser: Browser, session: str) -> None:
        self.browser, self.session = browser, session

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self.browser.ask(method, self.session, **parameters)

    def look(self, width: int, dark: bool) -> None:
        """A window of this width (a phone's below 600 pixels), and the system's colours."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def value(self, expression: str) -> Any:
        """What a JavaScript expression gives, as a Python value."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str, **more: Any) -> None:
        """A key that does what it does: Tab, Enter, or a space."""
        code, text = {"Tab": (9, ""), "Enter": (13, "\r"), " ": (32, " ")}[key]
        given = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": code, **more}
        self.ask("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **given)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **given)

    def events(self, method: str) -> list[dict[str, Any]]:
        """What this tab has told so far under one name."""
        mine = [event for event in self.browser.seen if event.get("sessionId") == self.session]
        return [event["params"] for event in mine if event.get("method") == method]

    def complaints(self) -> list[str]:
        """Every error and warning of the console."""
        said = [event["entry"]["text"] for event in self.events("Log.entryAdded")]
        said += [event["exceptionDetails"]["text"] for event in self.events("Runtime.exceptionThrown")]
        said += [str(event["args"]) for event in self.events("Runtime.consoleAPICalled")]
        return said

    def requests(self) -> list[str]:
        """Every address that was asked for."""
        return [event["request"]["url"] for event in self.events("Network.requestWillBeSent")]

    def picture(self, path: Path, whole: bool = False) -> None:
        """A screenshot as PNG: of the window, or of the whole page."""
        answer = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))
