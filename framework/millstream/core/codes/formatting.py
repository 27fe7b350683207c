"""Codes of `millstream fmt`."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS730 sqlfmt is not installed
    `millstream fmt` lays out SQL with sqlfmt, which is installed with the extra `fmt` of Millstream.
MS731 sqlfmt can't read a file
    A bracket, a quote or a Jinja block is not closed where sqlfmt looks for its end, or a sign is not SQL.
    The file is left as it is. `millstream compile` may accept it: sqlfmt reads the template, not the rendered
    SQL. Lines between `-- fmt: off` and `-- fmt: on` are not laid out.
MS732 Formatting would change the meaning of a file
    Each run compares the tokens, names, texts and comments of a file before and after, and what all models
    compile to. A file with a difference is left as it is. This happens where the rendered SQL depends on the
    white space of a template, such as words that are put together by `{% if … %}`, or a block of Jinja that
    becomes part of a text.
MS733 There is nothing to format
    A path has no SQL files of the project, or no selected model has one. `millstream fmt` without paths
    formats all models, macros and tests.
""")
