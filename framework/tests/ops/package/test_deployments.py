"""Files of deployments, judged by Kubernetes' own schemas, hadolint, systemd and Helm."""

import copy
import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
import yaml
from jsonschema import Draft7Validator

from millstream.ops.package.deployments import deployment_files
from millstream.ops.package.facts import EnvironmentVariable, PackageFacts

FACTS = PackageFacts(
    "My_Shop", "production", "3.11", (EnvironmentVariable("BOOTSTRAP", optional=False), EnvironmentVariable("REGION", optional=True)),
    cores=4, memory=3584, heap=2048, cluster=True, pods=True,
)  # fmt: skip
FILES = deployment_files(FACTS, "0123456789ab")
MANIFESTS = {
    path.rpartition("/")[2]: yaml.safe_load(text)
    for path, text in FILES.items()
    if path.startswith("kubernetes/")
}


@pytest.fixture
def folder(tmp_path):
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"{done.stdout}{done.stderr}".strip() if done.returncode else ""


def test_no_placeholder_is_left():
    assert {
        path: re.findall(r"@\w+@", text) for path, text in FILES.items() if re.search(r"@\w+@", text)
    } == {}


@pytest.mark.parametrize("name", sorted(MANIFESTS.keys() - {"servicemonitor.yaml"}))
def test_manifests_are_valid(name):
    import kubernetes_validate

    newest = kubernetes_validate.latest_version()
    kubernetes_validate.validate(MANIFESTS[name], newest, strict=True)


