// The controls above a lineage; each changes the address, so that every picture has its link.

const TITLES = {kind: 'Kind', stored: 'Stored', folder: 'Folder', tag: 'Tag', owner: 'Owner'};

const cached = new Map();

function values(name) {
  if (!cached.has(name)) cached.set(name, valuesOf(name));
  return cached.get(name);
}

function valuesOf(name) {
  const distinct = new Set();
  for (const entry of site.entries) {
    if (!flowing(entry)) continue;
    if (name === 'tag') entry.tags.forEach((tag) => distinct.add(tag));
    else if (name === 'folder') folders(entry.folder).forEach((folder) => distinct.add(folder));
    else if (entry[name]) distinct.add(entry[name]);
  }
  return [...distinct].sort();
}

function folders(path) {
  const parts = (path || '').split('/').filter(Boolean);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

function change(query, changes) {
  const next = Object.fromEntries(query);
  Object.assign(next, changes);
  location.hash = address('lineage', '', next);
}

function selectBox(title, options, value, changed) {
  return h('label', {class: 'choice'}, h('span', {}, title),
    h('select', {'aria-label': title, onchange: (event) => changed(event.target.value)},
      options.map(([key, text]) => h('option', {value: key, selected: key === value}, text))));
}

const BY = {none: 'nothing', folder: 'folder', query: 'query', folders: 'folders only'};

function toolbar(query, by, title) {
  const focus = site.byId.get(query.get('focus'));
  const steps = (name, text) => selectBox(text, HOPS.map((hop) => [hop, hop]), query.get(name) || '1',
    (value) => change(query, {[name]: value}));
  const filters = FILTERS.map((name) => [name, values(name)]).filter(([, choices]) => choices.length > 1)
    .map(([name, choices]) => selectBox(TITLES[name], [['', 'all'], ...choices.map((option) => [option, WORDS[option] || option])],
      query.get(name) || '', (value) => change(query, {[name]: value})));
  const narrowed = title || query.get('column');
  return h('div', {class: 'tools', role: 'toolbar', 'aria-label': 'What the graph shows'},
    selectBox('Boxes', [...site.start.maps, 'folders'].map((name) => [name, BY[name]]), by, (value) => change(query, {by: value})),
    filters, finder('Focus', query.get('focus'), (id) => change(query, {focus: id, from: '', to: '', column: ''})),
    focus ? [steps('up', 'Up'), steps('down', 'Down')] : null,
    finder('From', query.get('from'), (id) => change(query, {from: id, focus: '', column: ''})),
    finder('To', query.get('to'), (id) => change(query, {to: id, focus: '', column: ''})),
    narrowed ? h('a', {class: 'button', href: address('lineage', '', {by: query.get('by')})}, 'Show all') : null,
    h('span', {class: 'end quiet', role: 'status'}, title || ''));
}

// The buttons of a canvas; they save this canvas, and zoom others next to it, too.
function buttons(canvas, ...others) {
  const all = [canvas, ...others];
  const button = (text, label, act) => h('button', {type: 'button', title: label, 'aria-label': label, onclick: act}, text);
  return h('div', {class: 'buttons'}, h('span', {class: 'group'},
    button('−', 'Zoom out', () => all.forEach((canvas) => canvas.zoom(0.8))),
    button('+', 'Zoom in', () => all.forEach((canvas) => canvas.zoom(1.25))),
    button('Fit', 'Fit the graph', () => all.forEach((canvas) => canvas.fit()))), h('span', {class: 'group'},
    button('SVG', 'Save as SVG', () => exportSvg(canvas)), button('PNG', 'Save as PNG', () => exportPng(canvas))));
}

function addButtons(canvas) {
  canvas.below = 44;
  canvas.element.prepend(buttons(canvas));
}

// A legend of the colors and marks that occur.
function addKey(canvas) {
  const entries = canvas.graph.nodes.map(({key}) => site.entries[key]);
  const kinds = [...FLOWING].filter((kind) => entries.some((entry) => entry.kind === kind));
  const mark = (look, shape) => svg('svg', {width: 12, height: 12, class: 'marks', 'aria-hidden': 'true'}, svg('path', {class: look, d: shape}));
  canvas.element.append(h('ul', {class: 'key', 'aria-label': 'What colours and marks stand for'},
    kinds.map((kind) => h('li', {class: `kind-${kind}`}, h('i', {class: 'swatch', 'aria-hidden': 'true'}), WORDS[kind])),
    entries.some((entry) => entry.state) ? h('li', {}, mark('state', 'M6 2.5a3.5 3.5 0 1 0 .01 0z'), 'keeps state') : null,
    entries.some(isBad) ? h('li', {}, mark('bad', 'M1 10.5h10l-5 -9z'), 'it failed, or one of its tests') : null));
}

// A field that completes names of nodes.
function finder(title, value, select) {
  const entry = site.byId.get(value);
  const act = (event) => {
    const text = event.target.value.trim();
    const named = site.entries.find((entry) => flowing(entry) && (entry.name === text || entry.id === text));
    if (named || !text) select(named ? named.id : '');
    else event.target.setCustomValidity(`there is no node ${text}`);
  };
  return h('label', {class: 'choice'}, h('span', {}, title),
    h('input', {type: 'text', list: 'names', value: entry ? entry.name : '', placeholder: 'a name', onchange: act, size: 9}));
}

function nameList() {
  const most = site.entries.filter(flowing).slice(0, 2000);
  document.body.append(h('datalist', {id: 'names'}, most.map((entry) => h('option', {value: entry.name}))));
}
