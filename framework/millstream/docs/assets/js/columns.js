// Where a column's value comes from, where it goes, and what decides over the rows: nodes are cards of columns.

const VALUES = new Set(['direct', 'computed']);
const INFLUENCES = {
  direct: 'taken as it is', computed: 'computed from it', filter: 'decides which rows there are',
  join: 'decides which rows meet', group: 'rows are grouped by it', order: 'rows are ordered by it',
};
const ROW = {height: 18, head: 40};
let readers = null;

// All columns with those that read them; loaded at the first question about a column.
async function allColumns() {
  if (readers) return readers;
  const parts = await Promise.all(chunksOf('columns'));
  const listed = parts.flat();
  const below = new Map();
  const add = (from, to) => {
    const key = from[0] + ':' + from[1];
    if (!below.has(key)) below.set(key, []);
    below.get(key).push(to);
  };
  listed.forEach((each, entry) => {
    (each.columns || []).forEach((column, place) => (column.from_ || []).forEach((edge) => add(edge, [entry, place, edge[2]])));
    (each.rows || []).forEach((edge) => add(edge, [entry, -1, edge[2]]));
  });
  readers = {listed, below};
  return readers;
}

function trace(start, {listed, below}) {
  const edges = new Map();
  const add = (from, to, kind) => edges.set(`${from}>${to}>${kind}`, {from, to, kind});
  const walk = (next) => {
    const seen = new Set([start.join(':')]);
    let level = [start];
    while (level.length) {
      const following = [];
      for (const end of level) {
        for (const [other, kind, edge] of next(end)) {
          add(edge[0], edge[1], kind);
          if (VALUES.has(kind) && !seen.has(other.join(':'))) {
            seen.add(other.join(':'));
            following.push(other);
          }
        }
      }
      level = following;
    }
  };
  const told = new Set();
  walk(([entry, place]) => {
    const from = (edge, to) => [[edge[0], edge[1]], edge[2], [[edge[0], edge[1]], to]];
    const found = (listed[entry].columns[place].from_ || []).map((edge) => from(edge, [entry, place]));
    if (!told.has(entry)) found.push(...(listed[entry].rows || []).map((edge) => from(edge, [entry, -1])));
    told.add(entry);
    return found;
  });
  walk(([entry, place]) => (below.get(`${entry}:${place}`) || [])
    .map(([other, row, kind]) => [[other, row], kind, [[entry, place], [other, row]]]));
  return [...edges.values()];
}

async function columnView(main, query, map) {
  const all = await allColumns();
  const asked = query.get('column');
  const cut = asked.lastIndexOf('.');
  const entry = site.byId.get(asked.slice(0, cut));
  const name = asked.slice(cut + 1).toLowerCase();
  const place = entry ? (all.listed[entry.number].columns || []).findIndex((column) => column.name.toLowerCase() === name) : -1;
  if (place < 0) return missing(main, `There is no column ${asked}.`);
  const edges = trace([entry.number, place], all).filter(({kind}) => VALUES.has(kind) || query.get('rows') !== 'no');
  const rows = new Map([[entry.number, new Set([place])]]);
  for (const {from, to} of edges) {
    for (const [number, column] of [from, to]) {
      if (!rows.has(number)) rows.set(number, new Set());
      if (column >= 0) rows.get(number).add(column);
    }
  }
  const cards = new Map([...rows].map(([number, places]) => [number, [...places].sort((one, other) => one - other)]));
  const column = (number, at) => all.listed[number].columns[at];
  const port = ([number, at]) => (at < 0 ? ROW.head / 2 : ROW.head + ROW.height * (cards.get(number).indexOf(at) + 0.5));
  const size = (number) => {
    const texts = cards.get(number).map((at) => column(number, at).name.length + column(number, at).type.length + 4);
    return {
      width: Math.min(320, Math.max(site.entries[number].name.length * 7.2 + 44, ...texts.map((most) => most * 6.4 + 24))),
      height: ROW.head + cards.get(number).length * ROW.height + 6,
    };
  };
  const drawn = edges.map(({from, to, kind}) => [from[0], to[0], {
    ports: [port(from), port(to)], look: `flow-${kind}`,
    title: `${site.entries[from[0]].name}.${column(...from).name}: ${kind}, ${INFLUENCES[kind]}`,
  }]);
  const graph = pack([...cards.keys()].sort((one, other) => one - other), drawn, size, map);
  const title = `${entry.name}.${column(entry.number, place).name} and ${count(edges.length, 'influence')}`;
  const open = (key) => { location.hash = address('page', site.entries[key].id); };
  const pick = (key, row) => {
    if (key === null) canvas.select(null, null);
    else if (row !== null) change(query, {column: `${site.entries[key].id}.${column(key, row).name}`});
    else canvas.select(key, null);
  };
  const said = (node) => `${site.entries[node.key].name}: ${cards.get(node.key).map((at) => column(node.key, at).name).join(', ')}`;
  const canvas = makeCanvas(graph, {
    label: `Column lineage of ${title}`, said, kind: kindOf, pick, open, minimap: true,
    draw: (node) => cardParts(node, cards.get(node.key).map((at) => [at, column(node.key, at)]), [entry.number, place]),
  });
  const legend = h('ul', {class: 'legend', 'aria-label': 'Kinds of influence'}, Object.entries(INFLUENCES)
    .map(([kind, text]) => h('li', {title: text}, svg('svg', {width: 30, height: 10, class: `edge flow-${kind}`, 'aria-hidden': 'true'},
      svg('path', {d: 'M1 5H29'})), kind)),
  h('li', {}, h('label', {}, h('input', {
    type: 'checkbox', checked: query.get('rows') !== 'no',
    onchange: (event) => change(query, {rows: event.target.checked ? '' : 'no'}),
  }), ' with what decides over rows')));
  main.replaceChildren(h('h1', {class: 'hidden'}, `Column lineage of ${asked}`), toolbar(query, query.get('by') || site.start.maps[0], canvas, title),
    legend, h('div', {class: 'stage'}, canvas.element));
  canvas.fit();
  canvas.show();
  return undefined;
}

function cardParts(node, rows, start) {
  const parts = nodeParts({key: node.key, w: node.w, h: node.h});
  parts[1] = svg('rect', {class: 'stripe', width: 4, height: ROW.head - 14, x: 6, y: 7, rx: 2});
  rows.forEach(([place, column], index) => {
    const y = ROW.head + index * ROW.height;
    const on = node.key === start[0] && place === start[1] ? ' asked' : '';
    const most = Math.floor((node.w - 28) / 6.4) - column.name.length - 2;
    const type = column.type.length > most ? column.type.slice(0, Math.max(0, most - 1)) + '…' : column.type;
    parts.push(svg('g', {class: `row${on}`, 'data-row': place},
      svg('rect', {x: 1, y, width: node.w - 2, height: ROW.height}),
      svg('text', {x: 12, y: y + 13}, column.name), svg('text', {class: 'type', x: node.w - 10, y: y + 13, 'text-anchor': 'end'}, type)));
  });
  return parts;
}
