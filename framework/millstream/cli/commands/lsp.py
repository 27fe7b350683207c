"""`millstream lsp`."""

from __future__ import annotations

import logging

from millstream.cli.options import CommonOptions, cli_command
from millstream.core.errors import Diagnostic, MillstreamError


@cli_command("lsp", "millstream lsp    # started by an editor", offline=True)
def command(common: CommonOptions) -> int:
    """Serve an editor with the language server protocol.

    The server reads and writes standard input and output. It shows errors while you type, completes names,
    and knows where they are declared and used. docs/editors.md says how to set up editors.
    """
    try:
        from millstream.editor.replies import serve_stdio
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in {"pygls", "lsprotocol"}:
            raise
        message = "the language server needs the package pygls"
        remedy = "install it: pip install 'millstream[editor]'"
        raise MillstreamError(Diagnostic("MS714", message, None, remedy)) from None
    logging.getLogger("pygls").setLevel(logging.ERROR)
    serve_stdio(common.target, common.vars)
    return 0
