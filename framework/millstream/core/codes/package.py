"""MS662 to MS669: packages of projects."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS662 A required package is not installed
    `millstream package` takes packages from the Python environment in which it runs. Install what is missing
    there, in a version that is allowed: `uv sync` or `pip install`.
MS663 Installed packages differ from uv.lock
    The project has a uv.lock, so only the versions that it locks are packaged. `uv sync` installs them.
MS664 An installed package can't be packaged
    Its files were changed after it was installed, or it has no copy of its own because it is installed in
    editable mode. Install it again as a copy: `uv sync --no-editable`.
MS665 The package can't be written here
    The place that `--to` names has files that are not of a package and would be lost. Choose another one.
MS666 A package would contain a secret
    profiles.yml contains a secret in plain text, perhaps of another target. Read it from the environment with
    `env_var()`: a package has the names of such variables, but not their values.
MS667 A file to include does not exist
    `--include` names files and folders inside the project, relative to its folder.
MS668 The work folder of a package can't be written
    A package copies its project to the folder that `MILLSTREAM_WORK` names, by default `work` inside the
    package, where it also keeps its locks and logs. Name a folder that can be written.
""")
