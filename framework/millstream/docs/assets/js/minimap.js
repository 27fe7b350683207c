// The whole graph in a corner, with a frame around the visible part.
function makeMinimap(graph, kind, look) {
  const [width, height] = [Math.min(180, (220 * graph.width) / graph.height), Math.min(220, (180 * graph.height) / graph.width)];
  const paths = outlines(graph.nodes, (node) => `far-node kind-${kind(node)}`);
  const window_ = svg('rect', {class: 'window'});
  const element = svg('svg', {
    class: 'minimap', viewBox: `0 0 ${graph.width} ${graph.height}`, width, height, preserveAspectRatio: 'none',
    'aria-hidden': 'true',
  }, paths, window_);
  const go = (event) => {
    const bounds = element.getBoundingClientRect();
    look(((event.clientX - bounds.left) / bounds.width) * graph.width, ((event.clientY - bounds.top) / bounds.height) * graph.height);
  };
  element.addEventListener('pointerdown', (event) => {
    element.setPointerCapture(event.pointerId);
    go(event);
  });
  element.addEventListener('pointermove', (event) => { if (event.buttons) go(event); });
  const show = (x, y, w, height_) => {
    fill(window_, {x, y, width: w, height: height_}, []);
    // It is hidden if everything is visible.
    element.classList.toggle('idle', x <= 0 && y <= 0 && x + w >= graph.width && y + height_ >= graph.height);
  };
  return {element, show};
}
