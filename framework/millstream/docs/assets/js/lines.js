// Graphs as points: where edges run, and the graph of a whole map.

function curve(points) {
  let d = '';
  points.forEach(([x, right, y], place) => {
    if (!place) {
      d = `M${x} ${y}`;
    } else {
      const [, before, height] = points[place - 1];
      const middle = (before + x) / 2;
      d += `C${middle} ${height} ${middle} ${y} ${x} ${y}`;
    }
    if (right > x) d += `H${right}`;
  });
  return d;
}

// The graph of a whole map: its numbers become points. It is made once: large ones are looked at often.
const graphs = new WeakMap();

function wholeMap(map) {
  if (!graphs.has(map)) graphs.set(map, fromMap(map));
  return graphs.get(map);
}

function fromMap(map, key) {
  const column = (rank) => map.columns[rank];
  const nodes = map.nodes.map(([entry, rank, y, w, height], place) => (
    {key: key ? key(place) : entry, x: column(rank)[0], y, w, h: height, rank}));
  const edges = map.edges.map(([source, target, ys]) => {
    const from = nodes[source];
    const to = nodes[target];
    const end = column(from.rank)[0] + column(from.rank)[1];
    const points = [[from.x + from.w, end, from.y + from.h / 2]];
    (ys || []).forEach((y, step) => {
      const [x, width] = column(from.rank + 1 + step);
      points.push([x, x + width, y]);
    });
    points.push([to.x, to.x, to.y + to.h / 2]);
    return {a: from.key, b: to.key, points};
  });
  const boxes = map.boxes.map(([name, x, y, w, height]) => ({name, x, y, w, h: height}));
  return {width: map.width, height: map.height, nodes, edges, boxes};
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
    edge.box = [edge.points[0][0], top, edge.points[edge.points.length - 1][0], bottom];
  }
}

// The line of an edge and its tip, made when they are drawn first.
function line(edge) {
  edge.d = edge.d || curve(edge.points);
  return edge.d;
}

function tip(edge) {
  const [x, , y] = edge.points[edge.points.length - 1];
  return `M${x - 7} ${y - 4}L${x} ${y}L${x - 7} ${y + 4}`;
}
