"""The site in a real browser, opened as a file. Every test also fails on a console message or a question to anybody."""

import json
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect
from support.browser import Watched, watched

from millstream.docs.site_input import SiteInput
from millstream.docs.values import Site

PAGES = {
    "source": "#/page/source.shop.storefront_events",
    "seed": "#/page/seed.event_types",
    "model": "#/page/model.hourly_user_metrics",
    "exposure": "#/page/exposure.marketing_dashboard",
    "metric": "#/page/metric.revenue",
    "function": "#/page/function.calculate_score",
    "query group": "#/page/query.active_users",
    "data test": "#/page/test.counts_add_up",
    "unit test": "#/page/unit_test.hourly_user_metrics.rates_and_profiles",
}


def nodes(page):
    return {node.get_attribute("aria-label").split(",")[0] for node in page.locator(".stage .node").all()}


@pytest.mark.parametrize("kind", PAGES)
def test_every_kind_has_a_page(shop: Watched, kind: str):
    page = shop.open(PAGES[kind])
    name = PAGES[kind].rpartition("/")[2].partition(".")[2]
    assert page.locator("h1").inner_text() in {name, name.rpartition(".")[2]}
    expect(page.locator(".badge").first).to_contain_text(kind)


def test_the_overview_counts_what_there_is(shop: Watched):
    page = shop.open()
    assert page.title() == "Overview · shop"
    tiles = page.locator(".tile").all_inner_texts()
    assert "21\nmodels" in tiles
    assert "10\nquery groups" in tiles


def test_a_model_page_has_columns_with_types_tests_and_origin(shop: Watched):
    page = shop.open(PAGES["model"])
    row = page.locator("#column-metrics_key")
    assert row.locator("td").nth(0).inner_text() == "string"
    expect(row).to_contain_text("direct hourly_user_interests.metrics_key")
    assert row.locator("td").nth(3).locator("a").all_inner_texts() == ["not null", "unique"]


def test_sql_as_written_compiled_and_as_it_runs(shop: Watched):
    page = shop.open(PAGES["model"])
    tabs = page.get_by_role("tab")
    assert tabs.all_inner_texts() == ["As written", "Compiled", "As it runs in hourly_user_activity"]
    expect(page.locator(".code .t-jinja").first).to_contain_text("config(key='metrics_key'")
    tabs.nth(1).click()
    assert page.locator(".code .t-jinja").count() == 0
    expect(page.locator(".code .t-keyword").first).to_be_visible()
    page.keyboard.press("ArrowRight")
    assert tabs.nth(2).get_attribute("aria-selected") == "true"


def test_settings_state_and_partitions_of_a_query(shop: Watched):
    page = shop.open(PAGES["query group"])
    page.get_by_text("user_activity_totals: aggregate").click()
    expect(page.locator("details dl")).to_contain_text("sum(")
    facts = page.locator("dl.facts").first.inner_text()
    assert "output mode\nupdate" in facts
    assert "partitions of its state" in facts


def test_the_whole_lineage_with_a_box_for_each_folder(shop: Watched):
    page = shop.open("#/lineage")
    page.get_by_role("button", name="Zoom out").click()  # a text that can be read is more than fits
    expect(page.locator(".stage .node")).to_have_count(39)
    assert set(page.locator(".box text").all_text_contents()) == {
        "marts/devices", "marts/engagement", "marts/partners", "marts/recommendations", "marts/traffic", "marts/users", "staging",
    }  # fmt: skip
    page.get_by_label("Boxes").select_option("query")
    shop.shown("#/lineage?by=query")
    expect(page.locator(".box text", has_text="active_users")).to_be_visible()


def test_selecting_a_node_marks_its_ways_and_says_what_it_is(shop: Watched):
    page = shop.open("#/lineage")
    page.get_by_role("button", name="model hourly_user_interests").click()
    expect(page.locator(".panel h2")).to_have_text("hourly_user_interests")
    expect(page.locator(".node.selected")).to_have_count(1)
    assert page.locator(".edge.marked").count() == 9
    assert page.locator(".node.dim").count() > 20


