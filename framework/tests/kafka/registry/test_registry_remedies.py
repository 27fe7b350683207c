"""What errors of a registry say to do, done: then the same command succeeds."""

from contextlib import closing

import pytest
from support.registry import gateway, needs_java
from support.runs import job_of

from millstream.core.errors import MillstreamError
from millstream.kafka.registry.client import Registry
from millstream.kafka.registry.registering import ids_of, written_schemas
from millstream.kafka.registry.settings import address_of
from millstream.project.pins import read_pins

pytestmark = needs_java

ORDER = '{"type": "object", "properties": {"id": {"type": "integer"}}, "additionalProperties": false}'
TARGET = "shop: {{target: local, outputs: {{local: {}}}}}\n"
MODEL = "{{{{ config(materialized='sink', topic='{0}-out', format='avro', framing='confluent') }}}}\nselect {1} from {{{{ source('shop', '{0}') }}}}\n"


def failed(result):
    """Return the only error, and what its caret is under."""
    (diagnostic,) = result.json["diagnostics"]
    assert result.code == 2
    return diagnostic["code"], diagnostic["help"], diagnostic["path"]


def pull(run):
    return run("schemas", "pull", "--output", "json")


def test_no_answer(run, shop, register, server, name):
    root = shop(f"name: {name}, schema: registry")
    register(f"{name}-value", ORDER)
    (root / "profiles.yml").write_text(TARGET.format("{schema_registry: {url: 'http://127.0.0.1:9'}}"))
    failure = failed(pull(run))
    assert failure == (
        "MS891",
        "check the url of schema_registry in profiles.yml, and the network",
        "profiles.yml",
    )
    (root / "profiles.yml").write_text(TARGET.format(f"{{schema_registry: {{url: '{server.url}'}}}}"))
    assert pull(run).code == 0


def test_what_answers_is_something_else(run, shop, register, server, name):
    root = shop(f"name: {name}, schema: registry")
    register(f"{name}-value", ORDER)
    other = server.url.replace("/apis/ccompat/v7", "/apis/none")
    (root / "profiles.yml").write_text(TARGET.format(f"{{schema_registry: {{url: '{other}'}}}}"))
    failure = failed(pull(run))
    assert failure == ("MS891", "check the url of schema_registry in profiles.yml", "profiles.yml")
    (root / "profiles.yml").write_text(TARGET.format(f"{{schema_registry: {{url: '{server.url}'}}}}"))
    assert pull(run).code == 0


GOLDEN = {
    "login": """\
error[MS892]: the schema registry refuses the login: HTTP 401 from URL
 --> profiles.yml:1:40
  = help: check username and password, or token, of schema_registry
""",
    (422, b'{"error_code": 42201, "message": "Invalid\\nschema"}'): """\
error[MS894]: the schema registry finds subject 'NAME-value' invalid: Invalid schema
 --> models/s.yml:4:35
  |
4 |       - {name: NAME, schema: registry}
  |                                   ^^^^^^^^
  = help: fix the schema in the registry
""",
    (500, b'{"error_code": 50001, "message": "Error in the backend data store"}'): """\
error[MS896]: the schema registry failed to return subject 'NAME-value': HTTP 500, Error in the backend data store
 --> profiles.yml:1:40
  = help: see the log of the registry
""",
}


@pytest.mark.parametrize("fault", GOLDEN, ids=["MS892", "MS894", "MS896"])
def test_what_is_shown_of_a_registry_that_fails(run, shop, register, server, name, fault):
    root = shop(f"name: {name}, schema: registry")
    register(f"{name}-value", ORDER)
    right, wrong = "username: me, password: hunter2", "username: me, password: hunter3"
    options = {"login": "me:hunter2"} if fault == "login" else {"answer": fault}

    def profile(url, login):
        (root / "profiles.yml").write_text(TARGET.format(f"{{schema_registry: {{url: '{url}', {login}}}}}"))

    with gateway(server.url, **options) as url:
        profile(url, wrong)
        result = run("schemas", "pull")
        assert result.code == 2
        shown = result.err.replace(url, "URL").replace(name, "NAME")
        assert shown == GOLDEN[fault]
        assert "hunter" not in result.out + result.err
        if fault == "login":
            profile(url, right)
            assert pull(run).code == 0
    if fault != "login":  # once the registry has been fixed
        profile(server.url, right)
        assert pull(run).code == 0


