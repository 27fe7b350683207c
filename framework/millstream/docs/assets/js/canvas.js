// A graph to look at: zoom, pan, keys. Of large graphs only what is in sight is drawn, and from far off all nodes
// of a kind are one path: thousands of elements would make every move slow.

const FAR = 0.28;
const CROWD = 400;
const FEW = 250;
const SMALL = 0.6;

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

// `draw(node)` gives the elements within a node, and `said(node)` what a screen reader says of it.
function makeCanvas(graph, {label, draw, said, kind, pick, open, minimap}) {
  const byKey = new Map(graph.nodes.map((node) => [node.key, node]));
  const places = new Map(graph.nodes.map((node, place) => [node.key, place]));
  measureEdges(graph);
  const layers = {boxes: svg('g', {}), edges: svg('g', {}), nodes: svg('g', {})};
  const layer = svg('g', {}, layers.boxes, layers.edges, layers.nodes);
  let groups = new Map();
  const root = svg('svg', {
    class: graph.edges.length > 4 * CROWD ? 'canvas dense' : 'canvas', tabindex: '0', role: 'application', 'aria-label': label,
    'aria-roledescription': 'graph', 'aria-keyshortcuts': 'ArrowLeft ArrowRight ArrowUp ArrowDown Enter + - 0',
  }, arrows(), layer);
  const frame = h('div', {class: 'frame'}, root);
  const view = {x: 0, y: 0, scale: 1};
  const state = {selected: null, marked: null, waiting: false, changed: 0};
  const id = `n${Math.random().toString(36).slice(2, 8)}-`;

  function size() {
    return [root.clientWidth || 800, root.clientHeight || 500];
  }

  // Draws what is in sight; what was drawn before stays as long as nothing else is to be seen.
  function show() {
    state.waiting = false;
    layer.setAttribute('transform', `translate(${view.x} ${view.y}) scale(${view.scale})`);
    const [width, height] = size().map((each) => each / view.scale);
    const [left, top] = [-view.x / view.scale, -view.y / view.scale];
    if (map) map.show(left, top, width, height);
    const seen = [left, top, left + width, top + height];
    const level = view.scale < FAR && graph.nodes.length > CROWD ? 'far' : view.scale < SMALL ? 'small' : 'full';
    const same = state.drawn === state.changed && state.level === level;
    if (same && (level === 'far' || within(seen, state.area))) return;
    // Who moves the picture goes on moving it: then more than what is in sight is drawn at once.
    const more = same ? [width / 2, height / 2] : [40, 40];
    const area = [left - more[0], top - more[1], seen[2] + more[0], seen[3] + more[1]];
    if (level === 'far') fromAfar();
    else nearBy(area, level !== state.level);
    Object.assign(state, {area, level, drawn: state.changed});
  }

  function later() {
    if (!state.waiting) {
      state.waiting = true;
      requestAnimationFrame(show);
    }
  }

  function boxes() {
    return graph.boxes.map((box) => svg('g', {class: 'box'},
      svg('rect', {x: box.x, y: box.y, width: box.w, height: box.h, rx: 10}),
      svg('text', {x: box.x + 12, y: box.y + 19}, box.name)));
  }

  function marking(edge) {
    if (!state.marked) return '';
    return state.marked.has(edge.a) && state.marked.has(edge.b) ? ' marked' : ' dim';
  }

  function edgeGroup(edge) {
    return svg('g', {class: `edge ${edge.look || ''}${marking(edge)}`},
      svg('path', {d: line(edge)}, edge.title ? svg('title', {}, edge.title) : null),
      svg('path', {class: 'tip', d: tip(edge)}));
  }

  // Many edges that look the same are one path: an element for each would take longer than all the rest.
  function edgeGroups(edges) {
    if (edges.length <= FEW) return edges.filter((edge) => marking(edge) !== ' marked').map(edgeGroup);
    const alike = edges.filter((edge) => marking(edge) !== ' marked');
    return [svg('g', {class: `edge${state.marked ? ' dim' : ''}`}, svg('path', {d: alike.map(line).join('')}),
      svg('path', {class: 'tip', d: alike.map(tip).join('')}))];
  }

  function nearBy(area, anew) {
    const nodes = graph.nodes.filter((node) => (
      node.x < area[2] && node.x + node.w > area[0] && node.y < area[3] && node.y + node.h > area[1]));
    const edges = graph.edges.filter(({box}) => (
      box[0] < area[2] && box[2] > area[0] && box[1] < area[3] && box[3] > area[1]));
    const marked = state.marked ? edges.filter((edge) => marking(edge) === ' marked') : [];
    if (!layers.boxes.childElementCount) layers.boxes.replaceChildren(...boxes());
    layers.edges.replaceChildren(...edgeGroups(edges), ...marked.map(edgeGroup));
    const before = anew ? new Map() : groups;
    if (anew || !groups.size) layers.nodes.replaceChildren();
    const now = new Map();
    for (const node of nodes) {
      const group = before.get(node.key) || nodeGroup(node);
      now.set(node.key, group);
      before.delete(node.key);
      const name = nodeClass(node);
      if (group.getAttribute('class') !== name) group.setAttribute('class', name);
      if (!group.parentNode) layers.nodes.append(group);
    }
    for (const group of before.values()) group.remove();
    groups = now;
  }

  function nodeClass(node) {
    const off = state.marked && !state.marked.has(node.key) ? ' dim' : '';
    const on = state.selected === node.key ? ' selected' : '';
    return `node kind-${kind(node)}${off}${on}${node.look ? ' ' + node.look : ''}`;
  }

  function nodeGroup(node) {
    return svg('g', {
      id: id + places.get(node.key), role: 'button', 'aria-label': said(node), transform: `translate(${node.x} ${node.y})`,
      'data-key': node.key,
    }, draw(node, view.scale < SMALL));
  }

  function fromAfar() {
    const paths = new Map();
    for (const node of graph.nodes) {
      const off = state.marked && !state.marked.has(node.key) ? ' dim' : '';
      const name = `far-node kind-${kind(node)}${off}`;
      paths.set(name, `${paths.get(name) || ''}M${node.x} ${node.y}h${node.w}v${node.h}h${-node.w}z`);
    }
    const marked = graph.edges.filter((edge) => marking(edge) === ' marked').slice(0, 8 * CROWD);
    const edges = marked.length || graph.edges.length > 8 * CROWD ? marked : graph.edges;
    groups = new Map();
    layers.boxes.replaceChildren(...boxes());
    layers.edges.replaceChildren(svg('path', {class: 'far-edge', d: edges.map(line).join('')}));
    layers.nodes.replaceChildren(...[...paths].map(([name, d]) => svg('path', {class: name, d})));
  }

  const api = {
    element: frame, root, graph, byKey,
    fit() {
      state.unseen = !root.clientWidth;
      const [width, height] = size();
      const whole = Math.min(width / graph.width, height / graph.height, 1.15);
      const readable = whole >= 0.3 || graph.nodes.length <= 60;
      view.scale = readable ? whole : Math.max(0.5, Math.min(width / graph.width, 1));
      view.x = Math.max(0, (width - graph.width * view.scale) / 2);
      view.y = (height - graph.height * view.scale) / 2;
      later();
    },
    zoom(by, x, y) {
      const [width, height] = size();
      const at = [x === undefined ? width / 2 : x, y === undefined ? height / 2 : y];
      const scale = Math.min(2.5, Math.max(Math.min(0.3, height / graph.height / 2), view.scale * by));
      view.x = at[0] - ((at[0] - view.x) * scale) / view.scale;
      view.y = at[1] - ((at[1] - view.y) * scale) / view.scale;
      view.scale = scale;
      later();
    },
    pan(x, y) {
      view.x += x;
      view.y += y;
      later();
    },
    center(key, scale) {
      const node = byKey.get(key);
      if (node) api.look(node.x + node.w / 2, node.y + node.h / 2, scale);
    },
    look(x, y, scale) {
      const [width, height] = size();
      view.scale = scale || view.scale;
      view.x = width / 2 - x * view.scale;
      view.y = height / 2 - y * view.scale;
      later();
    },
    select(key, marked) {
      state.selected = key;
      state.marked = marked || null;
      state.changed += 1;
      if (key === null || key === undefined) root.removeAttribute('aria-activedescendant');
      else root.setAttribute('aria-activedescendant', id + places.get(key));
      show();
    },
    get selected() { return state.selected; },
    get view() { return view; },
    show,
  };
  const map = minimap && graph.nodes.length > 60 ? makeMinimap(graph, kind, (x, y) => api.look(x, y)) : null;
  if (map) frame.append(map.element);
  listen(api, {pick, open, inSight: (node) => {
    const [width, height] = size();
    const [x, y] = [node.x * view.scale + view.x, node.y * view.scale + view.y];
    return x > 0 && y > 0 && x + node.w * view.scale < width && y + node.h * view.scale < height;
  }});
  // A canvas that is not on the page yet has no size to fit into.
  new ResizeObserver(() => (state.unseen ? api.fit() : later())).observe(root);
  return api;
}