def test_the_address_follows_what_is_selected(shop: Watched):
    page = shop.open("#/lineage?by=query")
    page.get_by_role("button", name="model hourly_user_interests").click()
    shop.shown("#/lineage?by=query&select=model.hourly_user_interests")
    page.reload()
    shop.shown("#/lineage?by=query&select=model.hourly_user_interests")
    expect(page.locator(".panel h2")).to_have_text("hourly_user_interests")
    page.get_by_label("Boxes").select_option("none")
    shop.shown("#/lineage?by=none&select=model.hourly_user_interests")
    page.locator("svg.canvas").press("Escape")
    shop.shown("#/lineage?by=none")
    assert page.locator(".panel").is_hidden()


def test_focus_with_hops(shop: Watched):
    page = shop.open("#/lineage?focus=model.hourly_user_interests")
    assert nodes(page) == {
        "model hourly_user_interests", "model hourly_user_activity", "source shop.products", "model hourly_user_metrics",
    }  # fmt: skip
    page.get_by_label("Up", exact=True).select_option("2")
    shop.shown("#/lineage?focus=model.hourly_user_interests&up=2")
    assert "model categorized_app_events" in nodes(page)
    page.get_by_label("Down", exact=True).select_option("all")
    shop.shown("#/lineage?focus=model.hourly_user_interests&up=2&down=all")
    assert "exposure marketing_dashboard" in nodes(page)


def test_focus_by_typing_a_name(shop: Watched):
    page = shop.open("#/lineage")
    page.get_by_label("Focus").fill("scored_storefront_events")
    page.keyboard.press("Enter")
    shop.shown("#/lineage?focus=model.scored_storefront_events")
    assert "model stg_storefront_events" in nodes(page)


def test_the_path_between_two_nodes(shop: Watched):
    page = shop.open("#/lineage?from=source.shop.app_events&to=metric.revenue")
    assert nodes(page) == {
        "source shop.app_events", "model stg_app_events", "model categorized_app_events", "model hourly_user_activity",
        "model hourly_user_interests", "model hourly_user_metrics", "metric revenue",
    }  # fmt: skip
    page = shop.open("#/lineage?from=seed.event_types&to=metric.revenue")
    expect(page.get_by_role("status").first).to_contain_text("There is no path from event_types to revenue")


@pytest.mark.parametrize(
    ("filters", "there"),
    [
        (
            "tag=users",
            {"model user_activity_totals", "model active_users", "model user_activity_updates"},
        ),
        ("folder=marts/recommendations", {"model scored_storefront_events"}),
        ("stored=table", {"model active_users"}),
        ("owner=Marketing", {"exposure marketing_dashboard"}),
        ("kind=seed", {"seed event_types", "seed segments"}),
    ],
)
def test_filters(shop: Watched, filters: str, there: set[str]):
    assert nodes(shop.open(f"#/lineage?{filters}")) == there


def test_column_lineage_says_how_a_column_has_influence(shop: Watched):
    page = shop.open("#/lineage?column=model.hourly_user_metrics.user_id")
    titles = set(page.locator(".edge title").all_text_contents())
    assert "hourly_user_interests.user_id: direct, passed through" in titles
    assert "shop.user_profiles.user_id: join, decides which rows are joined" in titles
    assert "categorized_app_events.event_time: group, rows are grouped by it" in titles
    assert "shop.app_events.event_type: filter, decides which rows exist" in titles
    page.get_by_label("with what decides over rows").uncheck()
    page.wait_for_function("() => document.querySelectorAll('.edge.flow-filter').length === 1")
    kinds = {title.split(": ")[1].split(",")[0] for title in page.locator(".edge title").all_text_contents()}
    assert kinds == {"direct"}


