"""Connections whose settings contradict each other are reported in profiles.yml, before anything connects."""

import pytest

from millstream.project.profiles import read_target
from millstream.project.values import Settings

SERVERS = "bootstrap_servers: 'a:9092'"
SCRAM = "security_protocol: SASL_SSL, sasl_mechanism: SCRAM-SHA-512"
TOKEN_URL = "admin: {sasl.oauthbearer.token.endpoint.url: 'https://x'}"


def errors(root, target):
    (root / "profiles.yml").write_text(f"shop: {{target: t, outputs: {{t: {{{target}}}}}}}\n")
    diagnostics = read_target(root, Settings("shop", profile="shop"), None, root, {}, strict_env=False)[1]
    return [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]


@pytest.mark.parametrize(
    ("settings", "under", "message", "remedy"),
    [
        (
            "sasl_password: swordfish",
            "swordfish",
            "clients don't log in with security_protocol PLAINTEXT",
            "SASL_SSL",
        ),
        ("sasl_mechanism: PLAIN", "PLAIN", "'sasl_mechanism' has no effect", "remove the option"),
        (
            "security_protocol: SSL, sasl_username: ann",
            "ann",
            "log in with security_protocol SSL",
            "SASL_SSL",
        ),
        ("security_protocol: SASL_SSL", "SASL_SSL", "SASL_SSL needs sasl_mechanism", "SCRAM-SHA-512, PLAIN"),
        (f"{SCRAM}, sasl_username: ann", "SCRAM-SHA-512", "needs sasl_password", "env_var('KAFKA_PASSWORD')"),
        (
            f"{SCRAM}, sasl_password: swordfish",
            "SCRAM-SHA-512",
            "needs sasl_username",
            "env_var('KAFKA_USERNAME')",
        ),
        (
            "security_protocol: SASL_SSL, sasl_mechanism: OAUTHBEARER, sasl_username: a, sasl_password: swordfish",
            "OAUTHBEARER",
            "needs sasl.oauthbearer.token.endpoint.url",
            "write it in producer:",
        ),
        ("security_protocol: SASL_SSL, sasl_mechanism: AWS_MSK_IAM", "AWS_MSK_IAM", "don't support", "SCRAM"),
        ("security_protocol: SSL, ssl_key_location: k.pem", "k.pem", "the key needs its certificate", "both"),
        ("security_protocol: SSL, ssl_certificate_location: c.pem", "c.pem", "needs its key", "both"),
    ],
)
def test_a_contradiction_has_its_place_and_a_remedy(tmp_path, settings, under, message, remedy):
    (diagnostic,) = errors(tmp_path, f"kafka: {{{SERVERS}, {settings}}}")
    assert (diagnostic.code, message in diagnostic.message, remedy in diagnostic.help) == (
        "MS828",
        True,
        True,
    ), diagnostic
    line = (tmp_path / "profiles.yml").read_text()
    assert line[diagnostic.location.column - 1 : diagnostic.location.end - 1] == under


@pytest.mark.parametrize(
    "settings",
    [
        "security_protocol: SASL_PLAINTEXT, sasl_mechanism: PLAIN, sasl_username: a, sasl_password: swordfish",
        f"{SCRAM}, sasl_username: a, sasl_password: \"{{{{ env_var('MS_NONE') }}}}\"",
        f'{SCRAM}, sasl_jaas_config: \'x required username="a" password="b";\'',
        "security_protocol: \"{{ env_var('MS_NONE') }}\", sasl_username: a, sasl_password: swordfish",
        "security_protocol: SASL_SSL, sasl_mechanism: GSSAPI",
        f"security_protocol: SASL_SSL, sasl_mechanism: OAUTHBEARER, sasl_username: a, sasl_password: swordfish, {TOKEN_URL}",
        "security_protocol: SSL, ssl_certificate_location: c.pem, ssl_key_location: k.pem",
    ],
)
def test_what_fits_together_is_not_reported(tmp_path, settings):
    assert errors(tmp_path, f"kafka: {{{SERVERS}, {settings}}}") == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("token: swordfish, username: a, password: tunafish", "'token' and 'username' exclude each other"),
        ("username: a", "a login needs 'password' too"),
        ("password: swordfish", "a login needs 'username' too"),
        ("key: k.pem", "'key' needs 'certificate' too"),
    ],
)
def test_a_registry_is_checked_the_same(tmp_path, settings, message):
    (diagnostic,) = errors(tmp_path, f"schema_registry: {{url: 'http://r', {settings}}}")
    assert (diagnostic.code, diagnostic.message) == ("MS895", f"schema_registry: {message}")


@pytest.mark.parametrize("command", [("compile",), ("package",), ("ls",)])
def test_commands_that_connect_to_nothing_refuse_it(run_in, command):
    result = run_in(f"kafka: {{{SERVERS}, sasl_password: swordfish}}", *command)
    assert (result.exit_code, "error[MS828]" in result.stderr) == (2, True)
    assert "sasl_password" in result.stderr


@pytest.fixture
def run_in(tmp_path):
    from click.testing import CliRunner
    from support.sql_plans import project

    from millstream.cli.group import millstream

    def call(target, *arguments):
        root = project(tmp_path, {"m": "select user_id from {{ source('shop', 'events') }}"})
        (root / "profiles.yml").write_text(f"shop: {{target: t, outputs: {{t: {{{target}}}}}}}\n")
        return CliRunner().invoke(millstream, [*arguments, "--project-dir", str(root)])

    return call
