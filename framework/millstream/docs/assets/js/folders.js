// An overview of the project: a node for each folder of models and each source, and edges between them.

const CROWDED = 1500;
let gathering = null;

function groupOf(entry) {
  if (entry.kind === 'model') return [entry.folder || 'models', 'model'];
  if (entry.kind === 'source') return [entry.name.split('.')[0], 'source'];
  return [`${entry.kind}s`, entry.kind];
}

// All groups with their members, and the edges between them by how many there are.
function groups() {
  gathering = gathering || (() => {
    const byKey = new Map();
    const home = new Map();
    for (const entry of site.entries.filter(flowing)) {
      const [name, kind] = groupOf(entry);
      const key = `${kind}:${name}`;
      if (!byKey.has(key)) byKey.set(key, {index: byKey.size, name, kind, numbers: []});
      byKey.get(key).numbers.push(entry.number);
      home.set(entry.number, byKey.get(key).index);
    }
    const edges = new Map();
    for (const [number, index] of home) {
      for (const parent of site.entries[number].parents) {
        const key = `${home.get(parent)}>${index}`;
        if (home.has(parent) && home.get(parent) !== index) edges.set(key, (edges.get(key) || 0) + 1);
      }
    }
    return {boxes: [...byKey.values()], edges};
  })();
  return gathering;
}

// Whether there are too many nodes to show at once, and folders to group them by.
function fromAfar() {
  if (site.entries.filter(flowing).length < CROWDED) return false;
  const {length} = groups().boxes;
  return length > 3 && length < 200;
}

function folderGraph(map) {
  const {boxes, edges} = groups();
  const positions = new Map(map.nodes.map((node) => [node[0], node]));
  const mean = (numbers, part) => numbers.reduce((sum, number) => sum + positions.get(number)[part], 0) / numbers.length;
  const nodes = boxes.map(({index, numbers}) => [index, mean(numbers, 1), mean(numbers, 2)]);
  const drawn = [...edges].map(([key, many]) => {
    const [from, to] = key.split('>').map(Number);
    return [from, to, {title: `${count(many, 'edge')} from ${boxes[from].name} to ${boxes[to].name}`}];
  });
  const size = (index) => ({width: Math.max(120, boxes[index].name.length * 7.2 + 44), height: NODE.height});
  return pack(boxes.map(({index}) => index), drawn, size, {nodes});
}

function folderParts({key, w, h}) {
  const {name, numbers, kind} = groups().boxes[key];
  return [
    svg('rect', {class: 'card', width: w, height: h, rx: 6}), svg('rect', {class: 'stripe', width: 4, height: h - 12, x: 6, y: 6, rx: 2}),
    svg('text', {class: 'title', x: 17, y: 16}, name), svg('text', {class: 'small', x: 17, y: 29}, count(numbers.length, WORDS[kind])),
    numbers.some((number) => isBad(site.entries[number])) ? svg('path', {class: 'bad', d: `M${w - 16} ${h - 6}h10l-5 -9z`}) : null,
  ].filter(Boolean);
}

const insideOf = ({name, kind}) => address('lineage', '', kind === 'model' && name !== 'models' ? {folder: name} : {kind, by: 'none'});

function foldersView(main, query, map) {
  const {boxes} = groups();
  const panel = h('aside', {class: 'panel', 'aria-label': 'What is selected', hidden: true});
  const canvas = new Canvas(folderGraph(map), {
    label: `Lineage of ${boxes.length} folders and sources`, draw: folderParts, kind: ({key}) => boxes[key].kind,
    describe: ({key}) => `${boxes[key].name}, ${count(boxes[key].numbers.length, WORDS[boxes[key].kind])}`,
    open: (key) => { location.hash = insideOf(boxes[key]); },
    pick: (key) => {
      const near = key === null ? null : new Set(canvas.graph.edges.filter((edge) => edge.a === key || edge.b === key).flatMap(({a, b}) => [a, b]));
      canvas.select(key, near && near.add(key));
      panel.hidden = key === null;
      if (key !== null) panel.replaceChildren(...folderSummary(boxes[key]));
    },
  });
  main.replaceChildren(h('h1', {class: 'hidden'}, 'Lineage'), toolbar(query, 'folders', ''),
    h('div', {class: 'stage'}, canvas.element, panel));
  addButtons(canvas);
  canvas.fit();
  canvas.show();
}

function folderSummary(group) {
  const {name, kind, numbers} = group;
  return [
    h('p', {class: 'kind'}, h('span', {class: `badge kind-${kind}`}, h('i', {class: 'dot', 'aria-hidden': 'true'}), count(numbers.length, WORDS[kind]))),
    h('h2', {}, name), h('p', {class: 'actions'}, h('a', {class: 'button', href: insideOf(group)}, 'Show what is in it')),
    h('ul', {class: 'plain'}, numbers.slice(0, 40).map((number) => h('li', {}, link(number))),
      numbers.length > 40 ? h('li', {}, `and ${numbers.length - 40} more`) : null),
  ];
}
