"""Says which files with errors a mistake in another file explains, from the names in them and nothing of the product.

A file reads another one if it has one of the names that the other one gives: its own, those of its macros and functions, and those
that YAML gives to sources, topics and seeds. YAML that describes a model is read by the model too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import PurePath

_DEFINED_NAMES = re.compile(r"(?:\bname:\s*|\bmacro\s+|\bdef\s+)([A-Za-z_]\w*)")
_EVERYWHERE = (".toml", "profiles.yml")


def unexplained(
    files: Mapping[str, str], mutated: str, former: str, before: str, erring: Collection[str]
) -> frozenset[str]:
    """Return the files whose errors are not explained by a mistake in `mutated`.

    If the mutated file has an error itself, that is all there is to say: what reads it is unknown. If it has none, its readers
    may have errors, and what they pass on without an error of their own. `former` is its path before a mistake that renames it.
    """
    if mutated in erring:
        return frozenset(erring) - {mutated}
    if mutated.endswith(_EVERYWHERE):
        return frozenset()
    reached, left = {mutated}, [mutated]
    while left:
        path = left.pop()
        names = {PurePath(path).stem, *_DEFINED_NAMES.findall(files[path])}
        names |= {PurePath(former).stem, *_DEFINED_NAMES.findall(before)} if path == mutated else set()
        for other, text in files.items():
            if other not in reached and (
                names & {*re.findall(r"\w+", text)} or PurePath(other).stem in names
            ):
                reached.add(other)
                if other not in erring:
                    left.append(other)
    return frozenset(erring) - reached
