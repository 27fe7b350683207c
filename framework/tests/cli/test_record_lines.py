"""Records as lines for people: nothing in them reaches the terminal as a control sequence."""

import json
import os
from datetime import datetime, timezone

from millstream.cli.output import print_json, terminal_escaper
from millstream.cli.records import text_lines
from millstream.kafka.topic_decoding import ShownRecord


def test_names_of_headers_have_no_control_characters():
    record = ShownRecord(
        topic="t", partition=0, offset=0, timestamp=datetime(2026, 1, 1, tzinfo=timezone.utc), key="\x1b[1m", value="\x1b[2m",
        headers=[("\x1b[31mred", b"a"), ("b", "\x1b[0m")], wrong={},
    )  # fmt: skip
    line = text_lines(keys=True, headers=True, topics=True)(record)
    assert "\x1b" not in line
    assert "\\x1b[31mred" in line


def test_json_has_no_control_characters(capsys):
    print_json({"owner": "\x1b]0;t\x07\x9b31m\x7f é"})
    text = capsys.readouterr().out
    assert not set(text) & {"\x1b", "\x07", "\x7f", "\x9b"}
    assert json.loads(text) == {"owner": "\x1b]0;t\x07\x9b31m\x7f é"}


def test_lines_for_programs_are_harmless_on_a_terminal(tmp_path):
    controller, terminal = os.openpty()
    with os.fdopen(controller), os.fdopen(terminal, "w") as screen, (tmp_path / "rows.csv").open("w") as file:
        assert terminal_escaper(screen)("a\x1b]0;t\x07,\x9bb\n") == "a\\x1b]0;t\\x07,\\x9bb\n"
        assert terminal_escaper(file)("a\x1b]0;t\x07,\x9bb\n") == "a\x1b]0;t\x07,\x9bb\n"


def test_nothing_changes_the_order_in_which_a_line_is_shown(capsys):
    time = datetime(2026, 1, 1, tzinfo=timezone.utc)
    value = "user\u202e \u2066//admin\u2069"
    record = ShownRecord("t", 0, 0, time, None, value, [], {})
    assert text_lines(keys=False, headers=False, topics=False)(record) == "user\\u202e \\u2066//admin\\u2069"
    print_json({"owner": value})
    text = capsys.readouterr().out
    assert not set(text) & set("\u202e\u2066\u2069")
    assert json.loads(text) == {"owner": value}
