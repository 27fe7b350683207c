// On paper, graphs are shown whole and in light colors.

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

// Browsers differ in the event that announces a print.
function beginPrinting() {
  window.addEventListener('beforeprint', () => printing(true));
  window.addEventListener('afterprint', () => printing(false));
  matchMedia('print').addEventListener('change', ({matches}) => printing(matches));
}
