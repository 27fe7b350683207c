"""Compares the schemas that topics use with the newest ones of the registry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.formats.compatibility.values import Incompatibility
from millstream.formats.format import SchemaError
from millstream.project.pin_compatibility import compare_versions
from millstream.project.pinned_schemas import choose_version
from millstream.project.pins import PULL, NotPinnedError, Pins, Subject
from millstream.project.values import RegistryUse


class NewerVersion(Struct, frozen=True):
    """A subject, the version that a topic uses, and the newest one."""

    subject: str
    pinned: int
    newest: int
    compatibility: str
    findings: tuple[Incompatibility, ...] = ()

    @property
    def unreadable(self) -> bool:
        """Whether records of the newest version can't be read with the pinned one."""
        return any(finding.direction == "forward" for finding in self.findings)


def newer_versions(
    uses: Iterable[RegistryUse], pins: Pins, registered: Mapping[str, Subject]
) -> list[NewerVersion]:
    """Compare each version that is used with the newest one; raise what can't be compared."""
    newer: dict[tuple[str, int], NewerVersion] = {}
    diagnostics: list[Diagnostic] = []
    for use in uses:
        subject = registered[use.subject]
        newest = choose_version(RegistryUse(use.subject, use.location), subject.versions)
        pinned = choose_version(use, pins[use.subject].versions) if use.subject in pins else None
        if pinned is None or newest is None:
            message = f"no schema of subject '{use.subject}' is pinned"
            diagnostics.append(Diagnostic("MS125", message, use.location, f"run `{PULL}`"))
            continue
        try:
            findings = (
                compare_versions(pinned, pins, newest, registered) if newest.version != pinned.version else ()
            )
        except (NotPinnedError, SchemaError) as error:
            numbers = f"{pinned.version} and {newest.version}"
            message = f"versions {numbers} of '{use.subject}' can't be compared: {error}"
            diagnostics.append(Diagnostic("MS894", message, use.location, "fix the schema in the registry"))
            continue
        newer[use.subject, pinned.version] = NewerVersion(
            use.subject, pinned.version, newest.version, subject.compatibility, findings
        )
    if diagnostics:
        raise MillstreamError(*diagnostics)
    return [newer[key] for key in sorted(newer)]
