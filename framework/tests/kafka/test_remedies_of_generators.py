"""Test traffic that can't be sent: what the remedy says works."""

import pytest
from test_kafka_generators import first, refused

from millstream.core.errors import MillstreamError
from millstream.kafka.generators import typed_records

FIX = "fix it, or catch the exception"
YIELD = "yield a key and a value for each record; the value has the columns of the source"
FILE = "import {}\nfrom datetime import datetime\nfrom random import Random\n\ndef clicks(random: Random, now: datetime):\n    yield 'a', {{'id': 1}}\n"


@pytest.mark.parametrize(
    ("code", "remedy", "wrong", "right"),
    [
        ("MS831", FIX, FILE.format("nothing_of_this_name"), FILE.format("math")),
        ("MS832", FIX, "yield 'a', {'id': 1 // 0}", "yield 'a', {'id': 1}"),
        (
            "MS832",
            FIX,
            "yield 'a', {'id': [][0]}",
            "\n    try:\n        yield 'a', {'id': [][0]}\n    except IndexError:\n        yield 'a', {'id': 0}",
        ),
        ("MS832", YIELD, "yield 'a'", "yield 'a', {'id': 1}"),
        ("MS833", YIELD, "yield 'a', {'id': object()}", "yield 'a', {'id': 1}"),
    ],
)
def test_a_generator_that_fails(tmp_path, code, remedy, wrong, right):
    diagnostic = refused(tmp_path / "wrong", wrong)
    assert (diagnostic.code, diagnostic.help) == (code, remedy)
    assert len(first(tmp_path / "right", right)) == 1


def test_a_value_that_is_typed(project):
    with pytest.raises(MillstreamError) as caught:
        list(typed_records(project.sources["web.clicks"], "a", ["id=1"]))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "MS833"
    example = diagnostic.help.split("'")[1]
    assert len(list(typed_records(project.sources["web.clicks"], "a", [example]))) == 1
