"""MS72x: versions of a project, and reviews."""

from millstream.codes import Code

CODES: dict[str, Code] = {
    "MS720": Code(
        "There is no git repository to compare with",
        "`--against` reads another version from git, and git is not installed, the project is in no repository, or "
        "the repository is somebody else's. `--against-manifest` compares with a file instead.",
    ),
    "MS721": Code(
        "Git does not know a version",
        "There is no such branch, tag or commit here. A clone of a CI job often has one commit only: fetch the "
        "other one first, such as with `git fetch --depth=1 origin main`.",
    ),
    "MS722": Code(
        "The project is not in that version",
        "Its folder, its pyproject.toml or `[tool.millstream]` was not there yet, or can't be read. Compare with a "
        "later version.",
    ),
    "MS723": Code(
        "Git can't read a version",
        "The clone lacks files of it, as partial and broken clones do. The message is git's own.",
    ),
    "MS724": Code(
        "Files of a version are left out",
        "A submodule's files are in a repository of its own, and a link may lead out of the repository. This is a "
        "warning: what they hold is compared as if it were not there.",
    ),
    "MS725": Code(
        "A manifest can't be read",
        "`--against-manifest` and `--state` take the manifest.json that `millstream compile` wrote, by this version "
        "of Millstream if state and cost are to be compared, too.",
    ),
    "MS726": Code(
        "The older version does not compile",
        "What it computes is not known then. Columns, types and options are compared as far as they are known, and "
        "files by their text. This is a warning.",
    ),
    "MS727": Code(
        "The other branch has gone on",
        "It has commits that this one lacks, so that they look as if they were taken back here. This is a warning: "
        "`--merge-base` compares with the commit where this branch left the other one.",
    ),
}
