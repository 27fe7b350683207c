// The page of one entry.

const SAYS = {query: 'How it runs', function: 'How it is called', test: 'What it checks', unit_test: 'What it checks'};

function missing(main, text, title) {
  main.replaceChildren(h('article', {class: 'page'}, h('h1', {}, title || 'Not here'), h('p', {}, text),
    h('p', {}, h('a', {href: '#/'}, 'Overview'))));
}

async function pageView(main, {id, query}) {
  const entry = site.byId.get(id);
  if (!entry) return missing(main, `There is no page for ${id}.`);
  const [page, {columns, rows}, code] = await Promise.all(['pages', 'columns', 'code'].map((family) => of(family, entry.number)));
  const flows = flowing(entry);
  const article = h('article', {class: 'page'},
    h('header', {}, h('p', {class: 'kind'}, badge(entry), entry.tags.map((tag) => tagLink(tag))),
      h('h1', {}, entry.name), lasts(entry), entry.path ? h('p', {class: 'path'}, entry.path) : null,
      page.about ? h('div', {class: 'about'}, markup(page.about)) : entry.about || !entry.kind.includes('test') ? h('p', {class: 'quiet'}, entry.about || 'No description.') : null,
      entry.owner ? h('p', {}, 'Owner: ', h('a', {href: address('lineage', '', {owner: entry.owner})}, entry.owner)) : null),
    (page.notes || []).map((note) => h('p', {class: 'note'}, note)),
    flows ? await near(entry) : null,
    entry.kind === 'query' ? [list('Models that it computes', entry.parents), topologyLink(entry)] : null,
    facts(SAYS[entry.kind] || 'What it says', page.facts), facts('Settings', page.config), facts('More', page.meta),
    columns ? columnTable(entry, columns, rows, (query.get('column') || '').toLowerCase()) : null,
    !flows && entry.kind !== 'query' ? list('Checks', entry.parents) : null,
    entry.kind === 'function' ? list('Called by', await callers(entry)) : null,
    list('Python functions that it calls', page.functions || []),
    await tests(entry, columns || []), coverage(entry, page.coverage), stateOf(page), result(entry, page.result),
    await codeTabs(entry, code, query, page.coverage));
  article.querySelector('header').after(parts(entry, article) || '');
  main.replaceChildren(article);
  const part = query.get('part') && $(`part-${query.get('part')}`);
  if (part) requestAnimationFrame(() => part.scrollIntoView());
  return undefined;
}

function topologyLink(entry) {
  const drawn = site.start.topologies.some(([name]) => name === entry.name);
  return drawn ? h('p', {class: 'actions'}, h('a', {class: 'button', href: address('topology', entry.name)}, 'Its plan, rule by rule')) : null;
}

function tagLink(tag) {
  return h('a', {class: 'tag', href: address('lineage', '', {tag})}, tag);
}

function list(title, numbers) {
  if (!numbers.length) return null;
  return section(title, h('ul', {class: 'plain wide'}, numbers.map((number) => h('li', {}, link(number),
    site.entries[number].about ? h('span', {class: 'quiet'}, ` ${site.entries[number].about}`) : null))));
}

function section(title, ...children) {
  return h('section', {id: `part-${slug(title)}`}, h('h2', {}, title), children);
}

// `17 columns` is `columns` in an address: their number may change.
const slug = (title) => title.toLowerCase().replace(/^[\d,]+ /, '').replace(/[^a-z0-9]+/g, '-');

// Links to the sections of a long page.
function parts(entry, article) {
  const sections = [...article.querySelectorAll(':scope > section')];
  if (sections.length < 4) return null;
  return h('nav', {class: 'parts', 'aria-label': 'On this page'}, h('ul', {}, sections.map((part) => h('li', {},
    h('a', {
      href: address('page', entry.id, {part: part.id.slice(5)}),
      onclick: () => part.scrollIntoView(), // the address may be the same as before
    }, part.firstChild.textContent)))));
}

// A table that is wider than a small screen scrolls, also by keys.
function scrolled(label, table) {
  return h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label}, table);
}

function facts(title, pairs) {
  if (!pairs || !pairs.length) return null;
  return section(title, h('dl', {class: 'facts'}, pairs.map(([name, text]) => [h('dt', {}, name), h('dd', {}, linked(text))])));
}

// An address of the web is a link, as it is in a description.
function linked(text) {
  return /^https?:\/\/\S+$/i.test(text) ? h('a', {href: text, rel: 'noopener noreferrer', target: '_blank'}, text) : text;
}

// A small lineage: what it reads and what reads it.
async function near(entry) {
  const map = await load(`map-${site.start.maps[0]}`);
  const numbers = [entry.number, ...new Set(entry.parents), ...new Set(entry.children)].filter((number) => flowing(site.entries[number]));
  const shown = [...new Set(numbers)].slice(0, 60);
  const width = new Map(map.nodes.map((node) => [node[0], node[3]]));
  const graph = pack(shown.sort((one, other) => one - other),
    edgesAmong(shown).filter((edge) => edge.includes(entry.number)), (number) => ({width: width.get(number), height: NODE.height}), map);
  const canvas = new Canvas(graph, {
    label: `What ${entry.name} reads and what reads it`, draw: nodeParts, describe: saidOf, kind: kindOf,
    pick: (key) => { if (key !== null) location.hash = address('page', site.entries[key].id); },
    open: (key) => { location.hash = address('page', site.entries[key].id); },
  });
  canvas.root.style.height = `${Math.min(360, Math.max(90, graph.height))}px`;
  canvas.select(entry.number, null);
  canvas.fit();
  return section('Lineage', canvas.element, h('p', {class: 'actions'},
    h('a', {class: 'button', href: address('lineage', '', {focus: entry.id, up: 2, down: 2})}, 'Look further'),
    h('a', {class: 'button', href: address('lineage', '', {select: entry.id})}, 'Show in the whole project'),
    entry.queries.map((number) => link(number, `query ${site.entries[number].name}`))),
  h('details', {}, h('summary', {}, 'As a list'), list('Reads', entry.parents), list('Read by', entry.children)));
}

