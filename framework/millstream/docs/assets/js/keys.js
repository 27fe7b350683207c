// Mouse, touch and keyboard control of a canvas.

function listen(canvas, {pick, open}) {
  const {root} = canvas;
  const keyOf = (event) => {
    const group = event.target.closest && event.target.closest('[data-key]');
    if (!group) return null;
    return canvas.byKey.has(group.dataset.key) ? group.dataset.key : Number(group.dataset.key);
  };
  drag(canvas, (event) => {
    const key = keyOf(event);
    const row = event.target.closest && event.target.closest('[data-row]');
    pick(key, row ? Number(row.dataset.row) : null);
  });
  root.addEventListener('dblclick', (event) => {
    const key = keyOf(event);
    if (key !== null) open(key);
  });
  root.addEventListener('wheel', (event) => {
    event.preventDefault();
    const bounds = root.getBoundingClientRect();
    if (event.ctrlKey || event.metaKey || !event.shiftKey) {
      canvas.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), event.clientX - bounds.left, event.clientY - bounds.top);
    } else canvas.pan(-event.deltaX, -event.deltaY);
  }, {passive: false});
  root.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const done = pressed(canvas, event, {pick, open});
    if (done) event.preventDefault();
  });
}

function drag(canvas, clicked) {
  const {root} = canvas;
  const fingers = new Map();
  let start = null;
  root.addEventListener('pointerdown', (event) => {
    if (event.button) return;
    fingers.set(event.pointerId, event);
    start = fingers.size === 1 ? {x: event.clientX, y: event.clientY, moved: false} : null;
  });
  root.addEventListener('pointermove', (event) => {
    if (fingers.size === 2 && fingers.has(event.pointerId)) pinch(canvas, fingers, event);
    if (!start || !event.buttons) return;
    const [x, y] = [event.clientX - start.x, event.clientY - start.y];
    if (!start.moved && Math.hypot(x, y) < 4) return;
    if (!start.moved) root.setPointerCapture(event.pointerId);
    start = {x: event.clientX, y: event.clientY, moved: true};
    root.classList.add('dragged');
    canvas.pan(x, y);
  });
  const ended = (event) => {
    root.classList.remove('dragged');
    fingers.delete(event.pointerId);
    if (event.type === 'pointerup' && start && !start.moved) clicked(event);
    start = null;
  };
  ['pointerup', 'pointercancel', 'pointerleave'].forEach((type) => root.addEventListener(type, ended));
}

// Two fingers: their distance zooms, their middle moves the picture.
function pinch(canvas, fingers, event) {
  const measure = () => {
    const [one, other] = [...fingers.values()];
    return {
      x: (one.clientX + other.clientX) / 2, y: (one.clientY + other.clientY) / 2,
      distance: Math.max(1, Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY)),
    };
  };
  const before = measure();
  fingers.set(event.pointerId, event);
  const after = measure();
  const bounds = canvas.root.getBoundingClientRect();
  canvas.pan(after.x - before.x, after.y - before.y);
  canvas.zoom(after.distance / before.distance, after.x - bounds.left, after.y - bounds.top);
}

function pressed(canvas, event, {pick, open}) {
  const step = event.shiftKey ? 200 : 0;
  const moves = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
  if (moves[event.key]) {
    const [x, y] = moves[event.key];
    if (step) {
      canvas.pan(-x * step, -y * step);
      return true;
    }
    const next = neighbour(canvas, x, y);
    if (next) {
      pick(next.key, null);
      if (!canvas.inSight(next)) canvas.center(next.key);
    }
    return true;
  }
  if (event.key === 'Enter' && canvas.selected !== null) open(canvas.selected);
  else if (event.key === '+' || event.key === '=') canvas.zoom(1.25);
  else if (event.key === '-') canvas.zoom(0.8);
  else if (event.key === '0') canvas.fit();
  else if (event.key === 'Escape') pick(null, null);
  else return false;
  return true;
}

// Left and right follow edges, up and down move within the column; the reverse if edges go down.
function neighbour(canvas, x, y) {
  const {graph, byKey} = canvas;
  const here = byKey.get(canvas.selected);
  if (!here) return graph.nodes[0];
  const [along, across] = graph.down ? [y, x] : [x, y];
  const [rank, side] = graph.down ? ['y', 'x'] : ['x', 'y'];
  let near;
  if (along) {
    near = graph.edges.filter((edge) => (along > 0 ? edge.a : edge.b) === here.key)
      .map((edge) => byKey.get(along > 0 ? edge.b : edge.a));
  } else near = graph.nodes.filter((node) => Math.abs(node[rank] - here[rank]) < 1 && (node[side] - here[side]) * across > 0);
  return near.sort((one, other) => Math.abs(one[side] - here[side]) - Math.abs(other[side] - here[side]))[0];
}
