"""The span map: every character of rendered SQL leads back to where it was written."""

from hypothesis import given
from hypothesis import strategies as st

from millstream.project.environment import TracingEnvironment
from millstream.project.spans import SpanMap, TextSegment, TracedText, concat

PLAIN = st.text(st.sampled_from("abc \n\t,.()é漢'"), max_size=12)


def render(source: str, **values: object) -> tuple[TracedText, TracingEnvironment]:
    environment = TracingEnvironment()
    globals_ = {**environment.globals, **values}
    template = environment.template(environment.parse(source, "t.sql"), "t.sql", globals_)
    context = template.new_context(globals_, shared=True)
    return concat(template.root_render_func(context)), environment


def plainly(source: str, **values: object) -> str:
    """What Jinja itself renders, without any tracing."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(
        undefined=StrictUndefined, extensions=["jinja2.ext.do"], keep_trailing_newline=True
    )
    return environment.from_string(source).render(**values)


@st.composite
def templates(draw: st.DrawFn, depth: int = 2) -> str:
    """Random templates of text, values, conditions, loops, set blocks, comments and raw parts."""
    parts = []
    for _ in range(draw(st.integers(0, 4))):
        left, right = draw(st.sampled_from(["", "-", "+"])), draw(st.sampled_from(["", "-"]))
        kinds = ["text", "value", "const", "comment", "raw"] + (["if", "for", "set"] if depth else [])
        kind = draw(st.sampled_from(kinds))
        if kind == "text":
            parts.append(draw(PLAIN))
        elif kind == "value":
            parts.append(
                "{{"
                + left.replace("+", "")
                + " "
                + draw(st.sampled_from(["x", "y | upper", "n + 1"]))
                + " "
                + right
                + "}}"
            )
        elif kind == "const":
            parts.append("{{ 'k' ~ 1 }}")
        elif kind == "comment":
            parts.append("{#" + left.replace("+", "") + " no " + right + "#}")
        elif kind == "raw":
            parts.append("{% raw %}{{ r }}{% endraw %}")
        else:
            body = draw(templates(depth=depth - 1))
            opening = {"if": "if n", "for": "for i in items", "set": "set z"}[kind]
            parts.append(
                "{%"
                + left
                + " "
                + opening
                + " "
                + right
                + "%}"
                + body
                + "{%"
                + left
                + " end"
                + kind
                + " "
                + right
                + "%}"
            )
            if kind == "set":
                parts.append("{{ z | trim }}")
    return "".join(parts)


VALUES = {"x": "<X>", "y": "why", "n": 1, "items": [1, 2]}


@given(templates())
def test_text_is_rendered_as_by_jinja_itself(source: str) -> None:
    assert str(render(source, **VALUES)[0]) == plainly(source, **VALUES)


@given(templates())
def test_copied_characters_lead_back_to_themselves(source: str) -> None:
    piece, _ = render(source, **VALUES)
    spans = SpanMap(piece)
    assert spans.length == len(piece)
    position = 0
    for segment in piece.segments:
        for index in range(position, position + segment.length):
            origin = spans.origin(index)
            assert origin is not None
            assert origin.path == "t.sql"
            if segment.width is None:
                assert source[origin.start] == piece[index]
            else:
                expression = source[origin.start : origin.stop]
                assert expression == expression.strip()
                assert "{{" not in expression
        position += segment.length


def test_a_value_leads_to_its_expression() -> None:
    source = "select {{ x | upper }} from t"
    piece, _ = render(source, x="abc")
    origin = SpanMap(piece).origin(8)
    assert origin is not None
    assert source[origin.start : origin.stop] == "x | upper"


def test_a_range_stops_at_the_end_of_its_segment() -> None:
    source = "ab{{ x }}cd"
    piece, _ = render(source, x="1")
    origin = SpanMap(piece).origin(0, 5)
    assert origin is not None
    assert (origin.start, origin.stop) == (0, 2)


def test_trim_keeps_places() -> None:
    source = "{% set q %}  abc {% endset %}{{ q | trim }}"
    piece, _ = render(source)
    origin = SpanMap(piece).origin(1)
    assert str(piece) == "abc"
    assert origin is not None
    assert source[origin.start] == "b"


def test_joining_text_of_unknown_origin_keeps_the_rest_aligned() -> None:
    piece = TracedText.of("ab", (TextSegment(2, "t.sql", 5),))
    joined = concat(["--", piece])
    origin = SpanMap(joined).origin(3)
    assert origin is not None
    assert origin.start == 6


def test_nothing_rendered_has_no_origin() -> None:
    assert SpanMap(TracedText.of("", ())).origin(0) is None
