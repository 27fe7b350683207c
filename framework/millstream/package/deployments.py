"""Writes the files of deployments: an image, a systemd service, Kubernetes manifests and a Helm chart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml
from msgspec import Struct

from millstream.package.facts import PORT, Facts

TEMPLATES = Path(__file__).with_name("templates")
_PLACEHOLDER = re.compile(r"@(\w+)@")


class Setting(Struct, frozen=True):
    """What differs between the manifests and the chart: a value in one, a reference to it in the other."""

    name: str
    """As the templates write it: @name@."""
    path: str
    """Its key in the chart's values.yaml; empty: not a key, but what Helm itself knows."""
    value: str
    about: str = ""
    reference: str = ""

    @property
    def in_chart(self) -> str:
        return self.reference or f"{{{{ .Values.{self.path} }}}}"


_OPTIONAL = {"poddisruptionbudget": "podDisruptionBudget", "servicemonitor": "serviceMonitor"}
"""Manifests that a chart can leave out, with the keys that say so."""
_FOR_EXECUTORS = frozenset({"role", "rolebinding"})
"""Manifests that let the run create pods."""
_OF_THE_POD = {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace", "POD_IP": "status.podIP"}
"""Variables that Kubernetes itself knows."""
_PLACEMENT = """\
      {{- with .Values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}"""


def deployment_files(facts: Facts, tag: str) -> dict[str, str]:
    """Return the files by path; `tag` identifies the package's content."""
    plain = {
        "project": facts.project,
        "app": facts.name,
        "target": facts.target,
        "python": facts.python,
        "python_tuple": facts.python.replace(".", ", "),
        "port": str(PORT),
        "tag": tag,
        "variables": "\n".join(_listed(facts)) or "None.",
    }
    alone = plain | {"name": facts.name, "memory": str(facts.memory), "heap": f"{facts.heap}m"}
    found = {
        name: _filled(TEMPLATES / name, alone) for name in ("Dockerfile", "README.md", "install", "start")
    }
    if facts.cluster:
        found["submit"] = _filled(TEMPLATES / "submit", alone)
        found["submit.py"] = _filled(TEMPLATES / "submit_py", alone)
    found[".dockerignore"] = _filled(TEMPLATES / "dot_dockerignore", {})
    found[f"systemd/{facts.name}.service"] = _filled(TEMPLATES / "systemd/service", alone)
    found["systemd/environment"] = _environment_file(facts)
    settings, token = _settings(facts, tag), str(facts.pods).lower()
    manifests = plain | {each.name: each.value for each in settings}
    manifests |= {"environment": _environment(facts, facts.name), "placement": "", "token": token}
    chart = plain | {each.name: each.in_chart for each in settings}
    chart |= {
        "environment": _environment(facts, "{{ .Values.secret }}"),
        "placement": _PLACEMENT,
        "token": token,
    }
    for template in sorted((TEMPLATES / "kubernetes").glob("*.yaml")):
        if template.stem in _FOR_EXECUTORS and not facts.pods:
            continue
        found[f"kubernetes/{template.name}"] = f"{_filled(template, manifests).rstrip()}\n"
        text = _filled(template, chart)
        if key := _OPTIONAL.get(template.stem):
            text = f"{{{{- if .Values.{key} }}}}\n{text}{{{{- end }}}}\n"
        found[f"chart/templates/{template.name}"] = text
    found["chart/Chart.yaml"] = _filled(TEMPLATES / "chart/Chart.yaml", manifests)
    found["chart/values.yaml"] = "".join(_values(settings))
    return found


def _settings(facts: Facts, tag: str) -> tuple[Setting, ...]:
    name = facts.name
    return (
        Setting("name", "", name, reference="{{ .Release.Name }}"),
        Setting("image", "image", f"{name}:{tag}", "the image that was built from the Dockerfile"),
        Setting("secret", "secret", name, "the Secret with the variables that the target reads"),
        Setting("cpu", "cpu", str(facts.cores), "requested cores"),
        Setting("memory", "memory", f"{facts.memory}Mi", "for the JVM, RocksDB and Python together"),
        Setting("work", "work", "2Gi", "for logs, locks and results; all else is where the target says"),
        Setting("tmp", "tmp", "10Gi", "for states and shuffles of running queries"),
    )


def _filled(template: Path, values: Mapping[str, str]) -> str:
    text = template.read_text(encoding="utf-8")
    return _PLACEHOLDER.sub(lambda found: values[found[1]], text)


def _listed(facts: Facts) -> Iterator[str]:
    for each in facts.variables:
        yield f"- `{each.name}`{' (optional)' if each.optional else ''}"


def _environment(facts: Facts, secret: str) -> str:
    """Return the variables of a container.

    Each is from a Secret, so that a missing one is reported by name, except those of the pod itself.
    """
    if not facts.variables:
        return "          env: []"
    lines = ["          env:"]
    for each in facts.variables:
        if field := _OF_THE_POD.get(each.name):
            lines += [
                f"            - name: {each.name}",
                "              valueFrom:",
                "                fieldRef:",
                f"                  fieldPath: {field}",
            ]
            continue
        lines += [
            f"            - name: {each.name}",
            "              valueFrom:",
            "                secretKeyRef:",
            f'                  name: "{secret}"',
            f"                  key: {each.name}",
            f"                  optional: {str(each.optional).lower()}",
        ]
    return "\n".join(lines)


def _environment_file(facts: Facts) -> str:
    lines = [f"# The environment of {facts.name}: copy it, set the values, and let only root read it."]
    lines += [f"{'# ' if each.optional else ''}{each.name}=" for each in facts.variables]
    return "\n".join([*lines, ""])


def _values(settings: tuple[Setting, ...]) -> Iterator[str]:
    for each in settings:
        if each.path:
            yield f"# {each.about[0].upper()}{each.about[1:]}.\n"
            yield yaml.safe_dump({each.path: each.value})
    yield "# Manifests that can be left out.\n"
    yield yaml.safe_dump(dict.fromkeys(_OPTIONAL.values(), True))
    yield "# Where pods run, as Kubernetes has it.\n"
    yield "nodeSelector: {}\ntolerations: []\naffinity: {}\nimagePullSecrets: []\n"
