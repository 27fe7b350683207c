// The frame around all pages: which one the address asks for, the search field, light and dark.

const VIEWS = {
  home: homeView, lineage: lineageView, topology: topologyView, health: healthView, page: pageView, list: listView,
};
const NAV = [['', 'Overview'], ['lineage', 'Lineage'], ['topology', 'Topology'], ['health', 'Health']];

async function go(first) {
  const asked = readAddress();
  const main = $('main');
  const view = VIEWS[asked.view] ? asked.view : 'home';
  main.className = `view-${view}`;
  document.querySelectorAll('#nav a').forEach((each) => {
    const on = each.dataset.view === (view === 'home' ? '' : view);
    if (on) each.setAttribute('aria-current', 'page');
    else each.removeAttribute('aria-current');
  });
  const entry = site.byId.get(asked.id);
  const title = entry ? entry.name : (NAV.find(([name]) => name === asked.view) || NAV[0])[1];
  document.title = `${title} · ${site.start.project}`;
  try {
    await VIEWS[view](main, asked);
  } catch (error) {
    missing(main, `This page can't be shown: ${error.message}`);
  }
  main.dataset.shown = location.hash || '#/';
  if (!first) {
    main.focus({preventScroll: true});
    if (view !== 'lineage') window.scrollTo(0, 0);
  }
  const part = view === 'health' && asked.id ? $(`health-${asked.id}`) : null;
  if (part) part.scrollIntoView();
}

function theme() {
  let kept = null;
  try {
    kept = localStorage.getItem('millstream-theme');
  } catch (error) { /* a file of its own may have no storage */ }
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const set = (name) => {
    document.documentElement.dataset.theme = name;
    $('theme').textContent = name === 'dark' ? '☾' : '☀';
  };
  set(kept || (dark.matches ? 'dark' : 'light'));
  dark.addEventListener('change', () => set(dark.matches ? 'dark' : 'light'));
  $('theme').addEventListener('click', () => {
    const name = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
    set(name);
    try {
      localStorage.setItem('millstream-theme', name);
    } catch (error) { /* then it lasts as long as the page */ }
  });
}

const SHOWN = 12;

function searching() {
  const field = $('search');
  const box = $('found');
  let chosen_ = -1;
  const close = () => {
    box.hidden = true;
    field.setAttribute('aria-expanded', 'false');
    field.removeAttribute('aria-activedescendant');
  };
  const choose = (place) => {
    const options = [...box.querySelectorAll('[role=option]')];
    chosen_ = options.length ? (place + options.length) % options.length : -1;
    options.forEach((option, at) => option.setAttribute('aria-selected', String(at === chosen_)));
    if (chosen_ >= 0) {
      field.setAttribute('aria-activedescendant', options[chosen_].id);
      options[chosen_].scrollIntoView({block: 'nearest'});
    }
  };
  const update = () => {
    const text = field.value.trim();
    if (!text) return close();
    const found = search(text);
    box.replaceChildren(...found.slice(0, SHOWN).map(option), h('p', {class: 'quiet'},
      found.length ? count(found.length, 'hit') : `Nothing holds ${text}.`));
    box.hidden = false;
    field.setAttribute('aria-expanded', 'true');
    return choose(0);
  };
  field.addEventListener('input', update);
  field.addEventListener('focus', () => fillSearch(() => { if (!box.hidden) update(); }));
  field.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      choose(chosen_ + (event.key === 'ArrowDown' ? 1 : -1));
    } else if (event.key === 'Enter') {
      const option_ = box.querySelectorAll('[role=option]')[chosen_];
      if (!box.hidden && option_) option_.click();
    } else if (event.key === 'Escape') close();
  });
  box.addEventListener('click', () => {
    close();
    field.value = '';
  });
  document.addEventListener('click', (event) => { if (!event.target.closest('.seek')) close(); });
  document.addEventListener('keydown', (event) => {
    const typing = /^(input|select|textarea)$/i.test(document.activeElement.tagName);
    if ((event.key === '/' && !typing) || (event.key === 'k' && (event.ctrlKey || event.metaKey))) {
      event.preventDefault();
      field.focus();
    }
  });
}

function option(hit) {
  const entry = site.entries[hit.number];
  const where = h('span', {class: 'where'});
  snippet(hit).then((text) => where.append(...marked(text, hit.term)));
  return h('a', {
    role: 'option', id: `hit-${hit.number}`, tabindex: '-1', href: address('page', entry.id), class: `hit kind-${entry.kind}`,
  }, h('i', {class: 'dot', 'aria-hidden': 'true'}), h('b', {}, ...marked(entry.name, hit.term)), h('span', {class: 'is'}, WORDS[entry.kind]), where);
}

function marked(text, term) {
  const at = text.toLowerCase().indexOf(term);
  return at < 0 ? [text] : [text.slice(0, at), h('mark', {}, text.slice(at, at + term.length)), text.slice(at + term.length)];
}

theme();
load('start').then((start) => {
  begin(start);
  $('brand').textContent = start.project;
  $('nav').append(...NAV.map(([name, title]) => h('a', {href: `#/${name}`, 'data-view': name}, title)));
  beginSearch();
  nameList();
  searching();
  window.addEventListener('hashchange', () => go(false));
  go(true);
});