@pytest.mark.parametrize("body", [b'{"hello": 1}', b'{"schema": null}', b'{"schema": 5}', b"[" * 100_000])
def test_only_a_schema_is_shown(run, shop, server, body):
    root = shop("name: any, columns: [{name: id, type: int}]")
    with gateway(server.url, answer=(200, body)) as url:
        (root / "profiles.yml").write_text(TARGET.format(f"{{schema_registry: {{url: '{url}'}}}}"))
        assert failed(run("schemas", "show", "1", "--output", "json"))[0] == "MS891"


def test_an_id_that_the_registry_does_not_have(run, shop, server):
    shop("name: any, columns: [{name: id, type: int}]")
    failure = failed(run("schemas", "show", "99999", "--output", "json"))
    assert failure == ("MS893", "choose the target whose registry has the id: --target …", "profiles.yml")


def test_a_target_without_a_registry(run, shop, register, server, name):
    root = shop(f"name: {name}, schema: registry")
    register(f"{name}-value", ORDER)
    kafka = "kafka: {bootstrap_servers: 'localhost:9'}"
    (root / "profiles.yml").write_text(TARGET.format(f"{{{kafka}}}"))
    failure = failed(pull(run))
    remedy = "add schema_registry: {url: https://…} to it in profiles.yml"
    assert failure == ("MS895", remedy, "profiles.yml")
    registry = f"schema_registry: {{url: '{server.url}'}}"
    (root / "profiles.yml").write_text(TARGET.format(f"{{{kafka}, {registry}}}"))
    assert pull(run).code == 0


@pytest.mark.parametrize("fix", ["register", "name another"])
def test_a_subject_that_is_not_there(run, shop, register, name, fix):
    root = shop(f"name: {name}, schema: registry")
    failure = failed(pull(run))
    assert failure == ("MS893", "register it, or name another `subject`", "models/s.yml")
    if fix == "register":
        register(f"{name}-value", ORDER)
    else:
        register(f"{name}-other", ORDER)
        source = root / "models/s.yml"
        source.write_text(
            source.read_text().replace("schema: registry", f"schema: {{subject: {name}-other}}")
        )
    assert pull(run).code == 0


@pytest.mark.parametrize("fix", ["another topic", "compatible", "level"])
def test_a_schema_that_is_refused(shop, server, name, fix):
    root = shop(f"name: {name}, columns: [{{name: a, type: int}}]")
    model = root / "models/m.sql"
    model.write_text(MODEL.format(name, "a"))
    assert len(registered(root)) == 1
    model.write_text(MODEL.format(name, "cast(a as string) as a"))
    with pytest.raises(MillstreamError) as raised:
        registered(root)
    (diagnostic,) = raised.value.diagnostics
    assert (diagnostic.code, diagnostic.location.path) == ("MS897", "models/m.sql")
    assert diagnostic.help == (
        "keep the schema compatible, write to another topic, or change the level of the subject"
    )
    if fix == "compatible":
        model.write_text(MODEL.format(name, "a, cast(a as string) as b"))
    elif fix == "another topic":
        model.write_text(model.read_text().replace("-out'", "-new'"))
    else:
        server.client.set_compatibility(f"{name}-out-value", level="NONE")
    assert len(registered(root)) == 1


def test_a_schema_that_must_be_there(shop, server, name):
    root = shop(f"name: {name}, columns: [{{name: a, type: int}}]")
    (root / "models/m.sql").write_text(MODEL.format(name, "a"))
    with pytest.raises(MillstreamError) as raised:
        registered(root, register=False)
    (diagnostic,) = raised.value.diagnostics
    assert (diagnostic.code, diagnostic.location.path) == ("MS893", "models/m.sql")
    assert registered(root) == registered(root, register=False)


def registered(root, *, register=True):
    """Return the ids of what sinks write, as a build asks for them before it starts Spark."""
    job = job_of(root)
    pins, _ = read_pins(job.project.schemas.items(), job.project.settings)
    written = written_schemas(job.catalog.models.values(), job.project, pins)
    with closing(Registry(address_of(job.project.target, str(root)))) as registry:
        return ids_of(written, registry, register=register)
