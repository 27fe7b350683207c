import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.core.text import FileText, Location
from millstream.project.config import (
    OPTIONS,
    ConfigValue,
    ModelConfig,
    check_folder_defaults,
    resolve_config,
    unused_folders,
)
from millstream.project.properties import read_properties
from millstream.project.values import Settings

HERE = Location("models/m.sql", 1, 11, 20)


def yaml(content):
    properties, diagnostics = read_properties(FileText("m.yml", f"models:\n- name: m\n{content}"))
    assert diagnostics == []
    return properties.models[0]


def resolve(models=None, folders=(), properties=None, **in_file):
    config = {name: ConfigValue(value, HERE, "{{ config(...) }}") for name, value in in_file.items()}
    return resolve_config(Settings("shop", models=models or {}), folders, properties, config)


def good(*arguments, **options):
    config, diagnostics = resolve(*arguments, **options)
    assert diagnostics == []
    return config


def wrong(*arguments, **options):
    _, (diagnostic,) = resolve(*arguments, **options)
    return diagnostic.code, diagnostic.message, diagnostic.help


def test_without_options_a_model_is_an_enabled_view():
    config = good()
    assert (config.materialized, config.enabled, config.tags) == ("view", True, [])


def test_the_file_wins_over_yaml_over_the_nearest_folder():
    models = {"owner": "root", "topic": "root", "a": {"owner": "a", "b": {"key": "b", "timestamp": "b"}}}
    config = good(
        models, ("a", "b"), yaml("  config: {materialized: sink, key: yaml, format: csv}\n"), format="xml"
    )
    assert (config.owner, config.topic, config.timestamp, config.key, config.format) == (
        "a",
        "root",
        "b",
        "yaml",
        "xml",
    )


def test_other_folders_say_nothing():
    assert good({"a": {"owner": "x"}}, ("b",)).owner is None


def test_tags_add_up_without_repetition_and_meta_merges():
    models = {"tags": ["a"], "+meta": {"x": 1, "y": 1}, "f": {"+tags": "b"}}
    properties = yaml("  tags: [a, c]\n  meta: {y: 2}\n  config: {tags: d, meta: {z: 2}}\n")
    config = good(models, ("f",), properties, tags="e", meta={"z": 3})
    assert config.tags == ["a", "b", "c", "d", "e"]
    assert config.meta == {"x": 1, "y": 2, "z": 3}


def test_a_folder_may_be_named_like_an_option():
    models = {"store": {"owner": "x"}, "key": {"owner": "y"}}
    assert good(models, ("store",)).owner == "x"
    assert good(models, ("other",)).store is None


def test_dbt_s_plus_is_no_part_of_a_name():
    assert good({"f": {"+materialized": "sink"}}, ("f",)).materialized == "sink"


@pytest.mark.parametrize(
    ("options", "message", "remedy"),
    [
        (
            {"pre_hook": "x"},
            "unknown option 'pre_hook'",
            "remove it: a model is its SELECT, and nothing runs before or after it",
        ),
        ({"materialised": "sink"}, "unknown option 'materialised'", "did you mean 'materialized'?"),
        (
            {"materialized": "snik"},
            "'materialized' must be one of view, sink, table, python, not 'snik'",
            "did you mean 'sink'?",
        ),
        (
            {"materialized": "ephemeral"},
            "there is no materialization 'ephemeral'",
            "use 'view', which stores nothing",
        ),
        ({"enabled": "yes"}, "'enabled' must be true or false, not 'yes'", "write true or false"),
        ({"dedupe": {"keys": ["a"], "witin": "1 hour"}}, "unknown key 'witin'", "did you mean 'within'?"),
        (
            {"dedupe": {"keys": ["a"], "within": "1 hour", "exact": "yes"}},
            "'exact' must be true or false, not 'yes'",
            "write true or false",
        ),
        ({"dedupe": {"keys": ["a"], "within": "1h"}}, "'within' must be a duration, not '1h'", None),
        ({"watermark": {"column": "a"}}, "'delay' is missing", "add `delay: …`"),
        ({"unique_key": {"a": 1}}, "'unique_key' must be a string or a list, not a mapping", None),
        ({"state": {"store": "disk"}}, "'store' must be one of rocksdb, memory, not 'disk'", None),
    ],
)
def test_bad_options_in_the_file(options, message, remedy):
    _, (diagnostic,) = resolve(**options)
    assert (diagnostic.code, diagnostic.message, diagnostic.location, diagnostic.line) == (
        "MS120",
        message,
        HERE,
        "{{ config(...) }}",
    )
    assert diagnostic.help
    assert remedy is None or diagnostic.help == remedy


def test_a_wrong_option_leaves_what_was_said_before():
    config, diagnostics = resolve({"owner": "x"}, owner=[])
    assert config.owner == "x"
    assert len(diagnostics) == 1