def closed(schema):
    """Return a schema that takes no other keys; Kubernetes would drop them without a word."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    more = {"additionalProperties": False} if isinstance(schema.get("properties"), dict) else {}
    return more | {key: closed(value) for key, value in schema.items()}


MONITOR = Draft7Validator(
    closed(yaml.safe_load((Path(__file__).with_name("schemas") / "servicemonitor.yaml").read_text()))
)


def test_the_monitor_is_valid():
    assert list(MONITOR.iter_errors(MANIFESTS["servicemonitor.yaml"])) == []


@pytest.mark.parametrize(
    ("key", "value"), [("interval", "15 seconds"), ("scrapeInterval", "15s"), ("port", 9464)]
)
def test_a_wrong_monitor_is_found(key, value):
    wrong = copy.deepcopy(MANIFESTS["servicemonitor.yaml"])
    wrong["spec"]["endpoints"][0][key] = value
    assert [list(error.path)[:3] for error in MONITOR.iter_errors(wrong)] == [["spec", "endpoints", 0]]


def test_only_a_run_with_executors_as_pods_may_create_pods():
    files = deployment_files(msgspec.structs.replace(FACTS, pods=False), "1")
    assert {"kubernetes/role.yaml", "kubernetes/rolebinding.yaml"}.isdisjoint(files)
    pod = yaml.safe_load(files["kubernetes/deployment.yaml"])["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert MANIFESTS["deployment.yaml"]["spec"]["template"]["spec"]["automountServiceAccountToken"] is True
    (subject,) = MANIFESTS["rolebinding.yaml"]["subjects"]
    assert subject == {"kind": "ServiceAccount", "name": MANIFESTS["serviceaccount.yaml"]["metadata"]["name"]}


def test_variables_of_the_pod_come_from_kubernetes():
    files = deployment_files(
        msgspec.structs.replace(FACTS, variables=(EnvironmentVariable("POD_IP", optional=False),)), "1"
    )
    (container,) = yaml.safe_load(files["kubernetes/deployment.yaml"])["spec"]["template"]["spec"][
        "containers"
    ]
    assert container["env"] == [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]


def test_the_monitor_finds_the_port_of_the_run():
    monitor, service = MANIFESTS["servicemonitor.yaml"], MANIFESTS["service.yaml"]
    deployment = MANIFESTS["deployment.yaml"]["spec"]["template"]
    (container,) = deployment["spec"]["containers"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert service["spec"]["selector"].items() <= deployment["metadata"]["labels"].items()
    (endpoint,), (port,) = monitor["spec"]["endpoints"], service["spec"]["ports"]
    assert (endpoint["port"], endpoint["path"]) == (port["name"], "/metrics")
    assert (port["targetPort"], 9464) in {
        (port["name"], port["containerPort"]) for port in container["ports"]
    }
    probes = {
        name: container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness", "readiness")
    }
    assert probes == {"startup": "/healthz", "liveness": "/healthz", "readiness": "/readyz"}


def test_secrets_are_references():
    (container,) = MANIFESTS["deployment.yaml"]["spec"]["template"]["spec"]["containers"]
    assert container["env"] == [
        {"name": name, "valueFrom": {"secretKeyRef": {"name": "my-shop", "key": name, "optional": optional}}}
        for name, optional in (("BOOTSTRAP", False), ("REGION", True))
    ]


def test_pods_have_no_privileges():
    pod = MANIFESTS["deployment.yaml"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["limits"] == {"memory": "3584Mi"}


def test_values_of_the_chart_give_the_manifests():
    """Without Helm: each reference has a value, and then the chart says what the manifests say."""
    values = yaml.safe_load(FILES["chart/values.yaml"])
    for path, text in FILES.items():
        if not path.startswith("chart/templates/"):
            continue
        plain = re.sub(r"\{\{- with .*?\{\{- end \}\}\n?", "", text, flags=re.DOTALL)
        plain = re.sub(r"^\{\{- (if .*|end) \}\}$", "", plain, flags=re.MULTILINE)
        plain = plain.replace("{{ .Release.Name }}", "my-shop")
        plain = re.sub(r"\{\{ \.Values\.(\w+) \}\}", lambda match: str(values[match[1]]), plain)
        assert yaml.safe_load(plain) == MANIFESTS[path.rpartition("/")[2]]


@pytest.mark.skipif(shutil.which("helm") is None, reason="Helm is not installed")
def test_helm_renders_the_manifests(folder):
    assert output("helm", "lint", "--strict", folder / "chart") == ""
    command = ["helm", "template", "my-shop", folder / "chart"]
    rendered = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    by_kind = {manifest["kind"]: manifest for manifest in yaml.safe_load_all(rendered)}
    assert by_kind == {manifest["kind"]: manifest for manifest in MANIFESTS.values()}
    fewer = [
        *command,
        "--set",
        "serviceMonitor=false",
        "--set",
        "podDisruptionBudget=false",
        "--set",
        "image=x:1",
    ]
    rendered = subprocess.run(fewer, capture_output=True, text=True, check=True).stdout
    kinds = {manifest["kind"] for manifest in yaml.safe_load_all(rendered)}
    assert kinds == {"Deployment", "Service", "ServiceAccount", "Role", "RoleBinding"}
    placed = [*command, "--set", "nodeSelector.disk=ssd", "--set", "imagePullSecrets[0].name=key"]
    rendered = subprocess.run(placed, capture_output=True, text=True, check=True).stdout
    (pod,) = (manifest for manifest in yaml.safe_load_all(rendered) if manifest["kind"] == "Deployment")
    pod = pod["spec"]["template"]["spec"]
    assert (pod["nodeSelector"], pod["imagePullSecrets"]) == ({"disk": "ssd"}, [{"name": "key"}])


def test_the_dockerfile_has_no_findings_of_hadolint(folder):
    assert output("hadolint", folder / "Dockerfile") == ""


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_scripts_have_no_findings_of_shellcheck(folder):
    assert output("shellcheck", *(folder / name for name in ("install", "start", "submit"))) == ""


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_the_service_is_one_of_systemd(folder):
    unit = folder / "systemd/my-shop.service"
    text = unit.read_text()
    # The program is only where the package gets installed.
    unit.write_text(text.replace("/opt/my-shop/start", "/bin/true"))
    assert output("systemd-analyze", "verify", unit) == ""


def test_the_image_runs_without_privileges():
    lines = FILES["Dockerfile"].splitlines()
    assert "USER 10001:10001" in lines
    assert sum(line.startswith("FROM ") for line in lines) == 3
    assert "127.0.0.1:9464/healthz" in FILES["Dockerfile"]