function arrows() {
  return svg('title', {}, 'A graph: arrow keys move from node to node, Enter opens, plus and minus zoom, 0 fits');
}

function makeMinimap(graph, kind, look) {
  const [width, height] = [Math.min(180, (220 * graph.width) / graph.height), Math.min(220, (180 * graph.height) / graph.width)];
  const paths = new Map();
  for (const node of graph.nodes) {
    const name = kind(node);
    paths.set(name, `${paths.get(name) || ''}M${node.x} ${node.y}h${node.w}v${node.h}h${-node.w}z`);
  }
  const window_ = svg('rect', {class: 'window'});
  const element = svg('svg', {
    class: 'minimap', viewBox: `0 0 ${graph.width} ${graph.height}`, width, height, preserveAspectRatio: 'none',
    'aria-hidden': 'true',
  }, [...paths].map(([name, d]) => svg('path', {class: `far-node kind-${name}`, d})), window_);
  const go = (event) => {
    const at = element.getBoundingClientRect();
    look(((event.clientX - at.left) / at.width) * graph.width, ((event.clientY - at.top) / at.height) * graph.height);
  };
  element.addEventListener('pointerdown', (event) => {
    element.setPointerCapture(event.pointerId);
    go(event);
  });
  element.addEventListener('pointermove', (event) => { if (event.buttons) go(event); });
  return {element, show(x, y, w, height_) { fill(window_, {x, y, width: w, height: height_}, []); }};
}
