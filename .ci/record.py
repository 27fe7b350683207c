"""Records a terminal session for the README: `uv run --with pyte==0.8.2 python .ci/record.py`.

The commands run in a real shell on a pseudo-terminal, in a temporary folder; what they print is recorded as
it is. Only time is changed: a command that takes longer than its scene is played as much faster as needed.
It writes docs/images/session.cast, for `asciinema play`, session.svg, which GitHub shows, and single screens.
"""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import struct
import sys
import tempfile
import time
from collections.abc import Sequence
from fcntl import ioctl
from html import escape
from pathlib import Path
from termios import TIOCSWINSZ
from typing import NamedTuple

import pyte

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
COLUMNS, LINES = 100, 28
MARK = b"\x1b]777;ready\x07"
"""What the prompt begins with; no terminal shows it."""
TYPING, AFTER, FRAME = 0.025, 1.1, 0.1
"""Seconds between two typed letters, after a command, and between two pictures."""


class Scene(NamedTuple):
    command: str
    seconds: float
    """How long its output may take to play."""
    screen: str = ""
    """The name of the picture of its last screen, if there is one."""
    until: str = ""
    """What a command prints that only Ctrl-C ends; it is pressed `lasts` seconds after that."""
    lasts: float = 0.0


EDIT = "s/^  max(orders.ordered_at)/  min(orders.ordered_at) as first_ordered_at,\\n&/"
SCENES = (
    Scene("millstream init cafe && cd cafe", 2),
    Scene("cat models/marts/customers.sql", 2),
    Scene("sed -i 's/orders.amount/orders.amuont/' models/marts/customers.sql", 0.5),
    Scene("millstream compile", 3),
    Scene("sed -i 's/orders.amuont/orders.amount/' models/marts/customers.sql", 0.5),
    Scene("millstream build", 11),
    Scene("millstream show customers", 3),
    Scene("millstream lineage customers.spent", 3),
    Scene("git add --all && git commit --quiet --message 'A café'", 0.5),
    Scene("millstream produce --rate 50 > /dev/null 2>&1 &", 0.5),
    Scene("millstream run", 10, "run", until="total", lasts=45),
    Scene("kill %1; wait 2> /dev/null", 0.5),
    Scene(f"sed -i '{EDIT}' models/marts/customers.sql", 0.5),
    Scene("millstream review", 4, "review"),
    Scene("millstream apply --yes", 8, "apply"),
)
_PROMPT = Scene("", 0)
SIGNED = {
    f"GIT_{who}_{what}": "cafe@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}
Event = tuple[float, str]


# -- recording


def record(folder: Path, scenes: Sequence[Scene] = SCENES) -> tuple[list[Event], dict[str, float]]:
    """Run scenes in a shell; return what it printed, and when each screen to keep was shown."""
    process, terminal = pty.fork()
    if not process:
        os.chdir(folder)
        bin_ = str(Path(sys.executable).parent)
        settings = {
            "PS1": "\\[\\e]777;ready\\a\\]$ ",
            "PATH": f"{bin_}:{os.environ['PATH']}",
            "TERM": "xterm-256color",
        }
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], os.environ | SIGNED | settings)
    ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    events: list[Event] = []
    screens: dict[str, float] = {}
    now = 0.3
    _until_prompt(terminal)
    events.append((0.0, "$ "))
    try:
        for scene in scenes:
            for letter in scene.command:
                os.write(terminal, letter.encode())
                now += TYPING
                events.append((now, os.read(terminal, 100).decode()))
            os.write(terminal, b"\r")
            printed, stopped = _until_prompt(terminal, scene)
            took = printed[-1][0]
            faster = min(1.0, scene.seconds / took) if took else 1.0
            events += [(now + seconds * faster, text) for seconds, text in printed]
            if scene.screen:
                # What is printed after Ctrl-C may belong to the same picture.
                shown = took * faster if stopped is None else max(0.0, stopped * faster - FRAME)
                screens[scene.screen] = now + shown
            now += took * faster + AFTER
    finally:
        os.kill(process, signal.SIGHUP)
        os.close(terminal)
        os.waitpid(process, 0)
    return _merged(events), screens


def _until_prompt(terminal: int, scene: Scene = _PROMPT) -> tuple[list[Event], float | None]:
    """Return what is printed until the shell is ready, with its seconds, and when Ctrl-C was pressed."""
    start, data = time.monotonic(), b""
    printed: list[Event] = []
    stop: float | None = None
    stopped: float | None = None
    while True:
        wait = None if stop is None or stopped is not None else max(0.0, start + stop - time.monotonic())
        if not select.select([terminal], [], [], wait)[0]:
            stopped = time.monotonic() - start
            os.write(terminal, b"\x03")
            continue
        data += os.read(terminal, 65536)
        if scene.until and stop is None and scene.until.encode() in data:
            stop = time.monotonic() - start + scene.lasts
        before, mark, after = data.partition(MARK)
        if mark:
            while not after.endswith(b"$ "):
                after += os.read(terminal, 100)
            return [*printed, (time.monotonic() - start, (before + after).decode())], stopped
        # Bytes of a letter, and a mark, may come in parts.
        lines = re.match(rb"(?s).*[\n\r]", data)
        if lines:
            printed.append((time.monotonic() - start, lines[0].decode()))
            data = data[lines.end() :]


def _merged(events: list[Event]) -> list[Event]:
    """Join what is printed within one picture's time."""
    merged: list[Event] = []
    for seconds, text in events:
        if merged and seconds - merged[-1][0] < FRAME / 2:
            merged[-1] = (merged[-1][0], merged[-1][1] + text)
        else:
            merged.append((seconds, text))
    return merged


