"""profiles.yml and its targets."""

from pathlib import Path
from typing import Any

import pytest

from millstream.core.errors import Diagnostic
from millstream.project.profiles import DEFAULT, read_target
from millstream.project.secrets import Secret
from millstream.project.values import Settings, Target

SHOP = Settings("shop", profile="shop")
LOGIN = "security_protocol: SASL_SSL, sasl_mechanism: PLAIN, sasl_username: ann"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MILLSTREAM_PROFILES_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def read(
    root: Path, content: str, target: str | None = None, **variables: Any
) -> tuple[Target, list[Diagnostic]]:
    (root / "profiles.yml").write_text(content)
    return read_target(root, SHOP, target, None, variables)


def settings(root: Path, body: str) -> tuple[dict[str, Any], list[Diagnostic]]:
    target, errors = read(root, f"shop: {{target: local, outputs: {{local: {{{body}}}}}}}\n")
    return target.settings, errors


def codes_and_carets(errors: list[Diagnostic]) -> list[tuple[str, str]]:
    return [
        (p.code, p.line[p.location.column - 1 : p.location.end - 1] if p.location else "") for p in errors
    ]


def test_without_a_file_all_is_local(tmp_path: Path) -> None:
    assert read_target(tmp_path, SHOP, None, None, {}) == (Target("shop", "local", DEFAULT), [])
    _, errors = read_target(tmp_path, SHOP, "production", None, {})
    assert codes_and_carets(errors) == [("MS112", "")]


def test_a_whole_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", "swordfish")
    content = """\
shop:
  target: local
  outputs:
    local: {}
    live:
      master: spark://{{ var('host') }}:7077
      kafka:
        bootstrap_servers: a:9092,b:9092
        security_protocol: SASL_SSL
        sasl_mechanism: PLAIN
        sasl_username: ann
        sasl_password: "{{ env_var('KAFKA_PASSWORD') }}"
        producer: {linger.ms: 100}
      tables: {store: postgres, url: "postgresql://db/shop"}
      trigger: 5 seconds
      optimization: [push_filters]
      grouping: off
      timezone: Europe/Berlin
      jars: provided
"""
    target, errors = read(tmp_path, content, "live", host="h")
    assert errors == []
    assert (target.name, str(target.location)) == ("live", "profiles.yml:6:7")
    assert target.settings == {
        "master": "spark://h:7077",
        "kafka": {
            "bootstrap_servers": "a:9092,b:9092",
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "PLAIN",
            "sasl_username": "ann",
            "sasl_password": Secret("swordfish"),
            "producer": {"linger.ms": 100},
        },
        "tables": {"store": "postgres", "url": "postgresql://db/shop"},
        "trigger": "5 seconds",
        "optimization": ["push_filters"],
        "grouping": "off",
        "timezone": "Europe/Berlin",
        "jars": "provided",
    }
    assert "swordfish" not in repr(target)


def test_only_the_chosen_target_is_rendered(tmp_path: Path) -> None:
    content = "shop: {target: local, outputs: {local: {}, live: {master: \"{{ env_var('MS_NONE') }}\"}}}"
    assert read(tmp_path, content)[1] == []
    assert codes_and_carets(read(tmp_path, content, "live")[1]) == [("MS114", "\"{{ env_var('MS_NONE') }}\"")]


def test_without_strict_env_what_is_not_set_is_left_out(tmp_path: Path) -> None:
    unset = "\"{{ env_var('MS_NONE') }}\""
    content = f"""\
shop:
  outputs:
    local:
      master: {unset}
      kafka: {{bootstrap_servers: {unset}, security_protocol: {unset}, sasl_username: ann, consumer: {{fetch.min.bytes: {unset}}}}}
      schema_registry: {{url: {unset}, register: {unset}}}
      tables: {{store: postgres, url: "jdbc:postgresql://{{{{ env_var('MS_NONE') | lower }}}}/shop"}}
      notifications: [{{webhook: {unset}}}]
      timezone: {unset}
      trigger: {unset}
      environment: {unset}
      spark: {{spark.sql.session.timeZone: {unset}, spark.x: {{y: {unset}, z: 1}}}}
"""
    (tmp_path / "profiles.yml").write_text(content)
    target, errors = read_target(tmp_path, SHOP, None, None, {}, strict_env=False)
    assert errors == []
    assert target.environment is None
    assert target.settings == {
        "kafka": {"sasl_username": "ann", "consumer": {}},
        "schema_registry": {},
        "tables": {"store": "postgres"},
        "notifications": [{"command": [], "on": []}],
        "spark": {"spark.x": {"z": 1}},
    }
    strict = read_target(tmp_path, SHOP, None, None, {})[1]
    assert [diagnostic.code for diagnostic in strict].count("MS114") == content.count("MS_NONE")


def test_without_strict_env_mistakes_are_reported_all_the_same(tmp_path: Path) -> None:
    content = "shop: {outputs: {local: {master: here, timezone: \"{{ env_var('MS_NONE') }}\", traiger: x}}}"
    (tmp_path / "profiles.yml").write_text(content)
    errors = read_target(tmp_path, SHOP, None, None, {}, strict_env=False)[1]
    assert codes_and_carets(errors) == [("MS106", "traiger"), ("MS107", "here")]


