"""The folders of a project's own data: the broker's topics, and one for each target."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from millstream.core.own_folder import OWN_FOLDER
from millstream.project.secrets import Secret
from millstream.project.values import Target

BROKER = "broker"


def own_folder(root: Path) -> Path:
    return root.resolve() / OWN_FOLDER


def broker_folder(root: Path) -> Path:
    return own_folder(root) / BROKER


def target_folder(root: Path, target: Target) -> Path:
    return folder_in(own_folder(root), target)


def folder_in(project_data: Path, target: Target) -> Path:
    """Return the folder of a target, or of its environment, within that of the project's own data."""
    folder = project_data / folder_name(target.name)
    return folder / target.environment.folder if target.environment else folder


_ESCAPE = "@"
"""Not `%`: delta-rs can't read a table below a folder with `%20` in its name."""


def folder_name(target: str) -> str:
    """Return a name inside the folder that neither the broker nor another target has."""
    name = quote(target, safe=" ").replace("%", _ESCAPE)
    if name.lower() == BROKER or not name.strip("."):
        return f"{_ESCAPE}{ord(name[0]):02X}{name[1:]}" if name else _ESCAPE
    return name


def target_of_folder(name: str) -> str:
    """Return the name of the target that has a folder."""
    return unquote(name.replace(_ESCAPE, "%"))


def checkpoints_of(target: Target, root: Path) -> str:
    return place_of(target, root, target.settings.get("checkpoints"), "checkpoints")


def place_of(target: Target, root: Path, setting: str | Secret | None, usual: str) -> str:
    """Return a folder that a target may set; an environment has one of its own below it."""
    if not setting:
        return str(target_folder(root, target) / usual)
    folder = absolute_path(setting, root)
    return f"{folder.rstrip('/')}/{target.environment.folder}" if target.environment else folder


def absolute_path(path: str | Secret, root: Path) -> str:
    """Return an address as it is, and a path relative to the project as an absolute one."""
    text = path.reveal() if isinstance(path, Secret) else str(path)
    return (
        text if "://" in text or text.startswith("file:") else str(root.resolve() / Path(text).expanduser())
    )


def is_outside(path: str, folder: Path) -> bool:
    """Return whether a path is outside a folder of the project: an address, or an existing path elsewhere."""
    return "://" in path or (not Path(path).is_relative_to(folder) and Path(path).exists())


def local_path(path: str) -> Path | None:
    """Return the path of a folder on this machine; None for `s3a://…` and the like."""
    parts = urlsplit(path)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return None if parts.netloc or len(parts.scheme) > 1 else Path(path)
