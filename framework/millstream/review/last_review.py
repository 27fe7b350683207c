"""Caches the last review, for when it is requested again, such as in another format."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from millstream.compile.cache_files import FORMAT, read_file, write_file
from millstream.compile.snapshot import inputs_digest
from millstream.core.encoding import to_sorted_msgpack
from millstream.project.settings import read_settings
from millstream.project.values import Target
from millstream.review.rebuild_cost import ReplayFigures
from millstream.review.values import SCHEMA_VERSION, Review
from millstream.review.version import ReviewedVersion

_FILE = "cache/review.msgpack"


class CachedReview(Struct, frozen=True):
    key: str
    review: Review


def key_of(old: ReviewedVersion, new: ReviewedVersion, statistics: ReplayFigures) -> str:
    """Return a digest of everything that determines a review."""
    hashed = blake2b(f"{FORMAT} {SCHEMA_VERSION}".encode(), digest_size=16)
    hashed.update(to_sorted_msgpack(statistics))
    for version in (old, new):
        facts = (version.name, version.commit, version.less, version.compiled.manifest)
        hashed.update(msgspec.msgpack.encode(facts, enc_hook=str, order="deterministic"))
        hashed.update(version.compiled.catalog)
        if version.root is not None:
            # A review shows edited lines of all files, including macros and YAML.
            settings, _ = read_settings(version.root)
            hashed.update(inputs_digest(version.root, settings, Target("", "", {}), {}).encode())
    return hashed.hexdigest()


def load_review(target: Path, key: str) -> Review | None:
    cached = read_file(target / _FILE, CachedReview)
    return cached.review if cached and cached.key == key else None


def save_review(target: Path, key: str, review: Review) -> None:
    """Cache a review; if the folder can't be written, the next review takes longer."""
    write_file(target / _FILE, CachedReview(key, review))