def test_column_lineage_goes_on_by_a_click_on_another_column(shop: Watched):
    page = shop.open("#/lineage?column=model.hourly_user_metrics.user_id")
    page.get_by_role("button", name="categorized_app_events").locator("[data-row]").last.click()
    shop.shown("#/lineage?column=model.categorized_app_events.event_time")
    expect(page.locator(".row.asked")).to_contain_text("event_time")


def test_zoom_pan_and_keys(shop: Watched):
    page = shop.open("#/lineage")
    canvas = page.locator("svg.canvas")
    layer = canvas.locator("> g")
    before = layer.get_attribute("transform")
    canvas.focus()
    page.keyboard.press("+")
    expect(layer).not_to_have_attribute("transform", before)
    page.keyboard.press("0")
    expect(layer).to_have_attribute("transform", before)
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 30, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + 130, box["y"] + 60, steps=4)
    page.mouse.up()
    expect(layer).not_to_have_attribute("transform", before)
    page.mouse.wheel(0, -300)
    page.keyboard.press("ArrowRight")
    first = page.locator(".panel h2").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator(".panel h2").inner_text() != first
    assert canvas.get_attribute("aria-activedescendant") == page.locator(".node.selected").get_attribute("id")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.getElementById('main').className === 'view-page'")


def test_a_selected_node_that_is_no_longer_drawn_is_not_pointed_at(shop: Watched):
    page = shop.open("#/lineage?select=model.hourly_user_metrics")
    canvas = page.locator("svg.canvas")
    expect(canvas).to_have_attribute(
        "aria-activedescendant", page.locator(".node.selected").get_attribute("id")
    )
    canvas.evaluate("canvas => canvas.canvas.pan(-100000, 0)")
    expect(canvas).not_to_have_attribute("aria-activedescendant", re.compile("."))
    canvas.evaluate("canvas => canvas.canvas.fit()")
    expect(canvas).to_have_attribute("aria-activedescendant", re.compile("."))


def test_two_fingers_zoom(browser: Browser, example_site: Path):
    with watched(browser, example_site, has_touch=True) as site:
        page = site.open("#/lineage")
        layer = page.locator("svg.canvas > g")
        session = page.context.new_cdp_session(page)

        def touch(kind, *points):
            touches = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

        def scale():
            return float(layer.get_attribute("transform").partition("scale(")[2].rstrip(")"))

        before = scale()
        touch("touchStart", (500, 500))
        touch("touchStart", (500, 500), (600, 500))
        touch("touchMove", (450, 500), (650, 500))
        touch("touchEnd")
        page.wait_for_function(
            "before => !document.querySelector('svg.canvas > g').getAttribute('transform').includes(`scale(${before})`)",
            arg=before,
        )
        assert scale() == pytest.approx(2 * before, rel=0.05)
        assert page.locator(".panel").is_hidden()


def test_the_topology_rule_by_rule(shop: Watched):
    page = shop.open("#/topology")
    assert page.locator(".side h2").all_inner_texts() == ["As written", "As it runs"]
    assert page.locator(".box text").first.text_content().startswith("query ")
    page.get_by_role("link", name="push filters").click()
    page.wait_for_function("() => document.querySelector('.side h2').textContent.startsWith('After')")
    assert page.locator(".side h2").all_inner_texts()[1] == "After push filters"
    assert page.locator(".node.new").count() > 0
    assert page.locator(".node.gone").count() > 0
    expect(page.get_by_role("complementary")).to_contain_text("is applied before the projection")


def test_operators_say_key_watermark_partitions_and_state(shop: Watched):
    page = shop.open("#/topology/hourly_user_activity")
    running = page.locator(".side").nth(1)
    for _ in range(3):
        running.locator("svg.canvas").press("Shift+ArrowDown")
    running.get_by_role("button", name="aggregate hourly_user_activity").first.click()
    text = page.locator(".told").inner_text()
    for fact in ("partitioned by", "watermark", "state"):
        assert fact in text
    assert running.locator(".node circle.state").count() > 0


