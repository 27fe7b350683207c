"""What people need who see little, use keys alone, or listen: checked on every kind of page, light and dark."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser
from support.browser import watched

ADDRESSES = (
    "#/", "#/lineage", "#/lineage?select=model.hourly_user_interests", "#/lineage?column=model.hourly_user_metrics.user_id", "#/topology",
    "#/topology/project?step=5", "#/health", "#/list/model", "#/page/model.hourly_user_metrics", "#/page/function.calculate_score",
    "#/page/query.active_users", "#/page/test.counts_add_up",
)  # fmt: skip

NAMELESS = """
() => [...document.querySelectorAll('a, button, input, select, summary, [role=button], [role=application], [role=tab], [role=region]')]
  .filter((each) => each.checkVisibility())
  .filter((each) => {
    const labelled = (each.getAttribute('aria-labelledby') || '').split(' ').map((id) => document.getElementById(id))
      .filter(Boolean).map((other) => other.textContent).join('');
    const label = each.closest('label') || (each.id && document.querySelector(`label[for="${each.id}"]`));
    return !(each.getAttribute('aria-label') || labelled || (label && label.textContent.trim()) || each.textContent.trim());
  }).map((each) => each.outerHTML.slice(0, 120))
"""
STRUCTURE = """
() => {
  const wrong = [];
  const ids = [...document.querySelectorAll('[id]')].map((each) => each.id);
  ids.filter((id, place) => ids.indexOf(id) !== place).forEach((id) => wrong.push(`two of #${id}`));
  for (const name of ['aria-controls', 'aria-labelledby', 'aria-activedescendant']) {
    document.querySelectorAll(`[${name}]`).forEach((each) => {
      if (!document.getElementById(each.getAttribute(name))) wrong.push(`${name} to nothing: ${each.getAttribute(name)}`);
    });
  }
  const levels = [...document.querySelectorAll('main h1, main h2, main h3, main h4')].map((each) => Number(each.tagName[1]));
  if (levels.filter((level) => level === 1).length !== 1) wrong.push(`${levels} is not one h1`);
  levels.forEach((level, place) => { if (place && level > levels[place - 1] + 1) wrong.push(`headings jump: ${levels}`); });
  document.querySelectorAll('th').forEach((each) => { if (!each.scope) wrong.push('th without scope'); });
  document.querySelectorAll('[role=option]').forEach((each) => { if (!each.closest('[role=listbox]')) wrong.push('lost option'); });
  document.querySelectorAll('[tabindex]').forEach((each) => { if (each.tabIndex > 0) wrong.push('an order of its own'); });
  document.querySelectorAll('ul, ol').forEach((list) => [...list.children].forEach((each) => {
    if (each.tagName !== 'LI') wrong.push(`a ${each.tagName} in a list`);
  }));
  document.querySelectorAll('dl').forEach((list) => [...list.children].forEach((each) => {
    if (!/^(DT|DD)$/.test(each.tagName)) wrong.push(`a ${each.tagName} in a dl`);
  }));
  if (!document.documentElement.lang || !document.title) wrong.push('no language or title');
  return wrong;
}
"""
FAINT = """
() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((each) => { const c = each / 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const over = (top, below) => { const a = top.length > 3 ? top[3] : 1; return [0, 1, 2].map((i) => top[i] * a + below[i] * (1 - a)); };
  const ground = (element) => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) {
      const style = getComputedStyle(each);
      const card = each.matches('g.node') ? each.querySelector('.card') : each.matches('g.box') ? each.querySelector('rect') : null;
      if (each.matches('g.row')) layers.push(parse(getComputedStyle(each.querySelector('rect')).fill));
      if (card) layers.push(parse(getComputedStyle(card).fill));
      layers.push(parse(style.backgroundColor));
    }
    const solid = layers.filter((each) => each.length >= 3 && (each.length === 3 || each[3] > 0));
    return solid.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element || !element.checkVisibility()) continue;
    if (element.closest('.hidden, title, option, .dim, .skip, noscript')) continue;
    const style = getComputedStyle(element);
    const below = ground(element);
    const color = over(parse(element instanceof SVGElement ? style.fill : style.color), below);
    const [high, low] = [light(color), light(below)].sort((a, b) => b - a);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < (large ? 3 : 4.5)) found.add(`${element.tagName}.${element.getAttribute('class')} ${ratio.toFixed(2)}: ${walker.currentNode.data.slice(0, 30)}`);
  }
  return [...found];
}
"""


FAILING = (
    "#/lineage", "#/health", "#/page/model.totals", "#/page/model.totals?text=written&line=2",
    "#/page/unit_test.totals.sums",
)  # fmt: skip
"""Where something failed, or is not reached by tests."""


@pytest.fixture(params=["light", "dark"], scope="module")
def page(request, browser: Browser, example_site: Path):
    with watched(browser, example_site, color_scheme=request.param) as site:
        yield site


@pytest.fixture(params=["light", "dark"], scope="module")
def failing(request, browser: Browser, nasty_site: Path):
    with watched(browser, nasty_site, color_scheme=request.param) as site:
        yield site


def check(shown):
    assert shown.evaluate(NAMELESS) == []
    assert shown.evaluate(STRUCTURE) == []
    assert shown.evaluate(FAINT) == []


@pytest.mark.parametrize("address", ADDRESSES)
def test_names_structure_and_contrast(page, address: str):
    check(page.open(address))


@pytest.mark.parametrize("address", FAILING)
def test_names_structure_and_contrast_where_something_failed(failing, address: str):
    check(failing.open(address))


def test_the_check_of_contrast_finds_faint_text(page):
    shown = page.open("#/health")
    shown.evaluate(
        "document.querySelector('h1').style.color = getComputedStyle(document.body).backgroundColor"
    )
    assert len(shown.evaluate(FAINT)) == 1
    shown.evaluate("document.querySelector('h1').style.color = ''")


def test_keys_go_through_the_page_in_its_order_and_show_where_they_are(browser: Browser, example_site: Path):
    with watched(browser, example_site) as site:
        page = site.open("#/lineage")
        seen = []
        for _ in range(12):
            page.keyboard.press("Tab")
            seen.append(
                page.evaluate(
                    "() => { const e = document.activeElement; const s = getComputedStyle(e);"
                    " return [e.getAttribute('aria-label') || (e.closest('label') || e).textContent.slice(0, 12),"
                    " s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2 || e.matches('.skip')]; }"
                )
            )
        names = [name for name, _ in seen]
        assert names[:7] == [
            "Skip to the content".strip()[:12], "shop", "Overview", "Lineage", "Topology", "Health",
            "Search names, columns, descriptions and SQL",
        ]  # fmt: skip
        assert names[7] == "Switch between light and dark"
        assert names[8].startswith("Boxes")
        assert all(visible for _, visible in seen), seen


def test_the_canvas_can_be_reached_and_left_by_keys(browser: Browser, example_site: Path):
    with watched(browser, example_site) as site:
        page = site.open("#/lineage")
        page.get_by_label("Save as PNG").focus()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.getAttribute('role')") == "application"
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Open its page"
