// A graph to look at: zoom, pan, keys, and which node is selected.

const FAR = 0.4;
const SMALL = 0.6;

class Canvas {
  // `pick(key, row)` handles a click, `open(key)` a double click or Enter; for `draw`, `said` and `kind`, see Drawing.
  constructor(graph, {label, draw, describe, kind, pick, open, minimap}) {
    // `below` is the height that controls on the picture cover.
    Object.assign(this, {graph, below: 0, view: {x: 0, y: 0, scale: 1}, changed: 0, byKey: new Map(graph.nodes.map((node) => [node.key, node]))});
    this.drawing = new Drawing(graph, {draw, describe, kind});
    this.root = svg('svg', {
      class: graph.edges.length > 4 * CROWD ? 'canvas dense' : 'canvas', tabindex: '0', role: 'application', 'aria-label': label,
      'aria-roledescription': 'graph', 'aria-keyshortcuts': 'ArrowLeft ArrowRight ArrowUp ArrowDown Enter + - 0',
    }, svg('title', {}, 'A graph: arrow keys move from node to node, Enter opens, plus and minus zoom, 0 fits'), this.drawing.layer);
    this.map = minimap && graph.nodes.length > 60 ? makeMinimap(graph, kind, (x, y) => this.look(x, y)) : null;
    this.element = h('div', {class: 'frame'}, this.root, this.map && this.map.element);
    this.root.canvas = this; // a print finds it
    listen(this, {pick, open});
    // A canvas has no size until it is on the page.
    new ResizeObserver(() => (this.unseen ? this.fit() : this.later())).observe(this.root);
  }

  get size() {
    return [this.root.clientWidth || 800, this.root.clientHeight || 500];
  }

  get selected() {
    return this.drawing.selected;
  }

  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => this.show());
  }

  // Draws what is visible; nothing is drawn again while only drawn nodes are visible.
  show() {
    const {x, y, scale} = this.view;
    this.waiting = false;
    this.drawing.layer.setAttribute('transform', `translate(${x} ${y}) scale(${scale})`);
    const [width, height] = this.size.map((length) => length / scale);
    const seen = [-x / scale, -y / scale, width - x / scale, height - y / scale];
    if (this.map) this.map.show(seen[0], seen[1], width, height);
    const level = scale < FAR && this.graph.nodes.length > CROWD ? 'far' : scale < SMALL ? 'small' : 'full';
    const same = this.drawn === this.changed && this.level === level;
    if (same && (level === 'far' || within(seen, this.area))) return;
    // While the picture is being moved, draw more than what is visible.
    const [right, down] = same ? [width / 2, height / 2] : [40, 40];
    const area = [seen[0] - right, seen[1] - down, seen[2] + right, seen[3] + down];
    if (level === 'far') this.drawing.far();
    else this.drawing.near(area, level === 'small', level !== this.level);
    Object.assign(this, {area, level, drawn: this.changed});
    this.point();
  }

  // Names the selected node for screen readers, if it is drawn.
  point() {
    const {selected, groups} = this.drawing;
    if (groups.has(selected)) this.root.setAttribute('aria-activedescendant', this.drawing.id(selected));
    else this.root.removeAttribute('aria-activedescendant');
  }

  fit() {
    const {graph, view} = this;
    const [width, height] = this.size;
    this.unseen = !this.root.clientWidth;
    const free = height - this.below;
    const fitting = Math.min(width / graph.width, free / graph.height, 1.15);
    const readable = fitting >= (graph.nodes.length > 60 ? 0.3 : 0.6);
    view.scale = readable ? fitting : Math.max(0.75, Math.min(width / graph.width, 1));
    view.x = Math.max(0, (width - graph.width * view.scale) / 2);
    const room = free - graph.height * view.scale;
    view.y = graph.nodes.length > CROWD ? room / 2 : Math.max(0, room / 2);
    this.later();
  }

  zoom(by, x = this.size[0] / 2, y = this.size[1] / 2) {
    const {view} = this;
    const least = Math.min(0.3, this.size[1] / this.graph.height / 2);
    const scale = Math.min(2.5, Math.max(least, view.scale * by));
    view.x = x - ((x - view.x) * scale) / view.scale;
    view.y = y - ((y - view.y) * scale) / view.scale;
    view.scale = scale;
    this.later();
  }

  pan(x, y) {
    this.view.x += x;
    this.view.y += y;
    this.later();
  }

  // Centers a point of the graph, as far as the picture stays filled.
  look(x, y, scale = this.view.scale) {
    const {graph, size: [width, height]} = this;
    const filled = (position, first, last, length) => (
      length <= last - first ? (first + last - length) / 2 : Math.min(first, Math.max(last - length, position)));
    Object.assign(this.view, {
      scale, x: filled(width / 2 - x * scale, 0, width, graph.width * scale),
      y: filled(height / 2 - y * scale, 0, height - this.below, graph.height * scale),
    });
    this.later();
  }

  center(key, scale) {
    const node = this.byKey.get(key);
    if (node) this.look(node.x + node.w / 2, node.y + node.h / 2, scale);
  }

  inSight(node) {
    const {view} = this;
    const [x, y] = [node.x * view.scale + view.x, node.y * view.scale + view.y];
    return x > 0 && y > 0 && x + node.w * view.scale < this.size[0] && y + node.h * view.scale < this.size[1];
  }

  // Selects a node, or none, and marks some; all others are dimmed.
  select(key, marked) {
    Object.assign(this.drawing, {selected: key, marked: marked || null});
    this.changed += 1;
    this.show();
  }
}