def test_an_operator_is_found_on_both_sides(shop: Watched):
    page = shop.open("#/topology/hourly_user_activity")
    one, other = page.locator(".side").all()
    assert page.locator(".panel").is_hidden()
    one.get_by_role("button", name="repartition hourly_user_activity.by_user_id").click()
    expect(page.locator(".told h3")).to_have_text("hourly_user_activity.by_user_id")
    expect(other.locator(".node.selected")).to_be_in_viewport()
    assert "by_user_id" in other.locator(".node.selected").get_attribute("aria-label")


def test_the_plan_of_a_query_goes_down_and_keys_follow_it(shop: Watched):
    page = shop.open("#/topology/hourly_user_activity")
    one, other = page.locator(".side").all()
    assert one.bounding_box()["y"] == other.bounding_box()["y"]
    other.get_by_role("button", name="topic app_events.topic").click()
    other.locator("svg.canvas").press("ArrowDown")
    expect(page.locator(".told h3")).to_have_text("app_events.decode")
    other.locator("svg.canvas").press("ArrowUp")
    expect(page.locator(".told h3")).to_have_text("app_events.topic")


def test_names_of_operators_are_whole_where_there_is_room(shop: Watched):
    page = shop.open("#/topology")
    titles = page.locator(".node .title").all_text_contents()
    assert titles
    assert not [title for title in titles if "…" in title or ".in_" in title]


def test_a_long_page_says_what_is_on_it(shop: Watched):
    page = shop.open(PAGES["model"])
    parts = page.get_by_role("navigation", name="On this page")
    assert parts.get_by_role("link").all_inner_texts() == [
        "Lineage",
        "Settings",
        "17 columns",
        "8 tests",
        "SQL",
    ]
    parts.get_by_role("link", name="SQL").click()
    shop.shown("#/page/model.hourly_user_metrics?part=sql")
    expect(page.get_by_role("heading", name="SQL")).to_be_in_viewport()


def test_search_finds_names_columns_descriptions_and_sql(shop: Watched):
    page = shop.open()
    page.keyboard.press("/")
    field = page.get_by_role("combobox", name="Search names, columns, descriptions and SQL")
    assert field.evaluate("element => element === document.activeElement")
    for text, first in (
        ("hourly_user_int", "hourly_user_interests"),
        ("conversion by segment", "marketing_dashboard"),
        ("top_categories", "hourly_user_interests"),
        ("approx_count", None),
        ("safe_divide", "hourly_user_metrics"),
    ):
        field.fill(text)
        if first is None:
            expect(page.locator("#found")).to_contain_text("Nothing holds approx_count.")
        else:
            expect(page.get_by_role("option").locator("b").filter(has_text=first).first).to_be_visible()


def test_search_shows_what_has_a_column_before_its_tests(shop: Watched):
    page = shop.open()
    page.locator("#search").fill("user_id")
    page.locator("#search").focus()
    expect(page.get_by_role("option").first).to_contain_text("column user_id")
    assert "data test" not in page.get_by_role("option").nth(5).inner_text()


def test_search_by_keys_alone(shop: Watched):
    page = shop.open()
    page.keyboard.press("/")
    page.keyboard.type("user_metr")
    field = page.locator("#search")
    expect(field).to_have_attribute("aria-expanded", "true")
    expect(page.locator("#found")).to_have_attribute("aria-busy", "false")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("option").first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    shop.shown("#/page/model.hourly_user_metrics")
    assert page.locator("#found").is_hidden()


def test_a_deep_link_opens_where_it_points(browser: Browser, example_site: Path):
    with watched(browser, example_site) as page:
        page.open("#/topology/project?step=2")
        assert page.page.locator("[aria-current=step]").inner_text().startswith("bypass topics")


