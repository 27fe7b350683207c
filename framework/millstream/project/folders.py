"""What a project keeps on this machine: the broker's topics, and a folder for each target."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

OWN = ".millstream"
BROKER = "broker"


def own_folder(root: Path) -> Path:
    return root.resolve() / OWN


def broker_folder(root: Path) -> Path:
    return own_folder(root) / BROKER


def target_folder(root: Path, target: str) -> Path:
    return own_folder(root) / folder_name(target)


def folder_name(target: str) -> str:
    """Return a name that no other target has, and neither the broker nor another place of this machine."""
    name = quote(target, safe=" ")
    if name.lower() == BROKER or not name.strip("."):
        return f"%{ord(name[0]):02X}{name[1:]}" if name else "%"
    return name
