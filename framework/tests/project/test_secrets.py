"""Secrets show nowhere."""

import copy
import json
import logging
import pickle

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2.sandbox import SandboxedEnvironment

from millstream.project.secrets import Secret, is_secret_name, is_secret_setting, mask_secrets, secrets_in

SECRET = Secret("swordfish")


@pytest.mark.parametrize(
    "shown",
    [
        str(SECRET), repr(SECRET), f"{SECRET}", f"{SECRET!r:>20}", "%s".__mod__(SECRET),
        f"{SECRET} {SECRET!r}", str([SECRET]), str({"a": (SECRET,)}), ascii(SECRET),
    ],
)  # fmt: skip
def test_it_shows_as_stars(shown: str) -> None:
    assert "swordfish" not in shown
    assert "****" in shown


@pytest.mark.parametrize(
    "write",
    [json.dumps, pickle.dumps, msgspec.json.encode, msgspec.msgpack.encode, msgspec.to_builtins, vars],
)
def test_it_can_not_be_written(write) -> None:
    with pytest.raises((TypeError, NotImplementedError)):
        write(SECRET)


def test_it_can_not_be_joined_to_a_text() -> None:
    with pytest.raises(TypeError):
        ", ".join(["a", *[SECRET]])
    with pytest.raises(TypeError):
        "a" + SECRET


def test_a_log_does_not_show_it(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("x").warning("connecting with %s", SECRET)
    assert caplog.messages == ["connecting with ****"]


def test_a_template_can_not_reveal_it() -> None:
    with pytest.raises(Exception, match="not safely callable"):
        SandboxedEnvironment().from_string("{{ s.reveal() }}").render(s=SECRET)
    assert SandboxedEnvironment().from_string("{{ s }}{{ s._text }}").render(s=SECRET) == "****"


def test_it_is_equal_to_the_same_secret_only() -> None:
    assert Secret("swordfish") == SECRET
    assert Secret("other") != SECRET
    assert SECRET != "swordfish"
    assert len({SECRET, Secret("swordfish")}) == 1
    assert Secret("\udcff") == Secret("\udcff")


def test_a_copy_is_the_secret_itself() -> None:
    assert copy.deepcopy({"a": [SECRET]})["a"][0] is SECRET


@given(st.text(min_size=1), st.text("ab"), st.text("ab"))
def test_mask_leaves_no_secret(text: str, before: str, after: str) -> None:
    hidden = mask_secrets(before + json.dumps(text) + text + after, [Secret(text)])
    assert all(text not in part for part in hidden.split("****"))


def test_mask_takes_the_longest_first() -> None:
    assert mask_secrets("abcd ab", [Secret("ab"), Secret("abcd"), Secret("")]) == "**** ****"


def test_mask_finds_escaped_forms() -> None:
    assert mask_secrets(r'{"a": "x\ny"} p%40ss', [Secret("x\ny"), Secret("p@ss")]) == '{"a": "****"} ****'


def test_secrets_are_found_in_settings() -> None:
    assert secrets_in({"a": [SECRET, "b"], "c": {"d": SECRET}}) == [SECRET, SECRET]


@pytest.mark.parametrize(
    "name", ["DB_PASSWORD", "my_secret", "GH_TOKEN", "AWS_CREDENTIALS", "X_PRIVATE_KEY", "API_KEY"]
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    ("name", "text", "secret"),
    [
        ("sasl_password", "x", True),
        ("sasl.jaas.config", "x", True),
        ("spark.hadoop.fs.s3a.secret.key", "x", True),
        ("url", "postgresql://ann:x@db/shop", True),
        ("url", "postgresql://db:5432/shop", False),
        ("sasl.oauthbearer.token.endpoint.url", "https://x", False),
        ("ssl_keystore_location", "/x", False),
        ("sasl_username", "ann", False),
        ("sasl_password", "", False),
    ],
)
def test_settings_that_hold_secrets(name: str, text: str, secret: bool) -> None:
    assert is_secret_setting(name, text) is secret


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://bob:hunter2@db/x",
        "jdbc:postgresql://db/x?user=bob&password=hunter2",
        "jdbc:sqlserver://db;PWD=hunter2",
        "-Xmx1g -Djavax.net.ssl.trustStorePassword=hunter2",
    ],
)
def test_a_password_inside_a_setting_is_one(text):
    assert is_secret_setting("url", text)


@pytest.mark.parametrize(
    "text", ["jdbc:postgresql://db/x?user=bob", "-Xmx1g -Dfile.encoding=UTF-8", "http://a:8081/b"]
)
def test_a_setting_without_a_password_is_none(text):
    assert not is_secret_setting("url", text)