def test_going_back_goes_back(shop: Watched):
    shop.open(PAGES["model"])
    shop.open("#/health")
    shop.page.go_back()
    assert shop.shown(PAGES["model"]).locator("h1").inner_text() == "hourly_user_metrics"


def test_what_is_not_there_is_said(shop: Watched):
    assert "There is no page for model.nope" in shop.open("#/page/model.nope").locator("main").inner_text()
    assert (
        "There is no column model.hourly_user_metrics.x"
        in shop.open("#/lineage?column=model.hourly_user_metrics.x").locator("main").inner_text()
    )
    assert "There is no node model.x" in shop.open("#/lineage?focus=model.x").locator("main").inner_text()


def test_dark_as_the_system_says_and_by_the_switch(browser: Browser, example_site: Path):
    with watched(browser, example_site, color_scheme="dark") as site:
        page = site.open()

        def ground():
            return page.evaluate("getComputedStyle(document.body).backgroundColor")

        assert ground() == "rgb(20, 24, 31)"
        page.get_by_label("Switch between light and dark").click()
        assert ground() == "rgb(255, 255, 255)"
        page.reload()
        site.shown("#/")
        assert ground() == "rgb(255, 255, 255)"


def test_health_links_to_what_it_names(shop: Watched):
    page = shop.open("#/health")
    page.locator("#health-unused").get_by_role("link", name="segments").click()
    shop.shown("#/page/seed.segments")


@pytest.mark.parametrize(("button", "end"), [("Save as SVG", "svg"), ("Save as PNG", "png")])
def test_a_graph_can_be_saved(shop: Watched, tmp_path: Path, button: str, end: str):
    page = shop.open("#/lineage")
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    assert download.value.suggested_filename == f"shop-lineage.{end}"
    download.value.save_as(tmp_path / "graph")
    data = (tmp_path / "graph").read_bytes()
    if end == "png":
        assert data.startswith(b"\x89PNG")
    else:
        assert b"hourly_user_metrics" in data
        assert b"class=" not in data
        assert data.count(b"<text") > 60


def test_what_users_write_is_text(trap: Watched):
    for address in (
        "#/", "#/lineage", "#/topology", "#/health", "#/list/model", "#/page/model.totals", "#/page/source.web.clicks",
        "#/lineage?select=model.totals", "#/lineage?column=model.totals.total", "#/page/test.not_null_totals_user",
    ):  # fmt: skip
        page = trap.open(address)
        assert page.locator("main img").count() == 0
        assert page.locator("main script").count() == 0
        assert page.locator("main b b").count() == 0
    page = trap.open("#/page/model.totals")
    text = page.locator("main").inner_text()
    assert "<script>alert(1)</script>" in text
    assert "it broke: <script>" in text
    assert "<b>bold</b>" in text
    assert "hunter2" not in text
    assert set(page.locator(".about a").evaluate_all("all => all.map((a) => a.getAttribute('href'))")) == {
        "https://books.example/x", "https://evil.example/picture.png",
    }  # fmt: skip
    page.locator("#search").fill("<script")
    expect(page.get_by_role("option").first).to_be_visible()
    assert page.locator("#found script, #found img").count() == 0


def test_no_page_runs_or_loads_what_users_write(trap: Watched, nasty_values: Site):
    """A tab of which every message, dialog and request is noted shows each page once."""
    dialogs: list[str] = []
    trap.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    allowed = {"https://books.example/x", "https://evil.example/picture.png"}
    for entry in nasty_values.start.entries:
        page = trap.open(f"#/page/{quote(entry.id)}")
        assert page.locator("h1").count() == 1, entry.id
        assert page.locator("main").locator("img, script, iframe, object, embed").count() == 0
        links = page.locator("main a").evaluate_all("all => all.map((a) => a.getAttribute('href'))")
        assert {link for link in links if not link.startswith("#")} <= allowed, entry.id
    for address in (
        "#/lineage?tag=__proto__",
        "#/lineage?owner=__proto__",
        "#/lineage?select=model.__proto__",
    ):
        assert trap.open(address).locator(".stage .node").count()
    assert dialogs == []


