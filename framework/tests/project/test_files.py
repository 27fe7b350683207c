"""Finding, reading and decoding files."""

import os
from pathlib import Path

import pytest

from millstream.core.errors import Diagnostic
from millstream.project.files import LARGEST, File, find_files, read_file


def write(root: Path, path: str, data: bytes = b"x") -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_bytes(data)


def unreadable(root: Path, data: bytes) -> Diagnostic:
    write(root, "m.sql", data)
    diagnostic = read_file(root, "m.sql")
    assert isinstance(diagnostic, Diagnostic)
    return diagnostic


def test_files_are_found_sorted_each_once(tmp_path: Path) -> None:
    for path in ("models/b.sql", "models/a/z.sql", "models/a.txt", "more/c.sql"):
        write(tmp_path, path)
    paths = list(find_files(tmp_path, ("./models/", "models/a", "more", "none"), (".sql",)))
    assert paths == ["models/a/z.sql", "models/b.sql", "more/c.sql"]


def test_hidden_and_generated_folders_are_left_out(tmp_path: Path) -> None:
    for folder in (".venv", "__pycache__", "node_modules", "target"):
        write(tmp_path, f"models/{folder}/a.sql")
    write(tmp_path, "models/.a.sql")
    assert list(find_files(tmp_path, ("models",), (".sql",))) == ["models/target/a.sql"]


def test_a_link_to_a_folder_is_followed_but_not_in_circles(tmp_path: Path) -> None:
    write(tmp_path, "models/a.sql")
    write(tmp_path, "elsewhere/b.sql")
    (tmp_path / "models/linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "models/up").symlink_to(tmp_path / "models")
    assert list(find_files(tmp_path, ("models",), (".sql",))) == ["models/a.sql", "models/linked/b.sql"]


def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    os.mkfifo(tmp_path / "models/a.sql")
    errors: list[Diagnostic] = []
    assert list(find_files(tmp_path, ("models",), (".sql",), errors)) == []
    assert [(p.code, str(p.location)) for p in errors] == [("MS102", "models/a.sql:1:1")]


@pytest.mark.parametrize("special", ["pipe", "/dev/zero"])
def test_only_regular_files_are_read(tmp_path: Path, special: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "m.sql").symlink_to(special)
    diagnostic = read_file(tmp_path, "m.sql")
    assert isinstance(diagnostic, Diagnostic)
    assert (diagnostic.code, diagnostic.message) == (
        "MS102",
        "the file can't be read: it is a pipe, a socket or a device",
    )


def test_a_name_that_is_not_utf8_is_told_readably(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/models/a\xff.sql")).write_text("x")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    errors: list[Diagnostic] = []
    assert list(find_files(tmp_path, ("models",), (".sql",), errors)) == []
    assert str(errors[0].location) == "models/a\\xff.sql:1:1"


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda _: None, "no such file"),
        (lambda path: path.mkdir(), "is a directory"),
        (lambda path: path.symlink_to(path), "symbolic links"),
    ],
)
def test_an_unreadable_file_is_told_with_the_reason(tmp_path: Path, prepare, message: str) -> None:
    prepare(tmp_path / "m.sql")
    diagnostic = read_file(tmp_path, "m.sql")
    assert isinstance(diagnostic, Diagnostic)
    assert diagnostic.code == "MS102"
    assert message in diagnostic.message


def test_a_byte_order_mark_and_line_ends_of_windows_do_not_matter(tmp_path: Path) -> None:
    write(tmp_path, "m.sql", b"\xef\xbb\xbfa\r\nb\rc\n")
    file = read_file(tmp_path, "m.sql")
    assert isinstance(file, File)
    assert file.content == "a\nb\nc\n"


def test_the_digest_is_that_of_the_bytes(tmp_path: Path) -> None:
    write(tmp_path, "a.sql", b"x\n")
    write(tmp_path, "b.sql", b"x\r\n")
    first, second = read_file(tmp_path, "a.sql"), read_file(tmp_path, "b.sql")
    assert isinstance(first, File)
    assert isinstance(second, File)
    assert first.content == second.content
    assert first.digest != second.digest


@pytest.mark.parametrize(
    ("data", "position", "message"),
    [
        ("a\né = 'ö'".encode() + " ü".encode("latin-1"), (2, 9), "byte 0xfc is not UTF-8"),
        (b"a\r\nb\rc\xe9", (3, 2), "perhaps Latin-1"),
        ("select 1".encode("utf-16"), (1, 1), "the file is UTF-16"),
        ("select 1".encode("utf-16-le"), (1, 2), "looks like UTF-16"),
        (b"select 1\nfrom x\0", (2, 7), "the file is binary"),
    ],
)
def test_a_wrong_encoding_is_told_with_its_first_byte(
    tmp_path: Path, data: bytes, position: tuple[int, int], message: str
) -> None:
    diagnostic = unreadable(tmp_path, data)
    assert diagnostic.code == "MS103"
    assert diagnostic.location
    assert (diagnostic.location.line, diagnostic.location.column) == position
    assert message in diagnostic.message


def test_ten_megabytes_are_read_and_no_more(tmp_path: Path) -> None:
    write(tmp_path, "m.sql", b"x" * LARGEST)
    assert isinstance(read_file(tmp_path, "m.sql"), File)
    assert unreadable(tmp_path, b"x" * (LARGEST + 1)).code == "MS119"


def test_only_the_last_suffix_is_no_part_of_a_name() -> None:
    assert File("models/a.b.sql", "", "").stem == "a.b"


SUFFIXES = (".sql", ".yml", ".yaml", ".py", ".csv")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("orders.SQL", "orders.sql"),
        ("orders.Sql", "orders.sql"),
        ("orders.sql.txt", "orders.sql"),
        ("orders.sql.TXT", "orders.sql"),
        ("Orders.SQL.txt", "Orders.sql"),
        ("orders.sql.j2", "orders.sql"),
        ("orders.sql.jinja", "orders.sql"),
        ("orders.sql.jinja2", "orders.sql"),
        ("sources.YML", "sources.yml"),
        ("sources.YAML", "sources.yaml"),
        ("sources.yml.txt", "sources.yml"),
        ("codecs.PY", "codecs.py"),
        ("codecs.py.txt", "codecs.py"),
        ("regions.CSV", "regions.csv"),
        ("regions.csv.txt", "regions.csv"),
    ],
)
def test_a_file_whose_name_ends_almost_right_is_reported(tmp_path: Path, name: str, meant: str) -> None:
    write(tmp_path, f"models/{name}")
    errors: list[Diagnostic] = []
    assert list(find_files(tmp_path, ("models",), SUFFIXES, errors)) == []
    (diagnostic,) = errors
    assert diagnostic.location is not None
    assert (diagnostic.code, diagnostic.location.path, diagnostic.help) == (
        "MS102",
        f"models/{name}",
        f"rename it to '{meant}'",
    )
    (tmp_path / "models" / name).rename(tmp_path / "models" / meant)
    assert list(find_files(tmp_path, ("models",), SUFFIXES, errors)) == [f"models/{meant}"]


@pytest.mark.parametrize(
    "name", ["notes.txt", "README.md", "orders.sql.bak", "orders.sql~", "orders.sql.disabled", "a.j2", ".SQL"]
)
def test_other_files_are_left_alone(tmp_path: Path, name: str) -> None:
    write(tmp_path, f"models/{name}")
    errors: list[Diagnostic] = []
    assert list(find_files(tmp_path, ("models",), SUFFIXES, errors)) == []
    assert errors == []