async function callers(entry) {
  const pages = (await Promise.all(chunksOf('pages'))).flat();
  return pages.flatMap((page, number) => ((page.functions || []).includes(entry.number) ? [number] : []));
}

function columnTable(entry, columns, rows, requested) {
  const edge = ([number, position, kind]) => h('li', {}, h('span', {class: `influence flow-${kind}`}, kind), ' ', columnLink(number, position));
  const computed = columns.some((column) => column.from_);
  const checked = columns.some((column) => column.tests);
  const to = (column) => address('lineage', '', {column: `${entry.id}.${column.name}`});
  return section(count(columns.length, 'column'), scrolled('Columns',
    h('table', {class: 'columns'},
      h('thead', {}, h('tr', {}, ['Name', 'Type', 'Description', computed ? 'From' : null, checked ? 'Tests' : null].filter(Boolean).map((title) => h('th', {scope: 'col'}, title)))),
      h('tbody', {}, columns.map((column) => h('tr', {id: `column-${column.name}`, class: column.name.toLowerCase() === requested ? 'asked' : null},
        h('th', {scope: 'row'}, h('a', {href: to(column), title: 'Where its value comes from and goes'}, column.name)),
        h('td', {class: 'type'}, column.type, column.required ? h('span', {class: 'required'}, ' never NULL') : null),
        h('td', {}, markup(column.about)), computed ? h('td', {}, h('ul', {class: 'plain'}, (column.from_ || []).map(edge))) : null,
        !checked ? null : h('td', {}, h('ul', {class: 'plain'}, (column.tests || []).map((test) => h('li', {}, link(test, site.entries[test].stored.replace(/_/g, ' '))))))))))),
  rows ? h('details', {}, h('summary', {}, `What decides over its rows: ${count(rows.length, 'column')}`), h('ul', {class: 'plain'}, rows.map(edge))) : null);
}

function columnLink(number, position) {
  const anchor = h('a', {class: 'name', href: address('page', site.entries[number].id)}, site.entries[number].name);
  of('columns', number).then(({columns}) => {
    const column = columns && columns[position];
    if (!column) return;
    anchor.textContent = `${site.entries[number].name}.${column.name}`;
    anchor.href = address('lineage', '', {column: `${site.entries[number].id}.${column.name}`});
  });
  return anchor;
}

function stateOf(page) {
  if (!page.state || !page.state.length) return null;
  return section('State signature', h('p', {class: 'quiet'}, 'What its checkpoint depends on: a change of any of it needs a rebuild.'),
    page.state.map((operator) => h('details', {}, h('summary', {}, `${operator.name}: ${operator.kind}`),
      h('dl', {class: 'facts'}, (operator.facts || []).map(([name, text]) => [h('dt', {}, name), h('dd', {}, text)])))));
}

async function codeTabs(entry, code, query, covered) {
  const texts = [];
  const add = (name, title, text) => { if (text) texts.push({name, title, text}); };
  add('written', entry.kind === 'function' ? 'Python' : 'As written', code.written);
  add('compiled', entry.kind === 'test' ? 'As it asks' : 'Compiled', code.compiled);
  add('optimized', 'As it runs', code.optimized);
  if (entry.kind === 'model') {
    for (const number of entry.queries) {
      const query_ = site.entries[number];
      add(`optimized-${query_.name}`, `As it runs in ${query_.name}`, (await of('code', number)).optimized);
    }
  }
  if (!texts.length) return null;
  const yaml = entry.kind.includes('test') && !entry.path.endsWith('.sql');
  const language = (name) => (entry.kind === 'function' ? 'python' : yaml && name === 'written' ? 'yaml' : 'sql');
  const body = h('div', {role: 'tabpanel', id: 'text'});
  const tabs = texts.map(({name, title, text}) => h('button', {
    type: 'button', role: 'tab', 'aria-controls': 'text', id: `tab-${name}`, onclick: () => choose(name, text),
  }, title));
  const choose = (name, text) => {
    tabs.forEach((tab) => {
      const on = tab.id === `tab-${name}`;
      tab.setAttribute('aria-selected', String(on));
      tab.tabIndex = on ? 0 : -1;
    });
    body.setAttribute('aria-labelledby', `tab-${name}`);
    const isWritten = name === 'written';
    body.replaceChildren(highlighted(text, language(name), isWritten ? missedLines(covered) : undefined, name === query.get('text') ? Number(query.get('line')) : 0));
  };
  const first = texts.find(({name}) => name === query.get('text')) || texts[0];
  choose(first.name, first.text);
  const row = h('div', {class: 'tabs', role: 'tablist', 'aria-label': 'Which text', onkeydown: (event) => {
    const index = tabs.indexOf(document.activeElement) + {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!tabs[index]) return;
    tabs[index].click();
    tabs[index].focus();
  }}, tabs);
  return section(entry.kind === 'function' || yaml ? 'Text' : 'SQL', row, body);
}