def test_names_that_objects_of_scripts_have(trap: Watched):
    page = trap.open("#/page/model.__proto__")
    assert page.locator("h1").inner_text() == "__proto__"
    shown = page.locator("main").inner_text()
    assert shown.count("of its own") == 4  # twice in its settings, twice in its SQL
    assert page.locator("#column-__proto__").count() == 1
    page = trap.open("#/page/model.constructor")
    expect(page.locator("main")).to_contain_text("<svg onload=alert(8)>")
    page = trap.open("#/lineage?column=model.constructor.constructor")
    assert page.locator(".stage .node").count() > 1


def test_results_of_the_last_build(trap: Watched):
    page = trap.open("#/page/model.totals")
    assert page.locator(".lasts .status").all_inner_texts() == ["failed", "1 of 2 tests fails"]
    part = page.locator("#part-the-last-build")
    expect(part).to_contain_text("by build, 2026-01-02 03:04")
    expect(part).to_contain_text("rows read by its query")


def test_last_results_of_tests(trap: Watched):
    page = trap.open("#/page/model.totals")
    passed = page.locator("#part-tests tr", has_text="not_null_totals_user")
    expect(passed).to_contain_text("passes 2026-01-02 05:00")
    failed = page.locator("#part-tests tr", has_text="sums")
    expect(failed).to_contain_text("fails 2026-01-02 04:00")
    expect(failed).to_contain_text("unit test 'sums': a row differs <script>")
    page = trap.open("#/page/unit_test.totals.sums")
    expect(page.locator(".note.bad")).to_contain_text("a row differs")
    expect(page.get_by_label("What differs")).to_contain_text("- <b>a</b>  1\n+ <b>a</b>  2")
    expect(page.get_by_label("YAML").locator(".t-call", has_text="given")).to_be_visible()
    page = trap.open("#/list/unit_test")
    expect(page.locator("tbody td .status")).to_have_text("fails")
    page = trap.open("#/health")
    page.locator("#health-failing").get_by_role("link", name="sums").click()
    trap.shown("#/page/unit_test.totals.sums")


def test_what_unit_tests_do_not_reach_is_marked_in_the_sql(trap: Watched):
    page = trap.open("#/page/model.totals")
    part = page.locator("#part-unit-test-coverage")
    expect(part).to_contain_text("2 of 4 branches of filters, CASE and IF by 1 test of its own")
    assert part.locator("li").count() == 2
    marked = page.locator(".line.missed")
    expect(marked).to_have_count(1)
    expect(marked).to_contain_text("-- </script><script>alert(4)</script>")
    assert marked.get_attribute("data-said").startswith("no row: else of <script>")
    part.get_by_role("link", name="line 2").click()
    trap.shown("#/page/model.totals?text=written&line=2")
    expect(page.locator(".line.asked")).to_be_in_viewport()


def test_a_node_that_failed_has_a_mark(trap: Watched):
    page = trap.open("#/lineage")
    failed = page.get_by_role("button", name="totals, table")
    assert failed.get_attribute("aria-label").endswith(", failing")
    assert failed.locator("path.bad").count() == 1
    assert page.locator(".node path.bad").count() == 1
    expect(page.get_by_label("What colours and marks stand for")).to_contain_text("failed")


def test_a_page_for_the_printer(shop: Watched):
    page = shop.open(PAGES["model"])
    page.emulate_media(media="print")
    bar, height = (
        page.locator(".bar").is_hidden(),
        page.locator(".code").evaluate("e => getComputedStyle(e).maxHeight"),
    )
    page.emulate_media(media="screen")
    assert (bar, height) == (True, "none")


