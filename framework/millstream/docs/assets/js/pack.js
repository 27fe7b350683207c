// Packs a part of a map into a small graph: columns without gaps, in the map's order, then a few sweeps. Python
// lays out whole projects (docs/layout); here only selected parts are packed.

const NODE = {height: 36, between: 14, bend: 10, gap: 84, margin: 28};

// `edges` are [source, target, look]; `sizes` gives width and height of a node, ports the heights of an edge's ends.
function pack(numbers, edges, sizes, map) {
  const positions = new Map(map.nodes.map((node) => [node[0], node]));
  const shown = numbers.filter((number) => positions.has(number));
  const ranks = ranked(shown, edges, (number) => positions.get(number)[1]);
  const columns = [];
  const items = new Map();
  for (const number of shown) {
    const item = {number, rank: ranks.get(number), ideal: positions.get(number)[2], ...sizes(number), near: []};
    items.set(number, item);
    (columns[item.rank] = columns[item.rank] || []).push(item);
  }
  const routes = edges.filter(([a, b]) => items.has(a) && items.has(b))
    .map((edge) => route(edge, items, columns));
  columns.forEach((column) => column.sort((one, other) => one.ideal - other.ideal));
  untangle(columns);
  stack(columns);
  return placed(columns, routes, shown, items);
}

// Ranks follow the part's own edges, so that nodes are close together.
function ranked(numbers, edges, rankOf) {
  const inside = new Set(numbers);
  const above = new Map(numbers.map((number) => [number, []]));
  const below = new Map(numbers.map((number) => [number, []]));
  for (const [source, target] of edges) {
    if (inside.has(source) && inside.has(target)) {
      above.get(target).push(source);
      below.get(source).push(target);
    }
  }
  const levels = new Map();
  for (const number of [...numbers].sort((one, other) => rankOf(one) - rankOf(other))) {
    levels.set(number, Math.max(0, ...above.get(number).map((neighbour) => (levels.get(neighbour) ?? -1) + 1)));
  }
  for (const number of [...numbers].sort((one, other) => rankOf(other) - rankOf(one))) {
    const readers = below.get(number).map((neighbour) => levels.get(neighbour));
    if (readers.length && !above.get(number).length) levels.set(number, Math.min(...readers) - 1);
  }
  return levels;
}

function route([source, target, look], items, columns) {
  const from = items.get(source);
  const to = items.get(target);
  const bends = [];
  let last = from;
  for (let rank = from.rank + 1; rank < to.rank; rank += 1) {
    const share = (rank - from.rank) / (to.rank - from.rank);
    const bend = {bend: true, rank, ideal: from.ideal + (to.ideal - from.ideal) * share, width: 0, height: 0, near: []};
    (columns[rank] = columns[rank] || []).push(bend);
    join(last, bend);
    bends.push(bend);
    last = bend;
  }
  join(last, to);
  return {from, to, bends, look};
}

function join(one, other) {
  one.near.push(other);
  other.near.push(one);
}

function untangle(columns) {
  columns.forEach((column) => column.forEach((item, index) => { item.index = index; }));
  for (let sweep = 0; sweep < 6; sweep += 1) {
    const order = sweep % 2 ? [...columns].reverse() : columns;
    for (const column of order) {
      for (const item of column) {
        const side = item.near.filter((other) => (sweep % 2 ? other.rank > item.rank : other.rank < item.rank));
        item.wish = side.length ? side.reduce((sum, other) => sum + other.index, 0) / side.length : item.index;
      }
      column.sort((one, other) => one.wish - other.wish);
      column.forEach((item, index) => { item.index = index; });
    }
  }
}

const distance = (one, other) => (one.height + other.height) / 2 + (one.bend || other.bend ? NODE.bend : NODE.between);

// Moves every item as close to the mean of its neighbours as its column permits (pool adjacent violators).
function stack(columns) {
  for (const column of columns) {
    let y = 0;
    column.forEach((item, index) => {
      y += index ? distance(column[index - 1], item) : 0;
      item.y = y;
    });
    column.forEach((item) => { item.y -= y / 2; });
  }
  for (let sweep = 0; sweep < 12; sweep += 1) {
    for (const column of sweep % 2 ? [...columns].reverse() : columns) settle(column);
  }
}

function settle(column) {
  const blocks = [];
  let offset = 0;
  column.forEach((item, index) => {
    offset += index ? distance(column[index - 1], item) : 0;
    item.offset = offset;
    let total = 0;
    let sum = 0;
    for (const other of item.near) {
      const pull = item.bend && other.bend ? 9 : item.bend || other.bend ? 3 : 1;
      total += pull;
      sum += pull * other.y;
    }
    let block = {mean: (total ? sum / total : item.y) - offset, weight: total || 0.1, items: [item]};
    while (blocks.length && blocks[blocks.length - 1].mean > block.mean) {
      const before = blocks.pop();
      const weight = before.weight + block.weight;
      block = {
        mean: (before.mean * before.weight + block.mean * block.weight) / weight, weight,
        items: before.items.concat(block.items),
      };
    }
    blocks.push(block);
  });
  for (const block of blocks) for (const item of block.items) item.y = block.mean + item.offset;
}

function placed(columns, routes, shown, items) {
  let x = NODE.margin;
  let top = Infinity;
  let bottom = -Infinity;
  for (const column of columns) {
    const width = Math.max(8, ...column.map((item) => item.width));
    for (const item of column) {
      Object.assign(item, {x, right: x + width});
      top = Math.min(top, item.y - item.height / 2);
      bottom = Math.max(bottom, item.y + item.height / 2);
    }
    x += width + NODE.gap;
  }
  const down = NODE.margin - top;
  const nodes = shown.map((number) => items.get(number))
    .map((item) => ({key: item.number, x: item.x, y: item.y - item.height / 2 + down, w: item.width, h: item.height}));
  const edges = routes.map(({from, to, bends, look}) => {
    const [out, into] = (look && look.ports) || [from.height / 2, to.height / 2];
    const points = [[from.x + from.width, from.right, from.y - from.height / 2 + out + down]];
    for (const bend of bends) points.push([bend.x, bend.right, bend.y + down]);
    points.push([to.x, to.x, to.y - to.height / 2 + into + down]);
    return {a: from.number, b: to.number, points, ...look};
  });
  return {width: x - NODE.gap + NODE.margin, height: bottom - top + 2 * NODE.margin, nodes, edges, boxes: []};
}
