// On paper a graph is whole and all is light, whatever the screen shows.

const undone = [];

function printing(on) {
  if (!on) {
    while (undone.length) undone.pop()();
    return;
  }
  if (undone.length) return;
  const {theme: shown} = document.documentElement.dataset;
  document.documentElement.dataset.theme = 'light';
  undone.push(() => { document.documentElement.dataset.theme = shown; });
  document.querySelectorAll('svg.canvas').forEach((root) => {
    const {canvas} = root;
    root.setAttribute('viewBox', `0 0 ${canvas.graph.width} ${canvas.graph.height}`);
    const undo = drawWhole(canvas, () => canvas.show());
    undone.push(() => {
      root.removeAttribute('viewBox');
      undo();
    });
  });
}

// Some browsers tell of a print in one way, some in the other.
function beginPrinting() {
  window.addEventListener('beforeprint', () => printing(true));
  window.addEventListener('afterprint', () => printing(false));
  matchMedia('print').addEventListener('change', ({matches}) => printing(matches));
}
