"""[tool.millstream] of pyproject.toml."""

from pathlib import Path

import pytest

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.project.settings import find_project, read_settings
from millstream.project.values import Settings

HEADER = '[tool.millstream]\nname = "shop"\n'


def read(root: Path, content: str | bytes) -> tuple[Settings, list[Diagnostic]]:
    (root / "pyproject.toml").write_bytes(content.encode() if isinstance(content, str) else content)
    return read_settings(root)


def codes_and_carets(errors: list[Diagnostic]) -> list[tuple[str, str]]:
    """Return codes with what their carets stand under."""
    return [(p.code, p.line[p.location.column - 1 : p.location.end - 1]) for p in errors if p.location]


def refused(root: Path, content: str | bytes) -> Diagnostic:
    with pytest.raises(MillstreamError) as caught:
        read(root, content)
    return caught.value.diagnostics[0]


def test_defaults(tmp_path: Path) -> None:
    settings, errors = read(tmp_path, '[project]\nname = "my-shop"\nversion = "1.2"\n[tool.millstream]\n')
    assert errors == []
    assert settings == Settings(name="my_shop", version="1.2", profile="my_shop")


def test_everything_given(tmp_path: Path) -> None:
    for folder in ("queries", "more"):
        (tmp_path / folder).mkdir()
    settings, errors = read(
        tmp_path,
        HEADER
        + 'profile = "p"\nmodel-paths = ["queries/", "./more"]\ntarget_path = "out"\n'
        + "[tool.millstream.vars]\nday = 2024-01-31\n"
        + '[tool.millstream.models]\nstaging = { materialized = "view" }\n',
    )
    assert errors == []
    assert (settings.profile, settings.target_path) == ("p", "out")
    assert settings.model_paths == ("queries", "more")
    assert settings.vars == {"day": "2024-01-31"}
    assert str(settings.model_locations["staging.materialized"]) == "pyproject.toml:9:13"


@pytest.mark.parametrize(
    ("lines", "code", "under", "remedy"),
    [
        ("modls = 3", "MS106", "modls", "did you mean 'models'?"),
        ("targett-path = 3", "MS106", "targett-path", "did you mean 'target-path'?"),
        ("profile = 3", "MS107", "3", 'write profile = "…"'),
        ("models = 3", "MS107", "3", "write [tool.millstream.models]"),
        ("vars = { a = [1, 99999999999999999999] }", "MS107", "99999999999999999999", "put it in quotes"),
        ("seed-paths = ['seeds', true]", "MS107", "true", "put it in quotes"),
        ('model-paths = "models"', "MS107", '"models"', 'write model-paths = ["…"]'),
        ("model-paths = ['modles']", "MS102", "'modles'", "did you mean 'models'?"),
        ("model-paths = ['.']", "MS107", "'.'", "name a folder below that of pyproject.toml"),
        (
            "model-paths = ['models', '../x']",
            "MS107",
            "'../x'",
            "name a folder below that of pyproject.toml",
        ),
        ("target-path = 'models/out'", "MS107", "'models/out'", 'write target-path = "target"'),
        ("target-path = '.'", "MS107", "'.'", 'write target-path = "target"'),
        ("model-paths = ['models']\nmodel_paths = ['models']", "MS111", "model_paths", "keep one of them"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_remedy(
    tmp_path: Path, lines: str, code: str, under: str, remedy: str
) -> None:
    (tmp_path / "models").mkdir()
    _, errors = read(tmp_path, HEADER + lines + "\n")
    assert codes_and_carets(errors) == [(code, under)]
    assert errors[0].help == remedy


def test_all_mistakes_are_told_and_the_rest_is_read(tmp_path: Path) -> None:
    settings, errors = read(tmp_path, HEADER + "a = 1\nvars = 2\nprofile = 'p'\n")
    assert codes_and_carets(errors) == [("MS106", "a"), ("MS107", "2")]
    assert settings.profile == "p"


def test_a_folder_that_is_not_there_is_a_warning(tmp_path: Path) -> None:
    _, errors = read(tmp_path, HEADER + "seed-paths = ['seeds']\n")
    assert [p.severity for p in errors] == ["warning"]


@pytest.mark.parametrize(
    ("content", "under"),
    [
        ("[tool.millstream]\nname = '1a'", "'1a'"),
        ("[project]\nname = '1a'\n[tool.millstream]", "'1a'"),
    ],
)
def test_a_name_must_be_an_identifier(tmp_path: Path, content: str, under: str) -> None:
    assert codes_and_carets(read(tmp_path, content)[1]) == [("MS110", under)]


@pytest.mark.parametrize(
    ("content", "code", "position"),
    [
        (HEADER + "a = = 1\n", "MS104", "3:5"),
        (HEADER + 'a = "b\n', "MS104", "3:7"),
        (HEADER + "name = 'x'\n", "MS104", "3:11"),
        (HEADER + "a = " + "[" * 5000, "MS104", "1:1"),
        ("[tool]\nmillstream = 3\n", "MS107", "2:14"),
        ("[tool.other]\n", "MS101", "1:1"),
        ("tool = 3\n", "MS101", "1:1"),
        (HEADER.encode("utf-16"), "MS103", "1:1"),
    ],
)
def test_what_can_not_be_understood_at_all(
    tmp_path: Path, content: str | bytes, code: str, position: str
) -> None:
    diagnostic = refused(tmp_path, content)
    assert (diagnostic.code, str(diagnostic.location)) == (code, f"pyproject.toml:{position}")


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(MillstreamError) as caught:
        read_settings(tmp_path)
    assert caught.value.diagnostics[0].code == "MS101"
    assert "millstream init" in caught.value.diagnostics[0].help


@pytest.mark.parametrize(
    "content",
    ["[tool.millstream]", "[tool.millstream.vars]", "tool.millstream.name = 'x'", "[tool]\nmillstream = {}",
     '[ tool . "millstream" ]', "[tool.millstream]\nbroken ="],
)  # fmt: skip
def test_a_project_is_found_from_below(tmp_path: Path, content: str) -> None:
    (tmp_path / "pyproject.toml").write_text(content)
    below = tmp_path / "models" / "staging"
    below.mkdir(parents=True)
    (below / "pyproject.toml").write_text("[tool.other]\nsay = '[tool.millstream]'")
    assert find_project(below) == tmp_path


def test_no_project_is_found(tmp_path: Path) -> None:
    with pytest.raises(MillstreamError) as caught:
        find_project(tmp_path)
    assert caught.value.diagnostics[0].code == "MS101"


def test_a_project_in_a_wrong_encoding_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(HEADER.encode("utf-16"))
    with pytest.raises(MillstreamError) as caught:
        find_project(tmp_path)
    assert caught.value.diagnostics[0].code == "MS103"
