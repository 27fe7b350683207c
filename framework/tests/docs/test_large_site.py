"""The site of a project that is too large to be seen at once."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from support.browser import Watched, watched

from millstream.compile.manifest import Manifest, ManifestNode
from millstream.core.node_id import NodeId
from millstream.docs.generate import site_of, write_site
from millstream.docs.site_input import SiteInput

pytestmark = pytest.mark.long
FOLDERS, PER_FOLDER = ("raw", "clean", "daily", "reports"), 400


def model(folder: int, number: int) -> ManifestNode:
    name = f"{FOLDERS[folder]}_{number:03}"
    above = (
        NodeId("model", f"{FOLDERS[folder - 1]}_{number:03}") if folder else NodeId("source", "shop.events")
    )
    return ManifestNode(
        id=NodeId("model", name),
        kind="model",
        name=name,
        path=f"models/{FOLDERS[folder]}/{name}.sql",
        fqn=("big", FOLDERS[folder], name),
        depends_on=(above,),
    )


@pytest.fixture(scope="module")
def large(browser: Browser, tmp_path_factory: pytest.TempPathFactory):
    folder: Path = tmp_path_factory.mktemp("large_site")
    source = ManifestNode(
        id=NodeId("source", "shop.events"),
        kind="source",
        name="events",
        path="models/s.yml",
        fqn=("big", "shop", "events"),
    )
    models = [model(folder, number) for folder in range(len(FOLDERS)) for number in range(PER_FOLDER)]
    nodes = {node.id: node for node in (source, *models)}
    write_site(folder, site_of(SiteInput(Manifest(1, "0.1.0", "big", "local", nodes, {}), {}, {})))
    with watched(browser, folder) as site:
        yield site


def names(page):
    return page.locator(".node .title").all_text_contents()


def test_folders_are_shown_first(large: Watched):
    page = large.open("#/lineage")
    assert set(names(page)) == {"shop", *FOLDERS}
    assert set(page.locator(".edge title").all_text_contents()) == {
        "400 edges from shop to raw", "400 edges from raw to clean", "400 edges from clean to daily",
        "400 edges from daily to reports",
    }  # fmt: skip


def test_a_folder_says_and_shows_what_is_in_it(large: Watched):
    page = large.open("#/lineage")
    page.get_by_role("button", name="daily, 400 models").click()
    expect(page.locator(".panel")).to_contain_text("daily_000")
    expect(page.locator(".panel")).to_contain_text("and 360 more")
    page.get_by_role("link", name="Show what is in it").click()
    large.shown("#/lineage?folder=daily")
    assert set(names(page)) <= {f"daily_{number:03}" for number in range(PER_FOLDER)}


def test_all_of_it_is_there_when_asked_for(large: Watched):
    page = large.open("#/lineage")
    page.get_by_label("Boxes").select_option("none")
    large.shown("#/lineage?by=none")
    expect(page.get_by_role("button", name="source shop.events")).to_be_visible()
    assert 50 < page.locator(".node").count() < 400
    page = large.open("#/lineage?select=model.clean_123")
    expect(page.locator(".node.selected .title")).to_have_text("clean_123")


def test_a_large_part_stands_where_it_stands_in_the_whole(large: Watched):
    page = large.open("#/lineage?by=none&select=model.clean_123")
    position = page.locator(".node.selected").get_attribute("transform")
    page = large.open("#/lineage?kind=model&by=none&select=model.clean_123")
    expect(page.get_by_role("status").first).to_have_text("1,600 nodes of 1601")
    assert page.locator(".node.selected").get_attribute("transform") == position


def test_from_far_off_nodes_are_outlines(large: Watched):
    page = large.open("#/lineage?by=none")
    for _ in range(8):
        page.locator("svg.canvas").press("-")
    page.wait_for_function("() => document.querySelector('.canvas .far-node')")
    assert page.locator(".node").count() == 0
