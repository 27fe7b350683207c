"""The examples of docs/formatting.md."""

import re
from pathlib import Path

from millstream.core.text import FileText
from millstream.fmt.files import format_text
from millstream.fmt.layout import Style

GUIDE = (Path(__file__).parents[3] / "docs/formatting.md").read_text(encoding="utf-8")
WRITTEN, FORMATTED, LEFT_OUT = re.findall(r"```sql\n(.*?)```", GUIDE, re.DOTALL)


def test_the_model_becomes_what_the_guide_says():
    assert format_text(FileText("m.sql", WRITTEN), Style()).after == FORMATTED


def test_the_model_with_lines_left_out_is_formatted():
    assert not format_text(FileText("m.sql", LEFT_OUT), Style()).changed
