// Graphs as points: where edges run, and the graph of a whole map.

function curve(points, down) {
  let d = '';
  const point = down ? (x, y) => `${y} ${x}` : (x, y) => `${x} ${y}`;
  points.forEach(([x, right, y], index) => {
    if (!index) {
      d = `M${point(x, y)}`;
    } else {
      const [, before, height] = points[index - 1];
      const middle = (before + x) / 2;
      d += `C${point(middle, height)} ${point(middle, y)} ${point(x, y)}`;
    }
    if (right > x) d += `${down ? 'V' : 'H'}${right}`;
  });
  return d;
}

// The graph of a whole map, computed once: numbers become points, and if edges go down, x and y are exchanged.
const graphs = new WeakMap();

function wholeMap(map) {
  if (!graphs.has(map)) graphs.set(map, fromMap(map));
  return graphs.get(map);
}

// A part that is too large to be packed: its nodes keep their positions.
function partOf(map, numbers) {
  const [full, chosen] = [wholeMap(map), new Set(numbers)];
  return {
    ...full, boxes: [], measured: false,
    nodes: full.nodes.filter((node) => chosen.has(node.key)), edges: full.edges.filter(({a, b}) => chosen.has(a) && chosen.has(b)),
  };
}

function fromMap(map, key) {
  const {down} = map;
  const column = (rank) => map.columns[rank];
  const turned = (x, y) => (down ? {x: y, y: x} : {x, y});
  const nodes = map.nodes.map(([entry, rank, y, w, height], index) => (
    {key: key ? key(index) : entry, ...turned(column(rank)[0], y), w, h: height, rank}));
  const edges = map.edges.map(([source, target, ys]) => {
    const from = nodes[source];
    const to = nodes[target];
    const end = column(from.rank)[0] + column(from.rank)[1];
    const points = [down ? [from.y + from.h, end, from.x + from.w / 2] : [from.x + from.w, end, from.y + from.h / 2]];
    (ys || []).forEach((y, step) => {
      const [x, width] = column(from.rank + 1 + step);
      points.push([x, x + width, y]);
    });
    points.push(down ? [to.y, to.y, to.x + to.w / 2] : [to.x, to.x, to.y + to.h / 2]);
    return {a: from.key, b: to.key, points, down};
  });
  const boxes = map.boxes.map(([name, x, y, w, height]) => (
    {name, ...turned(x, y), ...(down ? {w: height, h: w} : {w, h: height})}));
  return {...(down ? {width: map.height, height: map.width} : {width: map.width, height: map.height}), nodes, edges, boxes, down};
}

const within = (inner, outer) => Boolean(outer) && inner[0] >= outer[0] && inner[1] >= outer[1] && inner[2] <= outer[2] && inner[3] <= outer[3];

function measureEdges(graph) {
  if (graph.measured) return;
  graph.measured = true;
  for (const edge of graph.edges) {
    let [top, bottom] = [Infinity, -Infinity];
    for (const [, , y] of edge.points) {
      top = Math.min(top, y);
      bottom = Math.max(bottom, y);
    }
    const [first, last] = [edge.points[0][0], edge.points[edge.points.length - 1][0]];
    edge.box = edge.down ? [top, first, bottom, last] : [first, top, last, bottom];
  }
}

// The line and the tip of an edge, computed when they are first drawn.
function line(edge) {
  edge.d = edge.d || curve(edge.points, edge.down);
  return edge.d;
}

function tip(edge) {
  const [x, , y] = edge.points[edge.points.length - 1];
  return edge.down ? `M${y - 4} ${x - 7}L${y} ${x}L${y + 4} ${x - 7}` : `M${x - 7} ${y - 4}L${x} ${y}L${x - 7} ${y + 4}`;
}
