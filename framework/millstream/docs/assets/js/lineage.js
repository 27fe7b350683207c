// The lineage: the whole project, a part of it around one node or between two, and columns.

const HOPS = ['0', '1', '2', '3', '5', 'all'];
// Larger parts are not packed, because that would take too long.
const MOVED = 600;
const hops = (text, otherwise) => (text === 'all' ? Infinity : Number(text || otherwise));

function nodeParts(node, small) {
  const entry = site.entries[node.key];
  const name = cut(entry.name, Math.floor((node.w - 30) / 7.2));
  // If zoomed out, only the name is shown, as large as fits into its box.
  const size = small ? Math.max(12, Math.min(17, (node.w - 26) / (name.length * 0.68))) : 12;
  const parts = [
    svg('rect', {class: 'card', width: node.w, height: node.h, rx: 6}),
    svg('rect', {class: 'stripe', width: 4, height: node.h - 12, x: 6, y: 6, rx: 2}),
    svg('text', {class: 'title', x: 17, y: small ? 18 + size * 0.36 : 16, style: small ? `font-size:${size.toFixed(1)}px` : null}, name),
    svg('title', {}, [entry.name, entry.about].filter(Boolean).join('\n')),
  ];
  // Unreadable texts are not drawn: thousands of them would be slow.
  if (!small) parts.push(svg('text', {class: 'small', x: 17, y: 29}, smallText(entry)));
  if (entry.state) parts.push(svg('circle', {class: 'state', cx: node.w - (small ? 8 : 11), cy: small ? 8 : 12, r: 3.5}));
  if (isBad(entry)) parts.push(svg('path', {class: 'bad', d: `M${node.w - 16} ${NODE.height - 6}h10l-5 -9z`}));
  return parts;
}

function smallText(entry) {
  return entry.kind === 'model' || entry.kind === 'source' ? entry.stored : WORDS[entry.kind];
}

function saidOf(node) {
  const entry = site.entries[node.key];
  return `${WORDS[entry.kind]} ${entry.name}, ${entry.stored || ''}, reads ${entry.parents.length}, read by ${entry.children.length}${isBad(entry) ? ', failing' : ''}`;
}

const kindOf = (node) => site.entries[node.key].kind;

function edgesAmong(numbers) {
  const inside = new Set(numbers);
  const edges = [];
  for (const number of numbers) {
    for (const parent of new Set(site.entries[number].parents)) if (inside.has(parent)) edges.push([parent, number]);
  }
  return edges;
}

function passes(entry, query) {
  const fits = (name, value) => !query.get(name) || query.get(name) === value;
  if (query.get('tag') && !entry.tags.includes(query.get('tag'))) return false;
  if (query.get('folder') && !`${entry.folder || ''}/`.startsWith(`${query.get('folder')}/`)) return false;
  return fits('stored', entry.stored) && fits('owner', entry.owner) && fits('kind', entry.kind);
}

const FILTERS = ['kind', 'stored', 'folder', 'tag', 'owner'];

// The selected entries: all (null), or a list with its title.
function chosen(query) {
  const focus = site.byId.get(query.get('focus'));
  const filtered = FILTERS.some((name) => query.get(name));
  let numbers = null;
  let title = '';
  if (query.get('from') || query.get('to')) {
    [numbers, title] = between(site.byId.get(query.get('from')), site.byId.get(query.get('to')));
  } else if (focus) {
    const above = reach([focus.number], hops(query.get('up'), 1), upwards);
    const below = reach([focus.number], hops(query.get('down'), 1), downwards);
    numbers = [...new Set([...above, ...below])];
    title = `${focus.name} with ${count(above.size - 1, 'node')} above and ${count(below.size - 1, 'node')} below`;
  }
  if (filtered) {
    const among = numbers || site.entries.filter(flowing).map((entry) => entry.number);
    numbers = among.filter((number) => passes(site.entries[number], query) || (focus && number === focus.number));
    title = [title, `${count(numbers.length, 'node')} of ${among.length}`].filter(Boolean).join(' · ');
  }
  return [numbers && numbers.sort((one, other) => one - other), title];
}

function between(from, to) {
  if (!from || !to) return [[from || to].filter(Boolean).map((entry) => entry.number), 'Choose both ends of the path'];
  for (const [start, end] of [[from, to], [to, from]]) {
    const below = reach([start.number], Infinity, downwards);
    if (below.has(end.number)) {
      const above = reach([end.number], Infinity, upwards);
      const path = [...below].filter((number) => above.has(number));
      return [path, `${count(path.length, 'node')} on the path from ${start.name} to ${end.name}`];
    }
  }
  return [[from.number, to.number], `There is no path from ${from.name} to ${to.name}`];
}