# -- writing


def cast(events: list[Event]) -> str:
    header = {
        "version": 2,
        "width": COLUMNS,
        "height": LINES,
        "title": "Millstream",
        "env": {"TERM": "xterm-256color"},
    }
    lines = [json.dumps(header), *(json.dumps([round(seconds, 3), "o", text]) for seconds, text in events)]
    return "\n".join(lines) + "\n"


COLORS = {
    "default": "#e4e8ee", "black": "#566173", "red": "#ff9b92", "green": "#6fd39a", "brown": "#f0c566",
    "blue": "#8ab0ff", "magenta": "#d7a1f2", "cyan": "#5cc5d6", "white": "#e4e8ee",
}  # fmt: skip
WIDTH, HEIGHT, PAD = 8.4, 18, 14
FONT = "14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
STYLE = (
    f"text{{font:{FONT};white-space:pre;fill:{COLORS['default']}}}"
    ".f{visibility:hidden;animation:SECONDSs step-end infinite}"
    "@media (prefers-reduced-motion:reduce){.f{animation:none!important}.last{visibility:visible}}"
)


def picture(events: list[Event]) -> str:
    """Return an animated picture: each screen is shown for its time, over and over."""
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.Stream(screen)
    screens: list[tuple[float, tuple[str, ...]]] = []
    for seconds, text in events:
        stream.feed(text)
        shown = tuple(_line(screen, number) for number in range(LINES))
        if screens and seconds - screens[-1][0] < FRAME:
            screens[-1] = (screens[-1][0], shown)
        elif not screens or screens[-1][1] != shown:
            screens.append((seconds, shown))
    end = events[-1][0] + 3
    ids: dict[str, str] = {}
    for _, lines in screens:
        for line in lines:
            if line:
                ids.setdefault(line, f"l{len(ids)}")
    width, height = round(COLUMNS * WIDTH + 2 * PAD), LINES * HEIGHT + 2 * PAD
    frames, groups = [], []
    for number, (seconds, lines) in enumerate(screens):
        until = screens[number + 1][0] if number + 1 < len(screens) else end
        frames.append(_keyframes(number, seconds / end * 100, until / end * 100))
        last = " last" if number == len(screens) - 1 else ""
        uses = (
            f'<use href="#{ids[line]}" x="{PAD}" y="{PAD + 13 + row * HEIGHT}"/>'
            for row, line in enumerate(lines)
            if line
        )
        groups.append(f'<g class="f{last}" style="animation-name:k{number}">{"".join(uses)}</g>')
    texts = (f'<text id="{name}">{line}</text>' for line, name in ids.items())
    style = STYLE.replace("SECONDS", f"{end:.1f}") + "".join(frames)
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">
<title>A terminal session with Millstream</title>
<style>{style}</style>
<defs>{"".join(texts)}</defs>
<rect width="{width}" height="{height}" rx="10" fill="#14181f"/>
{chr(10).join(groups)}
</svg>
"""


def still(events: list[Event], limit: float) -> str:
    """Return a picture of the screen at a time of a recording."""
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.Stream(screen)
    for seconds, text in events:
        if seconds <= limit:
            stream.feed(text)
    lines = [_line(screen, number) for number in range(LINES)]
    while lines and not lines[-1]:
        lines.pop()
    width, height = round(COLUMNS * WIDTH + 2 * PAD), len(lines) * HEIGHT + 2 * PAD
    texts = (
        f'<g transform="translate({PAD} {PAD + 13 + row * HEIGHT})"><text>{line}</text></g>'
        for row, line in enumerate(lines)
        if line
    )
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">
<title>A terminal with Millstream</title>
<style>text{{font:{FONT};white-space:pre;fill:{COLORS["default"]}}}</style>
<rect width="{width}" height="{height}" rx="10" fill="#14181f"/>
{chr(10).join(texts)}
</svg>
"""


def _keyframes(number: int, first: float, last: float) -> str:
    """Return when a screen is visible, in percent of the whole time."""
    before = "visible" if first == 0 else "hidden"
    after = "visible" if last >= 100 else "hidden"
    return (
        f"@keyframes k{number}{{0%{{visibility:{before}}}{first:.3f}%{{visibility:visible}}"
        f"{last:.3f}%{{visibility:{after}}}}}"
    )


def _line(screen: pyte.Screen, number: int) -> str:
    """Return a line as spans of one style each."""
    row, spans, column = screen.buffer[number], [], 0
    text = "".join(row[index].data or " " for index in range(COLUMNS)).rstrip()
    while column < len(text):
        cell, end = row[column], column
        while end < len(text) and (row[end].fg, row[end].bold) == (cell.fg, cell.bold):
            end += 1
        shown = escape(text[column:end])
        color = COLORS.get(cell.fg.removeprefix("bright"), f"#{cell.fg}")
        style = (f' fill="{color}"' if cell.fg != "default" else "") + (
            ' font-weight="bold"' if cell.bold else ""
        )
        spans.append(f'<tspan x="{column * WIDTH:.1f}"{style}>{shown}</tspan>')
        column = end
    return "".join(spans)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        events, screens = record(Path(folder))
    IMAGES.mkdir(exist_ok=True)
    (IMAGES / "session.cast").write_text(cast(events), encoding="utf-8")
    (IMAGES / "session.svg").write_text(picture(events), encoding="utf-8")
    for name, seconds in screens.items():
        (IMAGES / f"{name}.svg").write_text(still(events, seconds), encoding="utf-8")
    print(f"{events[-1][0]:.0f} s, {len(events)} events")


if __name__ == "__main__":
    main()