def test_the_target_may_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = "shop: {target: \"{{ env_var('MS_TARGET') }}\", outputs: {live: {}}}"
    assert codes_and_carets(read(tmp_path, content)[1]) == [("MS114", "\"{{ env_var('MS_TARGET') }}\"")]
    monkeypatch.setenv("MS_TARGET", "live")
    assert read(tmp_path, content)[0].name == "live"


@pytest.mark.parametrize(
    ("content", "target", "code", "under", "remedy"),
    [
        ("shp: {}", None, "MS112", "shp: {}", "did you mean 'shp'?"),
        ("", None, "MS112", "", "add `shop:` with `target:` and `outputs:`"),
        ("shop: 3", None, "MS107", "3", "write target: and outputs:"),
        ("shop: {target: local}", None, "MS108", "shop", 'add outputs: {local: {master: "local[*]"}}'),
        (
            "shop: {outputs: [local]}",
            None,
            "MS107",
            "[local]",
            'write outputs: {local: {master: "local[*]"}}',
        ),
        ("shop: {target: locl, outputs: {local: {}}}", None, "MS112", "locl", "did you mean 'local'?"),
        ("shop: {outputs: {local: {}}}", "locl", "MS112", "outputs", "did you mean 'local'?"),
        ("shop: {outputs: {a: {}, b: {}}}", "x", "MS112", "outputs", "targets: a, b"),
        ("shop: {outputs: {local: {}}, taget: a}", None, "MS106", "taget", "did you mean 'target'?"),
        ("shop: {outputs: {local: }}", None, "MS107", "}", "write master: …, kafka: …"),
        ("shop: [a", None, "MS105", None, None),
    ],
)
def test_a_choice_that_can_not_be_made(
    tmp_path: Path, content: str, target: str | None, code: str, under: str | None, remedy: str | None
) -> None:
    _, errors = read(tmp_path, content, target)
    assert [p.code for p in errors] == [code]
    assert under is None or codes_and_carets(errors)[0][1] == under
    assert remedy is None or errors[0].help == remedy


@pytest.mark.parametrize(
    ("body", "code", "under", "remedy"),
    [
        ("mastr: x", "MS106", "mastr", "did you mean 'master'?"),
        ("kafka: embeded", "MS107", "embeded", "did you mean 'embedded'?"),
        ("kafka: {servers: x}", "MS106", "servers", "write bootstrap_servers: …"),
        (
            "kafka: {bootstrap_servers: 'x:9092', security_protocol: SASL_TLS}",
            "MS107",
            "SASL_TLS",
            "did you mean 'SASL_SSL'?",
        ),
        ("kafka: {bootstrap_servers: nohost}", "MS107", "nohost", "write kafka.example:9092"),
        ("kafka: {bootstrap_servers: 'a:9092,b'}", "MS107", "'a:9092,b'", "write kafka.example:9092"),
        ("kafka: {bootstrap_servers: 'a:0'}", "MS107", "'a:0'", None),
        ("kafka: {bootstrap_servers: 'a:65536'}", "MS107", "'a:65536'", None),
        ("kafka: {bootstrap_servers: ':9092'}", "MS107", "':9092'", None),
        ("kafka: {bootstrap_servers: 'a b:9092'}", "MS107", "'a b:9092'", None),
        ("kafka: {bootstrap_servers: 'a:9092,'}", "MS107", "'a:9092,'", None),
        ("trigger: 5s", "MS107", "5s", "write it as in trigger: 5 seconds"),
        ("trigger: realtme", "MS107", "realtme", "did you mean 'realtime'?"),
        ("optimization: al", "MS107", "al", "write it as in optimization: all"),
        ("timezone: Europe/Berln", "MS107", "Europe/Berln", "did you mean 'Europe/Berlin'?"),
        (
            "master: 'local[-1]'",
            "MS107",
            "'local[-1]'",
            "use local[*], local[4], spark://host:7077, yarn or k8s://…",
        ),
        ("master: 'local[0]'", "MS107", "'local[0]'", None),
        ("master: 'local[*'", "MS107", "'local[*'", None),
        ("master: ''", "MS107", "''", None),
        ("master: 5", "MS107", "5", None),
        ("timezone: Europe", "MS107", "Europe", None),
        ("tables: {store: postgres}", "MS108", "postgres", "add url: postgresql://host:5432/name"),
        ("tables: {schema: x}", "MS106", "schema", "write database_schema: …"),
        ("jars: none", "MS107", "none", "use one of fetched, provided"),
    ],
)
def test_a_setting_that_is_wrong(
    tmp_path: Path, body: str, code: str, under: str, remedy: str | None
) -> None:
    _, errors = settings(tmp_path, body)
    assert (code, under) in codes_and_carets(errors)
    assert remedy is None or remedy in [p.help for p in errors]


