"""The folders of a project's own data: the broker's topics, and one for each target."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from millstream.project.secrets import Secret
from millstream.project.values import Target

OWN = ".millstream"
BROKER = "broker"


def own_folder(root: Path) -> Path:
    return root.resolve() / OWN


def broker_folder(root: Path) -> Path:
    return own_folder(root) / BROKER


def target_folder(root: Path, target: str) -> Path:
    return own_folder(root) / folder_name(target)


def folder_name(target: str) -> str:
    """Return a name inside the folder that neither the broker nor another target has."""
    name = quote(target, safe=" ")
    if name.lower() == BROKER or not name.strip("."):
        return f"%{ord(name[0]):02X}{name[1:]}" if name else "%"
    return name


def checkpoints_of(target: Target, root: Path) -> str:
    given = target.settings.get("checkpoints")
    return absolute_path(given, root) if given else str(target_folder(root, target.name) / "checkpoints")


def absolute_path(given: str | Secret, root: Path) -> str:
    """Return an address as it is, and a path relative to the project as an absolute one."""
    text = given.reveal() if isinstance(given, Secret) else str(given)
    return (
        text if "://" in text or text.startswith("file:") else str(root.resolve() / Path(text).expanduser())
    )


def is_outside(path: str, own: Path) -> bool:
    """Return whether a path is outside a folder of the project: an address, or an existing path elsewhere."""
    return "://" in path or (not Path(path).is_relative_to(own) and Path(path).exists())
