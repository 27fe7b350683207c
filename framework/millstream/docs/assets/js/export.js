// Exports a whole graph as a file, in the colors shown, independent of this site's style.

const STYLED = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'font-family', 'font-size', 'font-weight', 'opacity', 'text-anchor'];

// Draws the whole graph in full size; returns a function that undoes that.
function drawWhole({graph, root, view}, show) {
  const before = {...view};
  Object.defineProperty(root, 'clientWidth', {value: graph.width, configurable: true});
  Object.defineProperty(root, 'clientHeight', {value: graph.height, configurable: true});
  Object.assign(view, {x: 0, y: 0, scale: 1});
  show();
  return () => {
    delete root.clientWidth;
    delete root.clientHeight;
    Object.assign(view, before);
    show();
  };
}

function standalone(canvas) {
  const {graph, root} = canvas;
  const {clientWidth, clientHeight} = root;
  const undo = drawWhole(canvas, () => canvas.show());
  const copy = root.cloneNode(true);
  const [drawn, copied] = [root.querySelectorAll('*'), copy.querySelectorAll('*')];
  drawn.forEach((element, index) => inline(element, copied[index]));
  undo();
  for (const name of [...copy.attributes].map((attribute) => attribute.name)) copy.removeAttribute(name);
  fill(copy, {xmlns: SVG, width: graph.width, height: graph.height, viewBox: `0 0 ${graph.width} ${graph.height}`}, []);
  copy.prepend(svg('rect', {width: '100%', height: '100%', fill: getComputedStyle(document.body).backgroundColor}));
  return [new XMLSerializer().serializeToString(copy), graph.width || clientWidth, graph.height || clientHeight];
}

function inline(element, copy) {
  const style = getComputedStyle(element);
  for (const name of STYLED) {
    const value = style.getPropertyValue(name);
    if (value) copy.setAttribute(name, value);
  }
  for (const name of ['class', 'role', 'data-key', 'data-row', 'id', 'tabindex']) copy.removeAttribute(name);
}

function save(blob, name) {
  const url = URL.createObjectURL(blob);
  h('a', {href: url, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
  say(`${name} was saved`);
}

const fileName = (end) => `${site.start.project}-lineage.${end}`.replace(/[^\w.-]/g, '_');

function exportSvg(canvas) {
  save(new Blob([standalone(canvas)[0]], {type: 'image/svg+xml'}), fileName('svg'));
}

function exportPng(canvas) {
  const [text, width, height] = standalone(canvas);
  const scale = Math.min(2, 12000 / Math.max(width, height));
  const image = new Image();
  image.onload = () => {
    const picture = h('canvas', {width: Math.ceil(width * scale), height: Math.ceil(height * scale)});
    picture.getContext('2d').drawImage(image, 0, 0, picture.width, picture.height);
    picture.toBlob((blob) => save(blob, fileName('png')));
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}
