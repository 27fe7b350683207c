"""A project with a target in production, and a broken neighbour."""

import pytest
from click.testing import CliRunner

from millstream.cli.group import millstream

PROFILES = """\
shop:
  target: local
  outputs:
    local: {master: "local[*]", kafka: embedded}
    production:
      master: "local[4]"
      kafka:
        bootstrap_servers: "{{ env_var('BOOTSTRAP') }}"
        security_protocol: SASL_SSL
        sasl_mechanism: SCRAM-SHA-512
        sasl_username: "{{ env_var('KAFKA_USERNAME', 'shop') }}"
        sasl_password: "{{ env_var('KAFKA_PASSWORD') }}"
        ssl_ca_location: certificates/ca.pem
      tables: {store: delta, path: "s3a://shop/tables"}
      checkpoints: "s3a://shop/checkpoints"
      spark: {spark.driver.memory: 4g}
"""
FILES = {
    "pyproject.toml": '[tool.millstream]\nname = "shop"\nenv-vars = ["REGION"]\n',
    "profiles.yml": PROFILES,
    "models/sources.yml": (
        "sources:\n  - name: web\n    topics:\n      - name: clicks\n"
        "        columns: [{name: user_id, type: string}]\n"
    ),
    "models/seen.sql": (
        "{{ config(materialized='sink') }} select user_id, shout(user_id) as loud "
        "from {{ source('web', 'clicks') }}\n"
    ),
    "macros/shout.py": "import words\n\n\ndef shout(text: str) -> str:\n    return words.loud(text)\n",
    "words.py": "def loud(text: str) -> str:\n    return text.upper()\n",
    "certificates/ca.pem": "-----BEGIN CERTIFICATE-----\n",
    "certificates/.key.pem": "secret",
    ".env": "KAFKA_PASSWORD=swordfish\n",
    "macros/.hidden.sql": "secret",
    "target/run_results.json": "{}",
    "notes.txt": "not packaged",
}


@pytest.fixture
def shop(tmp_path, monkeypatch):
    root = tmp_path / "shop"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    monkeypatch.chdir(root)
    for name in ("BOOTSTRAP", "KAFKA_PASSWORD"):
        monkeypatch.setenv(name, "kafka:9093" if name == "BOOTSTRAP" else "swordfish")
    return root


@pytest.fixture
def run():
    def invoke(*arguments):
        return CliRunner().invoke(millstream, ["package", "--target", "production", *arguments])

    return invoke
