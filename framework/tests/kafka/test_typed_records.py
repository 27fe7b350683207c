"""`produce --value` sends single records in the format of their source, or says why it can't."""

import json

import pytest

from millstream.core.errors import MillstreamError
from millstream.kafka.generators import typed_records


def test_values_are_encoded_in_the_format_of_their_source(project):
    clicks, lines = project.sources["web.clicks"], project.sources["web.lines"]
    first, last = typed_records(clicks, "a", ['{"id": 1, "kind": "x"}', "null"])
    assert (first.key, json.loads(first.value)) == (b"a", {"id": 1, "kind": "x"})
    assert (last.key, last.value) == (b"a", None)
    (line,) = typed_records(lines, None, ['{"a": 1, "b": "x"}'])
    assert (line.key, line.value) == (None, b"1,x")


@pytest.mark.parametrize(
    ("source", "key", "text"), [("clicks", "a", "{"), ("lines", None, "1"), ("ticks", "x", "1")]
)
def test_a_value_that_does_not_fit_is_reported(project, source, key, text):
    with pytest.raises(MillstreamError, match="MS833") as caught:
        list(typed_records(project.sources[f"web.{source}"], key, [text]))
    assert text in caught.value.diagnostics[0].message


def test_a_record_is_sent_to_a_source(run_json, run):
    sent = run_json("produce", "silent", "--value", '{"value": "hello"}', "--key", "k")
    assert sent["topics"][0]["records"] == 1
    assert "hello" in run("consume", "silent")[1]
    for wrong in (("produce", "--value", "{}"), ("produce", "silnt", "--value", "{}")):
        code, _, message = run(*wrong)
        assert (code, "MS834" in message) == (2, True), message
    assert run("produce", "silent", "--key", "k")[0] == 2
