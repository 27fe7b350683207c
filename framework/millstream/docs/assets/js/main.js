// The frame of all pages: routing, light and dark; then it starts.

const VIEWS = {
  home: homeView, lineage: lineageView, topology: topologyView, health: healthView, page: pageView, list: listView,
};
const NAV = [['', 'Overview'], ['lineage', 'Lineage'], ['topology', 'Topology'], ['health', 'Health']];

async function go(first) {
  const requested = readAddress();
  const main = $('main');
  const view = VIEWS[requested.view] ? requested.view : 'home';
  main.className = `view-${view}`;
  document.querySelectorAll('#nav a').forEach((anchor) => {
    const on = anchor.dataset.view === (view === 'home' ? '' : view);
    if (on) anchor.setAttribute('aria-current', 'page');
    else anchor.removeAttribute('aria-current');
  });
  const entry = site.byId.get(requested.id);
  const title = entry ? entry.name : (NAV.find(([name]) => name === requested.view) || NAV[0])[1];
  document.title = `${title} · ${site.start.project}`;
  try {
    await VIEWS[view](main, requested);
  } catch (error) {
    missing(main, `This page can't be shown: ${error.message}`);
  }
  main.dataset.shown = location.hash || '#/';
  if (!first) {
    main.focus({preventScroll: true});
    if (view !== 'lineage') window.scrollTo(0, 0);
  }
  const part = view === 'health' && requested.id ? $(`health-${requested.id}`) : document.querySelector('.page .asked');
  if (part) part.scrollIntoView();
}

function theme() {
  let stored = null;
  try {
    stored = localStorage.getItem('millstream-theme');
  } catch (error) { /* a file of its own may have no storage */ }
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const set = (name) => {
    document.documentElement.dataset.theme = name;
    $('theme').textContent = name === 'dark' ? '☾' : '☀';
  };
  set(stored || (dark.matches ? 'dark' : 'light'));
  dark.addEventListener('change', () => set(dark.matches ? 'dark' : 'light'));
  $('theme').addEventListener('click', () => {
    const name = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
    set(name);
    try {
      localStorage.setItem('millstream-theme', name);
    } catch (error) { /* then it lasts as long as the page */ }
  });
}

theme();
load('start').then((start) => {
  begin(start);
  $('brand').textContent = start.project;
  $('nav').append(...NAV.map(([name, title]) => h('a', {href: `#/${name}`, 'data-view': name}, title)));
  beginSearch();
  beginPrinting();
  nameList();
  new Finder($('search'), $('found')).begin();
  window.addEventListener('hashchange', () => go(false));
  go(true);
});
