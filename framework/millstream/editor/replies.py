"""The features of the language server: what an editor requests, and the function that answers it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from millstream.core.errors import MillstreamError
from millstream.editor.features.code_actions import find_fixes
from millstream.editor.features.code_lenses import find_lenses
from millstream.editor.features.completion import complete
from millstream.editor.features.definition import find_definition
from millstream.editor.features.hover import describe
from millstream.editor.features.references import find_references
from millstream.editor.features.rename import rename, renamed_at
from millstream.editor.server import RUN, MillstreamServer, Request, follow_documents
from millstream.editor.values import Suggestion

_SWITCH = 0.001
"""Seconds after which a compile lets an answer go on, several times for each: Python's default is 0.005."""


class Feature(NamedTuple):
    method: str
    answer: Callable[[Request, Any], Any]
    options: Any = None
    current: bool = True
    """It waits until all edits are compiled; the others answer at once, from the last compile."""


def _definition(request: Request, parameters: types.DefinitionParams) -> list[types.Location]:
    cursor = request.cursor(parameters.position)
    return [request.location(location) for location in find_definition(request.view, cursor)]


def _references(request: Request, parameters: types.ReferenceParams) -> list[types.Location]:
    cursor, declaration = request.cursor(parameters.position), parameters.context.include_declaration
    return [
        request.location(location)
        for location in find_references(request.view, cursor, declaration=declaration)
    ]


def _hover(request: Request, parameters: types.HoverParams) -> types.Hover | None:
    text = describe(request.view, request.cursor(parameters.position))
    if text is None:
        return None
    content = types.MarkupContent(types.MarkupKind.Markdown, text.markdown)
    shown = text.location if text.location and text.location.path == request.path else None
    return types.Hover(content, request.range(shown) if shown else None)


_ITEM_KINDS = {
    "model": types.CompletionItemKind.Struct,
    "source": types.CompletionItemKind.Module,
    "seed": types.CompletionItemKind.Struct,
    "column": types.CompletionItemKind.Field,
    "field": types.CompletionItemKind.Property,
    "function": types.CompletionItemKind.Function,
    "macro": types.CompletionItemKind.Method,
    "key": types.CompletionItemKind.Property,
    "value": types.CompletionItemKind.EnumMember,
}
_ORDER = {"column": "0", "field": "0", "model": "1"}


def _completion(request: Request, parameters: types.CompletionParams) -> types.CompletionList:
    cursor = request.cursor(parameters.position)
    return types.CompletionList(
        True, [_item(suggestion, parameters.position) for suggestion in complete(request.view, cursor)]
    )


def _item(suggestion: Suggestion, position: types.Position) -> types.CompletionItem:
    # What was typed of a name is ASCII, so that its characters are units.
    start = types.Position(position.line, position.character - suggestion.replaces)
    edit = types.TextEdit(types.Range(start, position), suggestion.insert or suggestion.label)
    return types.CompletionItem(
        suggestion.label,
        kind=_ITEM_KINDS[suggestion.kind],
        detail=suggestion.detail or None,
        documentation=suggestion.documentation or None,
        sort_text=_ORDER.get(suggestion.kind, "2") + suggestion.label,
        text_edit=edit,
    )


def _code_actions(request: Request, parameters: types.CodeActionParams) -> list[types.CodeAction]:
    first, last = parameters.range.start.line + 1, parameters.range.end.line + 1
    fixes = find_fixes(request.view, request.path, request.content, first, last)
    return [
        types.CodeAction(
            fix.title,
            types.CodeActionKind.QuickFix,
            [request.diagnostic(fix.diagnostic)],
            is_preferred=len(fixes) == 1,
            edit=request.edit(fix.changes),
        )
        for fix in fixes
    ]


def _code_lenses(request: Request, _: types.CodeLensParams) -> list[types.CodeLens]:
    root = str(request.view.root)
    return [
        types.CodeLens(
            request.range(lens.location), types.Command(lens.title, RUN, arguments=[root, *lens.arguments])
        )
        for lens in find_lenses(request.view, request.path)
    ]


def _prepare_rename(
    request: Request, parameters: types.PrepareRenameParams
) -> types.PrepareRenamePlaceholder:
    symbol = renamed_at(request.view, request.cursor(parameters.position))
    text = request.server.text_of(request.view, symbol.location.path)
    line, where = text.line(symbol.location.line), symbol.location
    return types.PrepareRenamePlaceholder(request.range(where), line[where.column - 1 : where.end - 1])


def _rename(request: Request, parameters: types.RenameParams) -> types.WorkspaceEdit:
    session = request.session
    cursor = request.cursor(parameters.position)
    changes = rename(session.project, request.view, session.unsaved, cursor, parameters.new_name)
    return request.edit(changes)


FEATURES = (
    Feature(types.TEXT_DOCUMENT_DEFINITION, _definition),
    Feature(types.TEXT_DOCUMENT_REFERENCES, _references),
    Feature(types.TEXT_DOCUMENT_HOVER, _hover, current=False),
    Feature(
        types.TEXT_DOCUMENT_COMPLETION,
        _completion,
        types.CompletionOptions(trigger_characters=[".", "'", '"', "(", " ", ":"]),
        current=False,
    ),
    Feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        _code_actions,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
    ),
    Feature(types.TEXT_DOCUMENT_CODE_LENS, _code_lenses),
    Feature(types.TEXT_DOCUMENT_PREPARE_RENAME, _prepare_rename),
    Feature(types.TEXT_DOCUMENT_RENAME, _rename, types.RenameOptions(prepare_provider=True)),
)


def register_features(server: MillstreamServer) -> None:
    for feature in FEATURES:
        _register(server, feature)


def _register(server: MillstreamServer, feature: Feature) -> None:
    @server.feature(feature.method, feature.options)
    async def answer(parameters: Any) -> Any:
        request = await server.request(parameters.text_document.uri, current=feature.current)
        try:
            if request is None:
                return None
            with request.session.answering():
                return feature.answer(request, parameters)
        except MillstreamError as error:
            diagnostic = error.diagnostics[0]
            message = f"{diagnostic.code}: {diagnostic.message}; {diagnostic.help}"
            raise JsonRpcException(message, types.LSPErrorCodes.RequestFailed) from None


def serve_stdio(target: str | None = None, variables: str | None = None) -> None:
    """Serve an editor on standard input and output until it ends."""
    sys.setswitchinterval(_SWITCH)
    server = MillstreamServer(target, variables)
    follow_documents(server)
    register_features(server)
    # It closes the streams that it uses; those of the command stay open until its end.
    server.start_io(os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb"))
