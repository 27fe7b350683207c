// Draws a graph: only visible nodes, and if zoomed out, all nodes of a kind as one path, since thousands of elements
// would be slow.

const CROWD = 400;
const FEW = 250;

class Drawing {
  // `draw(node, small)` returns the elements of a node, `said(node)` its label for screen readers.
  constructor(graph, {draw, describe, kind}) {
    Object.assign(this, {graph, draw, describe, kind, selected: null, marked: null, groups: new Map()});
    this.parts = {boxes: svg('g', {}), edges: svg('g', {}), nodes: svg('g', {})};
    this.layer = svg('g', {}, this.parts.boxes, this.parts.edges, this.parts.nodes);
    this.indexes = new Map(graph.nodes.map((node, index) => [node.key, index]));
    this.prefix = `n${Math.random().toString(36).slice(2, 8)}-`;
    measureEdges(graph);
  }

  id(key) {
    return this.prefix + this.indexes.get(key);
  }

  near(area, small, redraw) {
    const nodes = this.graph.nodes.filter((node) => (
      node.x < area[2] && node.x + node.w > area[0] && node.y < area[3] && node.y + node.h > area[1]));
    const edges = this.graph.edges.filter(({box}) => (
      box[0] < area[2] && box[2] > area[0] && box[1] < area[3] && box[3] > area[1]));
    if (!this.parts.boxes.childElementCount) this.drawBoxes();
    this.drawEdges(edges);
    this.drawNodes(nodes, small, redraw);
  }

  // Nodes that stay visible keep their elements.
  drawNodes(nodes, small, redraw) {
    if (redraw || !this.groups.size) this.parts.nodes.replaceChildren();
    const before = redraw ? new Map() : this.groups;
    this.groups = new Map();
    for (const node of nodes) {
      const group = before.get(node.key) || this.nodeGroup(node, small);
      before.delete(node.key);
      this.groups.set(node.key, group);
      const name = this.nodeClass(node);
      if (group.getAttribute('class') !== name) group.setAttribute('class', name);
      if (!group.parentNode) this.parts.nodes.append(group);
    }
    for (const group of before.values()) group.remove();
  }

  nodeGroup(node, small) {
    return svg('g', {
      id: this.id(node.key), role: 'button', 'aria-label': this.describe(node), 'data-key': node.key,
      transform: `translate(${node.x} ${node.y})`,
    }, this.draw(node, small));
  }

  nodeClass(node) {
    const on = this.selected === node.key ? ' selected' : '';
    return `node kind-${this.kind(node)}${this.dimmed(node)}${on}${node.look ? ' ' + node.look : ''}`;
  }

  dimmed(node) {
    return this.marked && !this.marked.has(node.key) ? ' dim' : '';
  }

  isMarked(edge) {
    return Boolean(this.marked) && this.marked.has(edge.a) && this.marked.has(edge.b);
  }

  // Edges that look the same are one path: an element for each would be slow.
  drawEdges(edges) {
    const marked = edges.filter((edge) => this.isMarked(edge));
    const others = edges.filter((edge) => !this.isMarked(edge));
    const look = this.marked ? ' dim' : '';
    const drawn = edges.length <= FEW ? others.map((edge) => edgeGroup(edge, look))
      : [svg('g', {class: `edge${look}`}, svg('path', {d: others.map(line).join('')}),
        svg('path', {class: 'tip', d: others.map(tip).join('')}))];
    this.parts.edges.replaceChildren(...drawn, ...marked.map((edge) => edgeGroup(edge, ' marked')));
  }

  drawBoxes() {
    this.parts.boxes.replaceChildren(...this.graph.boxes.map((box) => svg('g', {class: 'box'},
      svg('rect', {x: box.x, y: box.y, width: box.w, height: box.h, rx: 10}),
      svg('text', {x: box.x + 12, y: box.y + 19}, box.name))));
  }

  far() {
    const most = 8 * CROWD;
    const marked = this.graph.edges.filter((edge) => this.isMarked(edge)).slice(0, most);
    const edges = marked.length || this.graph.edges.length > most ? marked : this.graph.edges;
    this.groups = new Map();
    this.drawBoxes();
    this.parts.edges.replaceChildren(svg('path', {class: 'far-edge', d: edges.map(line).join('')}));
    this.parts.nodes.replaceChildren(...outlines(this.graph.nodes, (node) => `far-node kind-${this.kind(node)}${this.dimmed(node)}`));
  }
}

function edgeGroup(edge, look) {
  return svg('g', {class: `edge ${edge.look || ''}${look}`},
    svg('path', {d: line(edge)}, edge.title ? svg('title', {}, edge.title) : null),
    svg('path', {class: 'tip', d: tip(edge)}));
}

// The outlines of all nodes that look the same as one path.
function outlines(nodes, look) {
  const paths = new Map();
  for (const node of nodes) {
    const name = look(node);
    if (!paths.has(name)) paths.set(name, []);
    paths.get(name).push(`M${node.x} ${node.y}h${node.w}v${node.h}h${-node.w}z`);
  }
  return [...paths].map(([name, parts]) => svg('path', {class: name, d: parts.join('')}));
}
