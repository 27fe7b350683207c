"""A real Chromium without a window, and what it must be told about pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def chromium() -> Iterator[Browser]:
    assert CHROMIUM, "these tests need Chromium: apt-get install chromium, or say where it is in CHROMIUM"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Watched:
    """A page whose messages and questions are noted: a good one has no errors and asks nobody."""

    def __init__(self, context: BrowserContext, folder: Path) -> None:
        self.page: Page = context.new_page()
        self.folder = folder
        self.messages: list[str] = []
        self.requested_urls: list[str] = []
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("request", lambda request: self.requested_urls.append(request.url))

    def open(self, address: str = "") -> Page:
        """Go to an address of the site and wait until it is drawn."""
        start = self.folder.as_uri() + "/index.html"
        if self.page.url.startswith(start):
            self.page.evaluate("address => { location.hash = address }", address or "#/")
        else:
            self.page.goto(f"{start}{address}")
        return self.shown(address or "#/")

    def shown(self, address: str) -> Page:
        self.page.wait_for_function(
            "address => document.getElementById('main').dataset.shown === address", arg=address
        )
        return self.page

    @property
    def strangers(self) -> list[str]:
        """Return what was asked of anybody but the folder itself."""
        local_schemes = (self.folder.as_uri(), "data:", "blob:", "about:blank")
        return [url for url in self.requested_urls if not url.startswith(local_schemes)]


@contextmanager
def watched(browser: Browser, folder: Path, **options: object) -> Iterator[Watched]:
    """Open a page on a site; when the block ends, it must have had no errors and asked nobody else."""
    # Colours that are on their way say nothing of contrast.
    still = {"viewport": {"width": 1400, "height": 900}, "reduced_motion": "reduce"}
    context = browser.new_context(**(still | options))
    page = Watched(context, folder)
    yield page
    assert page.messages == []
    assert page.strangers == []
    context.close()
