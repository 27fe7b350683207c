"""MS7xx: the machine. MS9xx: Millstream itself."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS701 Invalid command line
    The command or option does not exist, or a value is missing or not allowed. `millstream COMMAND --help`
    lists the options, with examples.
MS702 A file can't be written
    The target folder, or the folder you named, is not writable, or the disk is full. Make it writable, or set
    `target-path` in `[tool.millstream]`.
MS703 A project can't be created here
    `millstream init` only writes into a new or empty folder, so that it never overwrites your files. Choose
    another folder.
MS704 Invalid project name
    A project's name is also a name in SQL and YAML: letters, digits and `_`, not starting with a digit.
MS705 Unknown model or column
    The project does not have the model or column that was passed to `millstream lineage`. `millstream ls`
    lists all models.
MS706 The operating system refused an operation
    The disk is full or failing, too many files are open, or the current folder was removed. The project is
    not the cause: free some space, or work in another folder.
MS707 target-path can't be cleaned
    `millstream clean` removes the folder that `target-path` names. It must be inside the project and must not
    contain its models, macros, seeds or tests, and Millstream must have created it.
MS708 The port can't be used
    Another program uses the port for `millstream docs serve`, or you are not allowed to use it. Choose
    another `--port`, or 0 for any free port.
MS709 The site can't be written here
    The folder in `millstream docs generate --to` contains a page that is not Millstream's and would be
    overwritten. Choose another folder.
MS710 target-path names a folder of other files
    Commands write and remove files in the folder that `target-path` names, so it must be one that Millstream
    created. Name a new or empty folder, or remove a link that leads out of it.
MS711 Unknown environment
    The target has no isolated environment of this name, or it was dropped. `apply --environment NAME` creates
    it, and `millstream environment ls` lists all of them.
MS712 Not possible in an environment
    An isolated environment only reads production's topics. Test traffic and replays are sent to the topics of
    sources, which are production's. Use a target without `environment:`, and leave out `--environment`.
MS713 An exporter failed
    `millstream docs generate` calls a function of another installed package for this format. It raised an
    error, can't be imported, or did not return a text. Fix or update that package; see exporters.md.
MS714 A command's package is not installed
    `millstream lsp`, `millstream mcp` and `millstream dev` need a package that nothing else uses. Install
    Millstream with its extra: `pip install 'millstream[editor]'`, `'millstream[mcp]'` or `'millstream[dev]'`,
    or `uv add --dev` in a project.
MS715 Can't be renamed
    An editor requested a rename. Models, their columns and CTEs can be renamed, to names with letters, digits
    and `_`, if the project then has no error that it does not have now. Columns of sources can't: records
    have them.
MS900 Internal error
    This is a bug in Millstream. The message names a file with the command, the traceback, and the file that
    was being processed, without secrets: check it, and attach it to your report.
""")
