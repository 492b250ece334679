"""The lab's page in a browser, for its tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PAGE = Path(__file__).parents[2] / "python" / "cwnd" / "_web" / "lab.html"


class Lab:
    """The page without a network, in a tab of its own."""

    def __init__(self, browser: Browser, width: int = 1440, scheme: str = "light") -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 1000}, color_scheme=scheme)
        self.context.set_offline(True)
        self.page = self.context.new_page()
        self.faults: list[str] = []
        self.page.on("console", lambda message: self.faults.append(message.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))

    def open(self, address: str = "") -> Page:
        assert PAGE.exists(), "run 'make lab'"
        self.page.goto("about:blank")
        self.page.goto(f"{PAGE.as_uri()}#{address}")
        self.page.wait_for_selector("body[data-ready]")
        return self.page

    def status_after(self, act: Callable[[], object]) -> str:
        """The line of results when what `act` asks for has been simulated."""
        act()
        self.page.wait_for_selector("#panes[aria-busy=false]")
        return str(self.page.inner_text("#status"))
