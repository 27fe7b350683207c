"""Codes of `millstream lint`, besides the names of its rules."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS734 A finding is ignored without a reason
    `-- lint: ignore rule: reason` says why a finding is fine. Without a
    reason, the finding is reported as before.
MS735 A comment ignores a finding that is not there
    The rule has no finding in this line or the next one. `millstream lint --fix` removes the comment.
MS736 There is no such lint rule
    A comment, the option `lint` or `--rule` names a rule that is neither built in nor defined in the folders
    of `lint-paths`.
MS737 A lint rule of the project fails
    A file in the folders of `lint-paths` can't be imported, or one of its rules raises an exception or yields
    something else than findings. The other rules run.
""")