@pytest.mark.parametrize(
    ("materialized", "options"),
    [
        ("view", {"topic": "t"}),
        ("table", {"key": "k"}),
        ("sink", {"unique_key": "k"}),
        ("view", {"store": "delta"}),
    ],
)
def test_options_of_another_materialization_contradict(materialized, options):
    code, message, remedy = wrong(materialized=materialized, **options)
    assert code == "MS121"
    assert message.endswith(f"but this model is a {materialized}")
    assert remedy


def test_a_contradiction_in_yaml_is_told_at_its_line():
    _, (diagnostic,) = resolve(None, (), yaml("  config:\n    topic: t\n"))
    assert (diagnostic.code, diagnostic.location.line, diagnostic.location.column, diagnostic.line) == (
        "MS121",
        4,
        12,
        "    topic: t",
    )


def test_a_folder_s_default_may_fit_only_some_of_its_models():
    assert good({"partitions": 6}, materialized="view").partitions == 6


@pytest.mark.parametrize("materialized", ["sink", "table"])
def test_a_materialization_alone_is_enough(materialized):
    assert good(materialized=materialized).materialized == materialized


def test_numbers_may_stand_where_texts_do():
    assert good(owner=3).owner == "3"


def test_none_takes_a_default_back():
    assert good({"owner": "x", "meta": {"y": 1}}, owner=None, meta=None).owner is None


# -- defaults by folder


def settings(models, **positions):
    locations = {
        path.replace("__", "."): Location("pyproject.toml", line, 1, 5) for path, line in positions.items()
    }
    return Settings("shop", models=models, model_locations=locations)


def test_defaults_are_checked_once_at_their_place():
    project_settings = settings(
        {"a": {"materialized": "tabel", "b": {"+ower": "x"}}}, a__materialized=1, **{"a__b__+ower": 3}
    )
    diagnostics = check_folder_defaults(
        project_settings, FileText("pyproject.toml", "materialized = 'tabel'\n\nx\n")
    )
    assert [(d.code, d.location.line, d.help) for d in diagnostics] == [
        ("MS120", 1, "did you mean 'table'?"),
        ("MS120", 3, "did you mean 'owner'?"),
    ]
    assert diagnostics[0].line == "materialized = 'tabel'"


def test_good_defaults_are_no_mistake():
    assert check_folder_defaults(settings({"topic": "t", "a": {"unique_key": ["x"], "meta": {"y": 1}}})) == []


def test_a_wrong_default_is_not_told_again_for_every_model():
    config, diagnostics = resolve({"materialized": "tabel"})
    assert (config.materialized, diagnostics) == ("view", [])


def test_defaults_for_a_folder_without_models_are_a_warning():
    diagnostics = unused_folders(
        settings({"stagng": {"owner": "x"}, "a": {"b": {}}}, stagng=2), [("staging",), ("a", "b", "c")]
    )
    assert [(d.code, d.severity, d.location.line, d.help) for d in diagnostics] == [
        ("MS117", "warning", 2, "did you mean 'staging'?")
    ]


def test_a_project_without_models_has_one_warning():
    diagnostics = unused_folders(
        settings({"staging": {"owner": "x"}, "marts": {"owner": "y"}}, staging=2), []
    )
    assert [(d.code, d.severity, d.location.line, d.message, d.help) for d in diagnostics] == [
        ("MS117", "warning", 2, "the project has no models yet", "add one, such as models/staging/orders.sql")
    ]


# -- properties


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(["sink", "1 hour", "", "x"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["keys", "within", "x"]), inner, max_size=2)
    ),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*OPTIONS, "nonsense"]), values, max_size=4))
def test_whatever_a_file_says_there_is_a_config_or_a_diagnostic(options):
    config, diagnostics = resolve(**options)
    assert msgspec.convert(msgspec.to_builtins(config), ModelConfig) == config
    for diagnostic in diagnostics:
        assert diagnostic.code in {"MS120", "MS121", "MS821"}
        assert diagnostic.help
    assert len(diagnostics) >= ("nonsense" in options)


@given(
    st.lists(st.sampled_from("abc"), max_size=4).map(tuple),
    st.dictionaries(
        st.lists(st.sampled_from("abc"), max_size=3).map(tuple), st.text("xyz", min_size=1), max_size=5
    ),
)
def test_the_nearest_folder_wins(folders, owners):
    tree = {}
    for path, owner in owners.items():
        level = tree
        for part in path:
            level = level.setdefault(part, {})
        level["owner"] = owner
    nearest = next((owners[folders[:n]] for n in range(len(folders), -1, -1) if folders[:n] in owners), None)
    assert good(tree, folders).owner == nearest
