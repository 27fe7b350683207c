"""An editor for tests: pygls' client, which talks to `millstream lsp` over pipes, for synchronous tests."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import defaultdict
from pathlib import Path

from lsprotocol import types
from pygls import uris
from pygls.lsp.client import LanguageClient

PATIENCE = 60


class Editor:
    """One editor with a folder open; `root` is where relative paths begin."""

    def __init__(self, root: Path, *arguments: str, encodings: tuple[str, ...] = ("utf-16",)) -> None:
        self.root = root
        self.versions: dict[str, int] = {}
        self.texts: dict[str, str] = {}
        self._shown: dict[str, list[types.Diagnostic]] = defaultdict(list)
        self.published = 0
        """How many times diagnostics were published."""
        self._changed = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.client = LanguageClient("tests", "1")
        self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(
            lambda parameters: self._on_diagnostics(parameters)  # noqa: PLW0108 - pygls marks the function
        )
        self.client.feature(types.CLIENT_REGISTER_CAPABILITY)(lambda _: None)
        command = [sys.executable, "-m", "millstream", "lsp", *arguments]
        self._wait(self.client.start_io(*command, cwd=str(root)))
        capabilities = types.ClientCapabilities(
            general=types.GeneralClientCapabilities(
                position_encodings=[types.PositionEncodingKind(encoding) for encoding in encodings]
            ),
            workspace=types.WorkspaceClientCapabilities(
                did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(
                    dynamic_registration=True
                )
            ),
        )
        folder = types.WorkspaceFolder(self.uri("."), "project")
        parameters = types.InitializeParams(capabilities, root_uri=self.uri("."), workspace_folders=[folder])
        self.server = self._wait(self.client.initialize_async(parameters))
        self.client.initialized(types.InitializedParams())

    def _wait(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE)

    def _on_diagnostics(self, parameters: types.PublishDiagnosticsParams) -> None:
        with self._changed:
            self._shown[self.path(parameters.uri)] = list(parameters.diagnostics)
            self.published += 1
            self._changed.notify_all()

    def uri(self, path: str) -> str:
        uri = uris.from_fs_path(str((self.root / path).resolve()))
        assert uri is not None
        return uri

    def path(self, uri: str) -> str:
        file = Path(uris.to_fs_path(uri) or "")
        return file.relative_to(self.root.resolve()).as_posix()

    # -- files

    def open(self, path: str, text: str | None = None) -> str:
        text = (self.root / path).read_bytes().decode() if text is None else text
        languages = {".sql": "jinja-sql", ".yml": "yaml", ".py": "python", ".toml": "toml"}
        item = types.TextDocumentItem(self.uri(path), languages.get(Path(path).suffix, "plaintext"), 1, text)
        self.versions[path], self.texts[path] = 1, text
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return text

    def type(self, path: str, text: str) -> None:
        """Change what the editor has of a file, as after a keystroke."""
        self.versions[path] += 1
        self.texts[path] = text
        document = types.VersionedTextDocumentIdentifier(self.versions[path], self.uri(path))
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def save(self, path: str) -> None:
        (self.root / path).write_bytes(self.texts[path].encode())
        document = types.TextDocumentIdentifier(self.uri(path))
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(document))

    def close(self, path: str) -> None:
        document = types.TextDocumentIdentifier(self.uri(path))
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(document))
        del self.versions[path], self.texts[path]

    def files_changed(self, *paths: str, kind: types.FileChangeType = types.FileChangeType.Changed) -> None:
        events = [types.FileEvent(self.uri(path), kind) for path in paths]
        self.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(events))

    # -- what is shown

    def shown(self) -> dict[str, list[tuple[str, int, int]]]:
        """Return the code, line and first character of each diagnostic, both from 0, by file."""
        return {
            path: sorted((d.code, d.range.start.line, d.range.start.character) for d in diagnostics)
            for path, diagnostics in sorted(self._shown.items())
            if diagnostics
        }

    def marked(self, path: str) -> list[tuple[str, str]]:
        """Return the code of each diagnostic of a file, and the text that it marks."""
        return [(d.code, self.text_at(types.Location(self.uri(path), d.range))) for d in self._shown[path]]

    def diagnostics(self, path: str) -> list[types.Diagnostic]:
        return self._shown[path]

    def wait_until(self, condition, what: str = ""):
        """Wait until what is shown fulfills a condition."""
        with self._changed:
            if not self._changed.wait_for(condition, PATIENCE):
                raise AssertionError(f"{what or condition}: {self.shown()}")

    def wait_for(self, expected) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self.shown() == expected, PATIENCE)
        assert self.shown() == expected

    # -- requests

    def request(self, method: str, parameters):
        async def send():
            return await self.client.protocol.send_request_async(method, parameters)

        return self._wait(send())

    def definition(self, path: str, marker: str, **where):
        parameters = types.DefinitionParams(*self.position_of(path, marker, **where))
        return self.located_texts(self.request(types.TEXT_DOCUMENT_DEFINITION, parameters))

    def references(self, path: str, marker: str, *, declaration: bool = True, **where):
        context = types.ReferenceContext(declaration)
        parameters = types.ReferenceParams(context, *self.position_of(path, marker, **where))
        return self.located_texts(self.request(types.TEXT_DOCUMENT_REFERENCES, parameters))

    def hover(self, path: str, marker: str, **where) -> str:
        hover = self.request(
            types.TEXT_DOCUMENT_HOVER, types.HoverParams(*self.position_of(path, marker, **where))
        )
        return hover.contents.value if hover else ""

    def complete(self, path: str, marker: str, **where) -> dict[str, types.CompletionItem]:
        parameters = types.CompletionParams(*self.position_of(path, marker, after=True, **where))
        items = self.request(types.TEXT_DOCUMENT_COMPLETION, parameters).items
        return {item.label: item for item in items}

    def fixes(self, path: str, marker: str) -> list[types.CodeAction]:
        document, start = self.position_of(path, marker)
        context = types.CodeActionContext(self.diagnostics(path))
        parameters = types.CodeActionParams(document, types.Range(start, start), context)
        return list(self.request(types.TEXT_DOCUMENT_CODE_ACTION, parameters))

    def lenses(self, path: str) -> list[tuple[int, str, tuple[str, ...]]]:
        """Return the line from 1, title and arguments of lenses."""
        parameters = types.CodeLensParams(types.TextDocumentIdentifier(self.uri(path)))
        lenses = self.request(types.TEXT_DOCUMENT_CODE_LENS, parameters)
        return [(x.range.start.line + 1, x.command.title, tuple(x.command.arguments[1:])) for x in lenses]

    def rename(self, path: str, marker: str, new_name: str, **where) -> types.WorkspaceEdit:
        document, position = self.position_of(path, marker, **where)
        return self.request(types.TEXT_DOCUMENT_RENAME, types.RenameParams(document, position, new_name))

    def apply(self, edit: types.WorkspaceEdit) -> None:
        """Change files as an editor does: those that are open there, and others on disk."""
        for change in edit.document_changes:
            if isinstance(change, types.RenameFile):
                old, new = self.path(change.old_uri), self.path(change.new_uri)
                (self.root / old).rename(self.root / new)
                if old in self.texts:
                    text = self.texts[old]
                    self.close(old)
                    self.open(new, text)
                continue
            path = self.path(change.text_document.uri)
            lines = (self.texts.get(path) or (self.root / path).read_text()).split("\n")
            edits = sorted(change.edits, key=lambda edit: edit.range.start, reverse=True)
            for item in edits:
                line = lines[item.range.start.line].encode("utf-16-le")
                start, stop = 2 * item.range.start.character, 2 * item.range.end.character
                line = line[:start] + item.new_text.encode("utf-16-le") + line[stop:]
                lines[item.range.start.line] = line.decode("utf-16-le")
            if path in self.texts:
                self.type(path, "\n".join(lines))
            else:
                (self.root / path).write_text("\n".join(lines))
                self.files_changed(path)

    def located_texts(self, locations) -> list[tuple[str, int, str]]:
        """Return the file, line from 1, and text of locations."""
        return [
            (self.path(item.uri), item.range.start.line + 1, self.text_at(item)) for item in locations or ()
        ]

    def text_at(self, location: types.Location) -> str:
        path = self.path(location.uri)
        text = self.texts.get(path) or (self.root / path).read_text()
        line = text.split("\n")[location.range.start.line].encode("utf-16-le")
        return line[2 * location.range.start.character : 2 * location.range.end.character].decode("utf-16-le")

    def position_of(
        self, path: str, marker: str, *, after: bool = False, nth: int = 0
    ) -> tuple[types.TextDocumentIdentifier, types.Position]:
        """Return the position of a text in a file: of its first character, or behind its last one."""
        text = self.texts[path]
        offset = -1
        for _ in range(nth + 1):
            offset = text.index(marker, offset + 1)
        offset += len(marker) if after else 0
        line_start = text.rfind("\n", 0, offset) + 1
        units = len(text[line_start:offset].encode("utf-16-le")) // 2
        position = types.Position(text.count("\n", 0, offset), units)
        return types.TextDocumentIdentifier(self.uri(path)), position

    def stop(self) -> None:
        self._wait(self.client.shutdown_async(None))
        self.client.exit(None)
        self._wait(self.client.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()