def test_a_graph_on_paper_is_whole_and_light(browser: Browser, example_site: Path):
    with watched(browser, example_site, color_scheme="dark", viewport={"width": 500, "height": 300}) as site:
        page = site.open("#/lineage")
        drawn = page.locator(".stage .node").count()
        page.emulate_media(media="print")
        page.wait_for_function("() => document.querySelector('svg.canvas').hasAttribute('viewBox')")
        assert page.locator(".stage .node").count() == 39 > drawn
        assert page.evaluate("document.documentElement.dataset.theme") == "light"
        page.emulate_media(media="screen")
        page.wait_for_function("() => !document.querySelector('svg.canvas').hasAttribute('viewBox')")
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_small_screen_needs_no_scrolling_sideways(browser: Browser, example_site: Path):
    with watched(browser, example_site) as site:
        site.page.set_viewport_size({"width": 390, "height": 800})
        for address in ("#/", "#/lineage", "#/health", PAGES["model"]):
            page = site.open(address)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, address


def test_a_toolbar_that_goes_on_sideways_fades_there_and_shows_its_end(browser: Browser, example_site: Path):
    with watched(browser, example_site) as site:
        site.page.set_viewport_size({"width": 390, "height": 800})
        page = site.open("#/lineage")
        tools = page.locator(".tools")
        hidden = tools.evaluate("each => each.scrollWidth - each.clientWidth")
        assert hidden > 0
        assert "linear-gradient" in tools.evaluate("each => getComputedStyle(each).maskImage")
        tools.evaluate("each => each.scrollTo(each.scrollWidth, 0)")
        last = tools.locator("label").last.bounding_box()
        assert last["x"] + last["width"] <= 390 - 40, "the last control is not faded at the end"


def test_the_page_runs_no_script_but_its_own(shop: Watched):
    page = shop.open()
    policy = page.locator("meta[http-equiv]").get_attribute("content")
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert (
        json.loads(
            page.evaluate("JSON.stringify([...document.querySelectorAll('script:not([src])')].length)")
        )
        == 0
    )


def test_highlighting_loses_no_character(shop: Watched, example: SiteInput):
    names = [name for name in example.written if name.startswith(("model.", "function."))]
    for name in names:
        shop.open(f"#/page/{name}")
        assert shop.page.locator(".code").text_content() == example.written[name].rstrip(), name


def test_what_was_found_is_where_the_page_opens(shop: Watched):
    page = shop.open()
    page.locator("#search").fill("top_categories")
    page.get_by_role("option", name="hourly_user_interests").filter(has_text="column").click()
    shop.shown("#/page/model.hourly_user_interests?column=top_categories")
    expect(page.locator("tr.asked")).to_be_in_viewport()
    expect(page.locator("tr.asked th")).to_have_text("top_categories")
    page.locator("#search").fill("safe_divide")
    page.get_by_role("option", name="hourly_user_metrics model").click()
    page.wait_for_function("() => document.querySelector('.line.asked')")
    expect(page.locator(".line.asked")).to_be_in_viewport()
    expect(page.locator(".line.asked")).to_contain_text("safe_divide")


def test_an_address_of_the_web_is_a_link(shop: Watched):
    page = shop.open(PAGES["exposure"])
    link = page.get_by_role("link", name="https://dashboards.shop.example/marketing")
    assert link.get_attribute("rel") == "noopener noreferrer"


def test_folders_alone(shop: Watched):
    page = shop.open("#/lineage?by=folders")
    titles = set(page.locator(".stage .title").all_text_contents())
    assert titles == {
        "shop", "seeds", "marts/devices", "marts/engagement", "marts/partners", "marts/recommendations", "marts/traffic", "marts/users", "staging", "exposures", "metrics",
    }  # fmt: skip
    page.get_by_role("button", name="marts/engagement, 4 models").dblclick()
    shop.shown("#/lineage?folder=marts%2Fengagement")
    assert len(nodes(page)) == 4