@pytest.mark.parametrize(
    ("body", "text", "key", "value"),
    [
        ("kafka: \"{{ env_var('MS_X') }}\"", "embedded", "kafka", "embedded"),
        ("grouping: \"{{ env_var('MS_X') }}\"", "off", "grouping", "off"),
        ("timezone: \"{{ env_var('MS_X') }}\"", "UTC", "timezone", "UTC"),
        ("master: \"{{ env_var('MS_X') }}\"", "local[2]", "master", "local[2]"),
    ],
)
def test_settings_may_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, text: str, key: str, value: object
) -> None:
    monkeypatch.setenv("MS_X", text)
    options, errors = settings(tmp_path, body)
    assert errors == []
    assert options[key] == value


@pytest.mark.parametrize(
    "body",
    [
        f"kafka: {{bootstrap_servers: 'x:9092', {LOGIN}, sasl_password: swordfish}}",
        "kafka: {bootstrap_servers: 'x:9092', ssl_key_password: swordfish}",
        "spark: {spark.hadoop.fs.s3a.secret.key: swordfish}",
        "tables: {store: postgres, url: 'postgresql://ann:swordfish@db/shop'}",
    ],
)
def test_a_secret_that_is_written_out_is_a_warning_and_masked(tmp_path: Path, body: str) -> None:
    options, errors = settings(tmp_path, body)
    assert [(p.code, p.severity) for p in errors] == [("MS113", "warning")]
    assert "swordfish" not in repr(errors)
    assert "swordfish" not in repr(options)


@pytest.mark.parametrize(
    "servers", ["a:9092", "a:9092, b.example:1", "[::1]:9092", "127.0.0.1:65535", "SASL_SSL://a:9092"]
)
def test_addresses_that_are_good(tmp_path: Path, servers: str) -> None:
    assert settings(tmp_path, f"kafka: {{bootstrap_servers: '{servers}'}}")[1] == []


def test_an_address_from_the_environment_is_checked_but_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKERS", "swordfish")
    _, (diagnostic,) = settings(tmp_path, "kafka: {bootstrap_servers: \"{{ env_var('BROKERS') }}\"}")
    assert diagnostic.message == "an address in 'bootstrap_servers' is not host:port"
    assert "swordfish" not in diagnostic.line


def test_variables_that_the_project_declares_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BROKERS", "PORT", "TOKEN"):
        monkeypatch.setenv(name, "9092")
    (tmp_path / "profiles.yml").write_text(
        "shop: {target: local, outputs: {local: {kafka: {\n"
        "  bootstrap_servers: \"a:{{ env_var('BROKERS') }}\",\n"
        "  sasl_username: \"{{ env_var('BROKERS') }}{{ env_var('PORT') }}\",\n"
        "  sasl_password: \"{{ env_var('TOKEN') }}\"}}}}\n"
    )
    declared = Settings("shop", profile="shop", env_vars=("BROKERS", "TOKEN"))
    target, _ = read_target(tmp_path, declared, None, None, {})
    kafka = target.settings["kafka"]
    assert kafka["bootstrap_servers"] == "a:9092"
    assert isinstance(kafka["sasl_username"], Secret), "PORT is not declared"
    assert isinstance(kafka["sasl_password"], Secret), "the name of a secret"


def test_a_mistake_beside_a_secret_does_not_show_it(tmp_path: Path) -> None:
    _, errors = settings(
        tmp_path, "mastr: x, kafka: {bootstrap_servers: 'x:9092', sasl_password: [swordfish]}"
    )
    _, more = settings(tmp_path, "kafka: {bootstrap_servers: 'x:9092', sasl_password: swordfish}, mastr: x")
    assert codes_and_carets(more)[-1] == ("MS106", "mastr")
    assert "swordfish" not in repr(more)
    assert len(errors) == 2


def test_where_the_file_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "project"
    for folder in ("project", "named", "environment", "home/.millstream"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "profiles.yml").write_text(f"shop: {{outputs: {{local: {{master: {folder}}}}}}}")

    def master(named: Path | None = None) -> Any:
        return read_target(root, SHOP, None, named, {})[0].settings["master"]

    monkeypatch.setenv("MILLSTREAM_PROFILES_DIR", str(tmp_path / "environment"))
    assert master(tmp_path / "named") == "named"
    assert master() == "environment"
    monkeypatch.delenv("MILLSTREAM_PROFILES_DIR")
    assert master() == "project"
    (root / "profiles.yml").unlink()
    assert master() == "home/.millstream"


def test_a_folder_that_was_named_must_have_one(tmp_path: Path) -> None:
    _, errors = read_target(tmp_path, SHOP, None, tmp_path / "none", {})
    assert [(p.code, p.help) for p in errors] == [("MS112", "fix --profiles-dir, or omit it")]


def test_the_place_of_a_file_elsewhere_is_its_whole_path(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/profiles.yml").write_text("shop: 3")
    inside, _ = read_target(tmp_path, SHOP, None, tmp_path / "a", {})[1], None
    outside = read_target(tmp_path / "project", SHOP, None, tmp_path / "a", {})[1]
    assert str(inside[0].location) == "a/profiles.yml:1:7"
    assert str(outside[0].location) == f"{tmp_path}/a/profiles.yml:1:7"
