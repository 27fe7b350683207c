"""The pictures of the README are of the example's site: `MILLSTREAM_WRITE=1` takes them again."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from support.browser import watched

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "images"
SIZE = {"width": 1500, "height": 900}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_picture_of_the_lineage(browser: Browser, example_site: Path, scheme: str):
    with watched(browser, example_site, color_scheme=scheme, viewport=SIZE) as site:
        page = site.open("#/lineage?by=query")
        expect(page.locator(".box text", has_text="hourly_user_activity")).to_be_in_viewport()
        taken = page.screenshot()
    picture = FOLDER / f"lineage-{scheme}.png"
    if os.environ.get("MILLSTREAM_WRITE"):
        picture.parent.mkdir(exist_ok=True)
        picture.write_bytes(taken)
    # A PNG has its width and height in bytes 16 to 24; fonts differ between machines, so the rest may.
    assert picture.read_bytes()[:24] == taken[:24]
    assert picture.stat().st_size < 200_000
