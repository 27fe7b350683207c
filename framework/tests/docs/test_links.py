"""Links between pages of the documentation, as GitHub shows them."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/*.md", "docs/**/*.md", "benchmarks/*.md")
    for path in ROOT.glob(pattern)
)
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")


def anchors(text):
    """Return the anchors that GitHub gives to the headings of a page; a heading that comes again gets a number."""
    names = []
    for heading in re.findall(
        r"^#+ +(.+)$", re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE
    ):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-")
        times = names.count(anchor)
        names += [anchor, f"{anchor}-{times}"] if times else [anchor]
    return names


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text()
    missing = []
    for target, anchor in _LINK.findall(_CODE.sub("", text)):
        if "://" in target or target.startswith("mailto:"):
            continue
        file = (ROOT / page).parent / target if target else ROOT / page
        there = file.exists() and (not anchor or file.suffix != ".md" or anchor in anchors(file.read_text()))
        missing += [] if there else [f"{target}#{anchor}" if anchor else target]
    assert missing == []
