// The lineage of a column, and the columns that decide which rows exist; nodes are cards of columns.

const VALUES = new Set(['direct', 'computed']);
const INFLUENCES = {
  direct: 'passed through', computed: 'computed from it', filter: 'decides which rows exist',
  join: 'decides which rows are joined', group: 'rows are grouped by it', order: 'rows are ordered by it',
};
const ROW = {height: 18, head: 40};
let gathered = null;

let hurry = false;

// All columns with their readers: loaded chunk by chunk in the background, or at once when needed.
function allColumns(now) {
  if (now && !hurry) {
    hurry = true;
    chunksOf('columns');
  }
  gathered = gathered || (async () => {
    const collected = {tables: [], below: new Map()};
    const many = Math.ceil(site.entries.length / site.start.chunk);
    for (let chunk = 0; chunk < many; chunk += 1) {
      if (!hurry) await new Promise((resolve) => (window.requestIdleCallback || setTimeout)(resolve));
      for (const table of await load(`columns-${chunk}`)) addReaders(collected, table);
    }
    return collected;
  })();
  return gathered;
}

function addReaders({tables, below}, table) {
  const entry = tables.push(table) - 1;
  const add = (edge, position) => {
    const key = `${edge[0]}:${edge[1]}`;
    if (!below.has(key)) below.set(key, []);
    below.get(key).push([entry, position, edge[2]]);
  };
  (table.columns || []).forEach((column, position) => (column.from_ || []).forEach((edge) => add(edge, position)));
  (table.rows || []).forEach((edge) => add(edge, -1));
}

function trace(start, {tables, below}) {
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
  const visited = new Set();
  walk(([entry, position]) => {
    const from = (edge, to) => [[edge[0], edge[1]], edge[2], [[edge[0], edge[1]], to]];
    const origins = (tables[entry].columns[position].from_ || []).map((edge) => from(edge, [entry, position]));
    if (!visited.has(entry)) origins.push(...(tables[entry].rows || []).map((edge) => from(edge, [entry, -1])));
    visited.add(entry);
    return origins;
  });
  walk(([entry, position]) => (below.get(`${entry}:${position}`) || [])
    .map(([other, row, kind]) => [[other, row], kind, [[entry, position], [other, row]]]));
  return [...edges.values()];
}

// The entry and position of the column that an address names, or nothing.
function columnOf(requested, {tables}) {
  const dot = requested.lastIndexOf('.');
  const entry = site.byId.get(requested.slice(0, dot));
  const name = requested.slice(dot + 1).toLowerCase();
  const position = entry ? (tables[entry.number].columns || []).findIndex((column) => column.name.toLowerCase() === name) : -1;
  return position < 0 ? null : [entry.number, position];
}

// The columns that each card shows, in the order of their model.
function cardsOf(start, edges) {
  const rows = new Map([[start[0], new Set([start[1]])]]);
  for (const {from, to} of edges) {
    for (const [number, position] of [from, to]) {
      if (!rows.has(number)) rows.set(number, new Set());
      if (position >= 0) rows.get(number).add(position);
    }
  }
  return new Map([...rows].map(([number, positions]) => [number, [...positions].sort((one, other) => one - other)]));
}

function columnGraph(edges, cards, column, map) {
  const port = ([number, position]) => (
    position < 0 ? ROW.head / 2 : ROW.head + ROW.height * (cards.get(number).indexOf(position) + 0.5));
  const size = (number) => {
    const texts = cards.get(number).map((position) => column(number, position)).map(({name, type}) => name.length + (type || '').length + 4);
    return {
      width: Math.min(320, Math.max(site.entries[number].name.length * 7.2 + 44, ...texts.map((most) => most * 6.4 + 24))),
      height: ROW.head + cards.get(number).length * ROW.height + 6,
    };
  };
  const drawn = edges.map(({from, to, kind}) => [from[0], to[0], {
    ports: [port(from), port(to)], look: `flow-${kind}`,
    title: `${site.entries[from[0]].name}.${column(...from).name}: ${kind}, ${INFLUENCES[kind]}`,
  }]);
  return pack([...cards.keys()].sort((one, other) => one - other), drawn, size, map);
}

async function columnView(main, query, map) {
  const all = await allColumns(true);
  const requested = query.get('column');
  const start = columnOf(requested, all);
  if (!start) return missing(main, `There is no column ${requested}.`);
  const edges = trace(start, all).filter(({kind}) => VALUES.has(kind) || query.get('rows') !== 'no');
  const cards = cardsOf(start, edges);
  const column = (number, position) => all.tables[number].columns[position];
  const title = `${site.entries[start[0]].name}.${column(...start).name} and ${count(edges.length, 'influence')}`;
  const canvas = new Canvas(columnGraph(edges, cards, column, map), {
    label: `Column lineage of ${title}`, kind: kindOf, minimap: true,
    describe: ({key}) => `${site.entries[key].name}: ${cards.get(key).map((position) => column(key, position).name).join(', ')}`,
    draw: (node) => cardParts(node, cards.get(node.key).map((position) => [position, column(node.key, position)]), start),
    open: (key) => { location.hash = address('page', site.entries[key].id); },
    pick: (key, row) => {
      if (row === null || key === null) canvas.select(key, null);
      else change(query, {column: `${site.entries[key].id}.${column(key, row).name}`});
    },
  });
  main.replaceChildren(h('h1', {class: 'hidden'}, `Column lineage of ${requested}`),
    toolbar(query, query.get('by') || site.start.maps[0], title), legend(query), h('div', {class: 'stage'}, canvas.element));
  addButtons(canvas);
  canvas.fit();
  canvas.show();
  return undefined;
}

function legend(query) {
  const look = (kind) => svg('svg', {width: 30, height: 10, class: `edge flow-${kind}`, 'aria-hidden': 'true'}, svg('path', {d: 'M1 5H29'}));
  const rows = h('input', {
    type: 'checkbox', checked: query.get('rows') !== 'no',
    onchange: (event) => change(query, {rows: event.target.checked ? '' : 'no'}),
  });
  return h('ul', {class: 'legend', 'aria-label': 'Kinds of influence'},
    Object.entries(INFLUENCES).map(([kind, text]) => h('li', {title: text}, look(kind), kind)),
    h('li', {}, h('label', {}, rows, ' with what decides over rows')));
}

function cardParts(node, rows, start) {
  const parts = nodeParts(node, false);
  parts[1] = svg('rect', {class: 'stripe', width: 4, height: ROW.head - 14, x: 6, y: 7, rx: 2});
  rows.forEach(([position, column], index) => {
    const y = ROW.head + index * ROW.height;
    const on = node.key === start[0] && position === start[1] ? ' asked' : '';
    const most = Math.floor((node.w - 28) / 6.4) - column.name.length - 2;
    const type = cut(column.type || '', most);
    parts.push(svg('g', {class: `row${on}`, 'data-row': position},
      svg('rect', {x: 1, y, width: node.w - 2, height: ROW.height}),
      svg('text', {x: 12, y: y + 13}, column.name), svg('text', {class: 'type', x: node.w - 10, y: y + 13, 'text-anchor': 'end'}, type)));
  });
  return parts;
}
