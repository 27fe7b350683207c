"""MS72x: versions of a project, and reviews."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS720 No git repository to compare with
    `--against` reads another version from git, but git is not installed, the project is not in a repository,
    or the repository belongs to another user. Use `--against-manifest` to compare with a file instead.
MS721 Git does not know a version
    This branch, tag or commit does not exist here. CI jobs often clone a single commit: fetch the other one
    first, for example with `git fetch --depth=1 origin main`.
MS722 The project is not in that version
    Its folder, its pyproject.toml or `[tool.millstream]` did not exist yet, or can't be read. Compare with a
    later version.
MS723 Git can't read a version
    The clone lacks some of its files, as partial and broken clones do. The message is git's own.
MS724 Files of a version are ignored
    The files of a submodule are in a separate repository, and a link may point outside the repository. This
    is a warning: such files are compared as if they did not exist.
MS725 A manifest can't be read
    `--against-manifest` and `--state` take the manifest.json that `millstream compile` wrote. To compare
    state and cost as well, it must come from this version of Millstream.
MS726 The older version does not compile
    So what it computes is unknown. Columns, types and options are compared as far as they are known, and
    files by their text. This is a warning.
MS727 The other branch has newer commits
    It has commits that this branch lacks, so they appear here as if they were reverted. This is a warning:
    `--merge-base` compares with the commit where this branch left the other one.
""")
