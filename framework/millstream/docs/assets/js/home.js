// The first page: an overview of the project, and where to start.

const KINDS = ['source', 'seed', 'model', 'exposure', 'metric', 'function', 'query', 'test', 'unit_test'];
const MANY = {query: 'query groups'};

function homeView(main) {
  const {start} = site;
  const by = new Map(KINDS.map((kind) => [kind, site.entries.filter((entry) => entry.kind === kind)]));
  const models = by.get('model');
  main.replaceChildren(h('article', {class: 'page home'},
    h('header', {}, h('h1', {}, start.project),
      h('p', {class: 'quiet'}, `Target ${start.target} · Millstream ${start.version}`,
        start.run ? ` · last build ${when(start.run)}` : '', start.tested ? ` · last tests ${when(start.tested)}` : '')),
    h('ul', {class: 'tiles'}, KINDS.filter((kind) => by.get(kind).length).map((kind) => h('li', {},
      h('a', {href: address('list', kind), class: `tile kind-${kind}`}, h('b', {}, by.get(kind).length.toLocaleString('en')),
        h('span', {}, h('i', {class: 'dot', 'aria-hidden': 'true'}), by.get(kind).length === 1 ? WORDS[kind] : MANY[kind] || `${WORDS[kind]}s`))))),
    h('section', {class: 'doors'},
      h('a', {class: 'door', href: '#/lineage'}, h('b', {}, 'Lineage'), 'What reads what, down to columns'),
      h('a', {class: 'door', href: '#/topology'}, h('b', {}, 'Topology'), 'The plan as written, as optimized, and each rule between'),
      h('a', {class: 'door', href: '#/health'}, h('b', {}, 'Health'), healthText())),
    models.length <= 400 ? folderList(models) : null,
    models.length > 400 ? section('Folders', h('ul', {class: 'plain wide'}, [...byFolder(models)].map(([folder, members]) => h('li', {},
      h('a', {href: address('lineage', '', {folder})}, folder || 'models'), h('span', {class: 'quiet'}, ` ${count(members.length, 'model')}`))))) : null));
}

function healthText() {
  const open = site.start.health.filter((finding) => finding.entries && finding.entries.length);
  return open.length ? open.map((finding) => `${finding.title}: ${finding.entries.length}`).slice(0, 3).join(' · ') : 'Everything is described, tested and used';
}

function byFolder(models) {
  const members = new Map();
  for (const entry of models) {
    if (!members.has(entry.folder || '')) members.set(entry.folder || '', []);
    members.get(entry.folder || '').push(entry);
  }
  return members;
}

function folderList(models) {
  return [...byFolder(models)].map(([folder, members]) => section(folder || 'models', h('ul', {class: 'plain wide'},
    members.map((entry) => h('li', {}, link(entry.number), h('span', {class: 'stored'}, entry.stored),
      h('span', {class: 'quiet'}, entry.about || ''))))));
}

const PAGE = 500;

function listView(main, {id, query}) {
  const members = site.entries.filter((entry) => entry.kind === id);
  if (!members.length) return missing(main, `There is no ${id}.`);
  const [ran, owned, described] = ['last', 'owner', 'about'].map((name) => members.some((entry) => entry[name]));
  const from = Number(query.get('from') || 0);
  const part = members.slice(from, from + PAGE);
  const step = (start, text) => h('a', {class: 'button', href: address('list', id, {from: start || ''})}, text);
  main.replaceChildren(h('article', {class: 'page'}, h('h1', {}, count(members.length, WORDS[id], MANY[id])),
    scrolled('List', h('table', {},
      h('thead', {}, h('tr', {}, ['Name', 'Kind', ran ? 'Last result' : null, owned ? 'Owner' : null, described ? 'Description' : null].filter(Boolean).map((title) => h('th', {scope: 'col'}, title)))),
      h('tbody', {}, part.map((entry) => h('tr', {}, h('th', {scope: 'row'}, link(entry.number)), h('td', {}, (entry.stored || '').replace(/_/g, ' ')),
        ran ? h('td', {}, status(entry)) : null, owned ? h('td', {}, entry.owner || '') : null, described ? h('td', {}, entry.about || '') : null))))),
    h('p', {class: 'actions'}, from ? step(from - PAGE, 'Previous') : null, from + PAGE < members.length ? step(from + PAGE, 'Next') : null)));
  return undefined;
}
