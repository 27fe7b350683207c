"""The language server: passes what an editor says on to sessions, and features' values back to it."""

from __future__ import annotations

import asyncio
import logging
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Container, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from millstream import __version__
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.text import FileText, Location
from millstream.editor.features.diagnostics import message_of
from millstream.editor.positions import normalized, to_offset, to_range
from millstream.editor.project import EditorProject, OpenProject, location_of
from millstream.editor.sessions import Session
from millstream.editor.values import Changes, Cursor
from millstream.project.settings import find_project

_log = logging.getLogger(__name__)
_SEVERITIES = {"error": types.DiagnosticSeverity.Error, "warning": types.DiagnosticSeverity.Warning}
RUN = "millstream.run"
"""The command of code lenses: a project's folder, then arguments for `millstream`."""
_SHOWN_LINES = 40
_WATCHED = "**/*.{sql,yml,yaml,py,csv,toml,avsc,proto,json}"


class MillstreamServer(LanguageServer):
    """A language server for all projects in an editor's workspace."""

    def __init__(self, target: str | None = None, variables: str | None = None) -> None:
        # An editor sends whole files: pygls splits lines at characters at which editors do not.
        super().__init__("millstream", __version__, types.TextDocumentSyncKind.Full)
        self.sessions: dict[Path, Session] = {}
        self.published: dict[str, list[types.Diagnostic]] = {}
        self._target, self._variables = target, variables
        self._pool = ThreadPoolExecutor(1, "compile")
        """One for all projects: Python runs one thread at a time."""

    @property
    def encoding(self) -> str:
        """The units in which the editor counts characters of a line."""
        encoding = self.server_capabilities.position_encoding
        return types.PositionEncodingKind(encoding or "utf-16").value

    # -- files

    def locate(self, uri: str) -> tuple[Session, str] | None:
        """Return the session of a file's project, and the file's path in it; None if it is in no project."""
        file = uris.to_fs_path(uri)
        if not uri.startswith("file:") or file is None:
            return None
        path = Path(file).resolve()
        root = self._root_of(path)
        if root is None:
            return None
        if root not in self.sessions:
            project = OpenProject(root, self._target, self._variables)
            self.sessions[root] = Session(project, self, self._pool)
        return self.sessions[root], path.relative_to(root).as_posix()

    def _root_of(self, path: Path) -> Path | None:
        opened = [root for root in self.sessions if path.is_relative_to(root)]
        folder = path if path.is_dir() else path.parent
        while not folder.is_dir():
            folder = folder.parent
        try:
            return find_project(folder)
        except MillstreamError:
            # Its pyproject.toml may be broken for a moment.
            return max(opened, key=lambda root: len(root.parts), default=None)

    def content(self, uri: str) -> str:
        """Return the text of an open file."""
        return normalized(self.workspace.get_text_document(uri).source)

    async def request(self, uri: str, *, current: bool = False) -> Request | None:
        """Return what features need to answer; None if no project compiled."""
        located = self.locate(uri)
        if located is None:
            return None
        session, path = located
        if not session.ready.is_set():
            session.changed()
            await session.ready.wait()
        if current:
            await session.settled()
        return None if session.view is None else Request(self, session, session.view, path, self.content(uri))

    def text_of(self, view: EditorProject, path: str) -> FileText:
        """Return a file's text as the editor has it now, or as it was compiled."""
        uri = self.uri(view.root, path)
        if uri in self.workspace.text_documents:
            return FileText(path, self.content(uri))
        return view.text(path)

    @staticmethod
    def uri(root: Path, path: str) -> str:
        uri = uris.from_fs_path(str(root / path))
        assert uri is not None
        return str(uri)

    # -- diagnostics

    def publish(
        self,
        root: Path,
        diagnostics: Mapping[str, list[Diagnostic]],
        view: EditorProject | None,
        newer: Container[str],
    ) -> None:
        """Show the diagnostics of a project; those that are gone disappear."""
        texts: dict[str, FileText] = {}
        shown = {
            self.uri(root, path): [self.diagnostic(root, diagnostic, view, texts) for diagnostic in of_file]
            for path, of_file in diagnostics.items()
            if path not in newer
        }
        prefix = self.uri(root, "").rstrip("/") + "/"
        inner = [self.uri(other, "").rstrip("/") + "/" for other in self.sessions if other != root]
        gone = [
            uri
            for uri in self.published
            if uri not in shown
            and uri.startswith(prefix)
            and unquote(uri[len(prefix) :]) not in newer
            and not any(uri.startswith(other) and len(other) > len(prefix) for other in inner)
        ]
        for uri, items in [*shown.items(), *((uri, []) for uri in gone)]:
            self._show(uri, items)

    def publish_file(self, root: Path, path: str, content: str, diagnostics: list[Diagnostic]) -> None:
        """Show the diagnostics of one file with this text; those of other files stay."""
        view = self.sessions[root].view
        texts = {path: FileText(path, normalized(content))}
        items = [self.diagnostic(root, diagnostic, view, texts) for diagnostic in diagnostics]
        self._show(self.uri(root, path), items)

    def _show(self, uri: str, items: list[types.Diagnostic]) -> None:
        if self.published.get(uri, []) != items:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, items))
        self.published[uri] = items
        if not items:
            del self.published[uri]

    def diagnostic(
        self, root: Path, diagnostic: Diagnostic, view: EditorProject | None, texts: dict[str, FileText]
    ) -> types.Diagnostic:
        def range_of(location: Location) -> types.Range:
            if location.path not in texts:
                if view is not None:
                    texts[location.path] = view.text(location.path)
                else:
                    texts[location.path] = self._text_without_view(root, location.path)
            return to_range(location, texts[location.path], self.encoding)

        notes = [
            types.DiagnosticRelatedInformation(
                types.Location(self.uri(root, note.location.path), range_of(note.location)), note.message
            )
            for note in diagnostic.notes
            if note.location is not None
        ]
        return types.Diagnostic(
            range_of(location_of(diagnostic)),
            message_of(diagnostic),
            _SEVERITIES[diagnostic.severity],
            diagnostic.code,
            source="millstream",
            related_information=notes or None,
        )

    def _text_without_view(self, root: Path, path: str) -> FileText:
        uri = self.uri(root, path)
        if uri in self.workspace.text_documents:
            return FileText(path, self.content(uri))
        try:
            return FileText(path, normalized((root / path).read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return FileText(path, "")


class Request:
    """A request about one file, with the last compile of its project."""

    def __init__(
        self, server: MillstreamServer, session: Session, view: EditorProject, path: str, content: str
    ) -> None:
        self.server = server
        self.session = session
        self.view = view
        self.path = path
        self.content = content
        """The file's text as the editor has it now."""

    def cursor(self, position: types.Position) -> Cursor:
        text = FileText(self.path, self.content)
        return Cursor(self.path, self.content, to_offset(position, text, self.server.encoding))

    def range(self, location: Location) -> types.Range:
        text = self.server.text_of(self.view, location.path)
        return to_range(location, text, self.server.encoding)

    def uri(self, path: str) -> str:
        return self.server.uri(self.view.root, path)

    def location(self, location: Location) -> types.Location:
        return types.Location(self.uri(location.path), self.range(location))

    def diagnostic(self, diagnostic: Diagnostic) -> types.Diagnostic:
        return self.server.diagnostic(self.view.root, diagnostic, self.view, {})

    def edit(self, changes: Changes) -> types.WorkspaceEdit:
        """Return changes of texts, then of the names of files."""
        by_path: dict[str, list[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit]] = {}
        for change in changes.texts:
            edit = types.TextEdit(self.range(change.location), change.text)
            by_path.setdefault(change.location.path, []).append(edit)
        edits = [
            types.TextDocumentEdit(
                types.OptionalVersionedTextDocumentIdentifier(self.uri(path), self._version(path)), of_file
            )
            for path, of_file in by_path.items()
        ]
        files = [types.RenameFile(self.uri(file.path), self.uri(file.new_path)) for file in changes.files]
        return types.WorkspaceEdit(document_changes=[*edits, *files])

    def _version(self, path: str) -> int | None:
        document = self.server.workspace.text_documents.get(self.uri(path))
        return document.version if document else None


def follow_documents(server: MillstreamServer) -> None:
    """Compile a project when an editor opens, changes, saves or closes one of its files."""

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        for uri in server.workspace.folders:
            if located := server.locate(uri):
                located[0].changed()
        capabilities = server.client_capabilities.workspace
        watched = capabilities.did_change_watched_files if capabilities else None
        if watched and watched.dynamic_registration:
            watchers = [types.FileSystemWatcher(_WATCHED)]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            await server.client_register_capability_async(
                types.RegistrationParams([types.Registration("files", method, options)])
            )

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(parameters: types.DidOpenTextDocumentParams) -> None:
        edit(parameters.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(parameters: types.DidChangeTextDocumentParams) -> None:
        edit(parameters.text_document.uri)

    def edit(uri: str) -> None:
        if located := server.locate(uri):
            session, path = located
            session.edit(path, server.content(uri))

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(parameters: types.DidCloseTextDocumentParams) -> None:
        if located := server.locate(parameters.text_document.uri):
            session, path = located
            session.edit(path, None)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(parameters: types.DidSaveTextDocumentParams) -> None:
        if located := server.locate(parameters.text_document.uri):
            located[0].changed()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(parameters: types.DidChangeWatchedFilesParams) -> None:
        touched = {located[0].root for event in parameters.changes if (located := server.locate(event.uri))}
        for root in touched:
            server.sessions[root].changed()

    @server.command(RUN)
    async def run(*arguments: str) -> None:
        """Run `millstream` for an editor that has no terminal for it, and show the end of its output."""
        root, *options = arguments
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "millstream", *options, "--no-color", cwd=root,
            stdin=DEVNULL, stdout=PIPE, stderr=STDOUT,
        )  # fmt: skip
        output, _ = await process.communicate()
        lines = output.decode(errors="replace").rstrip().split("\n")[-_SHOWN_LINES:]
        kind = types.MessageType.Error if process.returncode else types.MessageType.Info
        server.window_show_message(types.ShowMessageParams(kind, "\n".join(lines)))

    @server.feature(types.SHUTDOWN)
    def shutdown(_: Any) -> None:
        for session in server.sessions.values():
            session.close()
