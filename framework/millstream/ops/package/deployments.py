"""Writes the files of deployments: an image, a systemd service, Kubernetes manifests and a Helm chart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml
from msgspec import Struct

from millstream.ops.package.facts import PORT, PackageFacts

TEMPLATES = Path(__file__).with_name("templates")
_PLACEHOLDER = re.compile(r"@(\w+)@")


class ManifestSetting(Struct, frozen=True):
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


def deployment_files(facts: PackageFacts, tag: str) -> dict[str, str]:
    """Return the files by path; `tag` identifies the package's content."""
    plain = {
        "project": facts.project,
        "app": facts.name,
        "target": facts.target,
        "python": facts.python,
        "python_tuple": facts.python.replace(".", ", "),
        "port": str(PORT),
        "tag": tag,
        "variables": "\n".join(_variable_lines(facts)) or "None.",
    }
    alone = plain | {"name": facts.name, "memory": str(facts.memory), "heap": f"{facts.heap}m"}
    files = {
        name: _filled(TEMPLATES / name, alone) for name in ("Dockerfile", "README.md", "install", "start")
    }
    if facts.cluster:
        files["submit"] = _filled(TEMPLATES / "submit", alone)
        files["submit.py"] = _filled(TEMPLATES / "submit_py", alone)
    files[".dockerignore"] = _filled(TEMPLATES / "dot_dockerignore", {})
    files[f"systemd/{facts.name}.service"] = _filled(TEMPLATES / "systemd/service", alone)
    files["systemd/environment"] = _environment_file(facts)
    settings, token = _settings(facts, tag), str(facts.pods).lower()
    manifests = plain | {setting.name: setting.value for setting in settings}
    manifests |= {"environment": _environment(facts, facts.name), "placement": "", "token": token}
    chart = plain | {setting.name: setting.in_chart for setting in settings}
    chart |= {
        "environment": _environment(facts, "{{ .Values.secret }}"),
        "placement": _PLACEMENT,
        "token": token,
    }
    for template in sorted((TEMPLATES / "kubernetes").glob("*.yaml")):
        if template.stem in _FOR_EXECUTORS and not facts.pods:
            continue
        files[f"kubernetes/{template.name}"] = f"{_filled(template, manifests).rstrip()}\n"
        text = _filled(template, chart)
        if key := _OPTIONAL.get(template.stem):
            text = f"{{{{- if .Values.{key} }}}}\n{text}{{{{- end }}}}\n"
        files[f"chart/templates/{template.name}"] = text
    files["chart/Chart.yaml"] = _filled(TEMPLATES / "chart/Chart.yaml", manifests)
    files["chart/values.yaml"] = "".join(_values(settings))
    return files


def _settings(facts: PackageFacts, tag: str) -> tuple[ManifestSetting, ...]:
    name = facts.name
    return (
        ManifestSetting("name", "", name, reference="{{ .Release.Name }}"),
        ManifestSetting("image", "image", f"{name}:{tag}", "the image that was built from the Dockerfile"),
        ManifestSetting("secret", "secret", name, "the Secret with the variables that the target reads"),
        ManifestSetting("cpu", "cpu", str(facts.cores), "requested cores"),
        ManifestSetting("memory", "memory", f"{facts.memory}Mi", "for the JVM, RocksDB and Python together"),
        ManifestSetting(
            "work", "work", "2Gi", "for logs, locks and results; all else is where the target says"
        ),
        ManifestSetting("tmp", "tmp", "10Gi", "for states and shuffles of running queries"),
    )


def _filled(template: Path, values: Mapping[str, str]) -> str:
    text = template.read_text(encoding="utf-8")
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)


def _variable_lines(facts: PackageFacts) -> Iterator[str]:
    for variable in facts.variables:
        yield f"- `{variable.name}`{' (optional)' if variable.optional else ''}"


def _environment(facts: PackageFacts, secret: str) -> str:
    """Return the variables of a container.

    Each is from a Secret, so that a missing one is reported by name, except those of the pod itself.
    """
    if not facts.variables:
        return "          env: []"
    lines = ["          env:"]
    for variable in facts.variables:
        if field := _OF_THE_POD.get(variable.name):
            lines += [
                f"            - name: {variable.name}",
                "              valueFrom:",
                "                fieldRef:",
                f"                  fieldPath: {field}",
            ]
            continue
        lines += [
            f"            - name: {variable.name}",
            "              valueFrom:",
            "                secretKeyRef:",
            f'                  name: "{secret}"',
            f"                  key: {variable.name}",
            f"                  optional: {str(variable.optional).lower()}",
        ]
    return "\n".join(lines)


def _environment_file(facts: PackageFacts) -> str:
    lines = [f"# The environment of {facts.name}: copy it, set the values, and let only root read it."]
    lines += [f"{'# ' if variable.optional else ''}{variable.name}=" for variable in facts.variables]
    return "\n".join([*lines, ""])


def _values(settings: tuple[ManifestSetting, ...]) -> Iterator[str]:
    for setting in settings:
        if setting.path:
            yield f"# {setting.about[0].upper()}{setting.about[1:]}.\n"
            yield yaml.safe_dump({setting.path: setting.value})
    yield "# Manifests that can be left out.\n"
    yield yaml.safe_dump(dict.fromkeys(_OPTIONAL.values(), True))
    yield "# Where pods run, as Kubernetes has it.\n"
    yield "nodeSelector: {}\ntolerations: []\naffinity: {}\nimagePullSecrets: []\n"