async function lineageView(main, {query}) {
  const name = site.start.maps.includes(query.get('by')) ? query.get('by') : site.start.maps[0];
  const map = await load(`map-${name}`);
  if (query.get('column')) return columnView(main, query, map);
  const [numbers, title] = chosen(query);
  const unknown = ['focus', 'from', 'to', 'select'].map((parameter) => query.get(parameter)).filter((id) => id && !site.byId.has(id));
  if (unknown.length) return missing(main, `There is no node ${unknown.join(', ')}.`, 'Lineage');
  if (!numbers && (query.get('by') === 'folders' || (!query.toString() && fromAfar()))) return foldersView(main, query, map);
  const width = new Map(map.nodes.map((node) => [node[0], node[3]]));
  const packed = () => pack(numbers, edgesAmong(numbers), (number) => ({width: width.get(number), height: NODE.height}), map);
  const graph = !numbers ? wholeMap(map) : numbers.length > MOVED ? partOf(map, numbers) : packed();
  const panel = h('aside', {class: 'panel', 'aria-label': 'What is selected', hidden: true});
  const select = (key) => {
    const entry = site.entries[key];
    if (key === null || !entry) {
      canvas.select(null, null);
      panel.hidden = true;
      return;
    }
    const near = new Set([...reach([key], Infinity, upwards), ...reach([key], Infinity, downwards)]);
    canvas.select(key, near);
    panel.hidden = false;
    panel.replaceChildren(...summary(entry, query));
    say(saidOf({key}));
  };
  // Update the address, so that it links to what is shown.
  const pick = (key) => {
    select(key);
    if (key === null) query.delete('select');
    else query.set('select', site.entries[key].id);
    history.replaceState(null, '', address('lineage', '', Object.fromEntries(query)));
    main.dataset.shown = location.hash;
  };
  const canvas = new Canvas(graph, {
    label: `Lineage: ${title || count(graph.nodes.length, 'node')}`, draw: nodeParts, describe: saidOf, kind: kindOf,
    pick, open: (key) => { location.hash = address('page', site.entries[key].id); }, minimap: true,
  });
  main.replaceChildren(h('h1', {class: 'hidden'}, 'Lineage'),
    toolbar(query, name, title), h('div', {class: 'stage'}, canvas.element, panel));
  addButtons(canvas);
  addKey(canvas);
  const focus = site.byId.get(query.get('select')) || site.byId.get(query.get('focus'));
  const there = focus && canvas.byKey.has(focus.number);
  if (there) select(focus.number);
  canvas.fit();
  if (there && !(numbers && canvas.inSight(canvas.byKey.get(focus.number)))) canvas.center(focus.number, Math.max(canvas.view.scale, 0.8));
  canvas.show();
  allColumns(false); // the next question may be about one
  if (!graph.nodes.length) canvas.element.append(h('p', {class: 'empty'}, 'Nothing matches these filters.'));
  return undefined;
}

// The panel next to the graph, about one node.
function summary(entry, query) {
  const by = query.get('by');
  const near = (numbers) => h('ul', {class: 'plain'}, numbers.slice(0, 12).map((number) => h('li', {}, link(number))),
    numbers.length > 12 ? h('li', {}, `and ${numbers.length - 12} more`) : null);
  const columns = h('div', {});
  of('columns', entry.number).then(({columns: details}) => {
    if (!details) return;
    columns.append(h('h3', {}, 'Columns'), h('ul', {class: 'plain columns'}, details.map((column) => h('li', {},
      h('a', {href: address('lineage', '', {column: `${entry.id}.${column.name}`, by})}, column.name),
      h('span', {class: 'type'}, column.type)))));
  });
  return [
    h('p', {class: 'kind'}, badge(entry), entry.state ? ' keeps state' : ''),
    h('h2', {}, entry.name), lasts(entry), entry.about ? h('p', {}, entry.about) : null,
    h('p', {class: 'actions'},
      h('a', {class: 'button', href: address('page', entry.id)}, 'Open its page'),
      h('a', {class: 'button', href: address('lineage', '', {focus: entry.id, up: 1, down: 1, by})}, 'Focus'),
      h('a', {class: 'button', href: address('lineage', '', {from: query.get('from') || entry.id, to: query.get('from') ? entry.id : '', by})},
        query.get('from') ? 'Path to here' : 'Path from here')),
    entry.parents.length ? [h('h3', {}, 'Reads'), near(entry.parents)] : null,
    entry.children.length ? [h('h3', {}, 'Read by'), near(entry.children)] : null, columns,
  ].flat().filter(Boolean);
}

function badge(entry) {
  return h('span', {class: `badge kind-${entry.kind}`}, h('i', {class: 'dot', 'aria-hidden': 'true'}), WORDS[entry.kind],
    entry.stored && entry.stored !== entry.kind ? ` · ${entry.stored.replace(/_/g, ' ')}` : '');
}
