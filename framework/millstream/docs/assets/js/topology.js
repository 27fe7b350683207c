// The plan from as written to as it runs, rule by rule: before on the left, after on the right.

// Operators have the colors of kinds: inputs, outputs, shuffles, state.
const OPERATOR_KINDS = {
  topic: 'source', seed: 'source', sink: 'exposure', view: 'exposure', table: 'exposure', repartition: 'seed', filter: 'function',
  aggregate: 'query', dedupe: 'query', join: 'query', stateful: 'query',
};

function operatorParts(operator, node) {
  return [
    svg('rect', {class: 'card', width: node.w, height: node.h, rx: 6}),
    svg('rect', {class: 'stripe', width: 4, height: node.h - 12, x: 6, y: 6, rx: 2}),
    svg('text', {class: 'title', x: 17, y: 18}, operator.title),
    (operator.lines || []).map((line, row) => svg('text', {class: 'small', x: 17, y: 34 + row * 15}, line)),
    operator.state ? svg('circle', {class: 'state', cx: node.w - 11, cy: 13, r: 3.5}) : null,
    svg('title', {}, `${operator.id}: ${operator.line}`),
  ].flat().filter(Boolean);
}

function planCanvas(topology, stage, marks, select) {
  const drawing = topology.drawings[stage.drawing];
  const shown = drawing.operators.map((index) => topology.operators[index]);
  const operators = new Map(shown.map((operator) => [operator.id, operator]));
  const graph = fromMap(drawing.map, (index) => shown[index].id);
  graph.boxes.forEach((box) => { box.name = `query ${box.name}`; });
  for (const node of graph.nodes) node.look = marks.has(node.key) ? marks.get(node.key) : '';
  const canvas = new Canvas(graph, {
    label: `The plan ${wording(stage)}`, draw: (node) => operatorParts(operators.get(node.key), node),
    describe: (node) => `${operators.get(node.key).kind} ${node.key}: ${(operators.get(node.key).lines || []).join('; ')}${node.look ? `, ${node.look}` : ''}`,
    kind: (node) => OPERATOR_KINDS[operators.get(node.key).kind] || 'model',
    pick: (key) => select(key === null ? null : operators.get(key), canvas),
    open: (key) => {
      const {entry} = operators.get(key);
      if (entry !== undefined) location.hash = address('page', site.entries[entry].id);
    },
    minimap: true,
  });
  return canvas;
}

function operatorPanel(operator) {
  return [
    h('h3', {}, operator.id), h('p', {}, operator.line),
    h('dl', {class: 'facts'}, (operator.facts || []).map(([name, text]) => [h('dt', {}, name), h('dd', {}, text)])),
    operator.entry !== undefined ? h('p', {}, link(operator.entry)) : null,
  ].filter(Boolean);
}

async function topologyView(main, {id, query}) {
  const names = site.start.topologies;
  if (!names.length) return missing(main, site.start.plan || 'There is no plan to show.', 'Topology');
  const index = Math.max(0, names.findIndex(([name]) => name === id));
  const topology = await load(`topology-${index}`);
  const {stages} = topology;
  const requested = query.has('step') ? Number(query.get('step')) : null;
  const step = requested === null || !stages[requested] ? null : requested;
  const [left, right] = step === null ? [stages[0], stages[stages.length - 1]] : [stages[Math.max(0, step - 1)], stages[step]];
  const facts = h('div', {class: 'told', 'aria-live': 'polite'});
  const panel = h('aside', {class: 'panel', 'aria-label': 'What changed', hidden: step === null}, step === null ? null : stageText(right), facts);
  const select = (operator, canvas) => {
    selectBoth(operator ? operator.id : null, canvas, canvas === one ? other : one);
    facts.replaceChildren(...(operator ? operatorPanel(operator) : []));
    panel.hidden = step === null && !operator;
  };
  const marks = (list, look) => new Map(step === null ? [] : (list || []).map((key) => [key, look]));
  const side = (stage, list, look) => {
    const canvas = planCanvas(topology, stage, marks(list, look), select);
    return [canvas, h('section', {class: 'side'}, h('header', {}, h('h2', {}, sideTitle(stage, stages, step))), canvas.element)];
  };
  const [one, before] = side(left, right.gone, 'gone');
  const [other, after] = side(right, right.new, 'new');
  const to = (name, number) => address('topology', name, number === null ? {} : {step: number});
  main.replaceChildren(
    h('div', {class: 'tools'}, h('h1', {}, 'Topology'),
      selectBox('Of', names.map(([name, title]) => [name, name === 'project' ? title : `query ${title}`]), names[index][0],
        (name) => { location.hash = to(name, null); }),
      topology.entry >= 0 && topology.entry !== undefined ? h('a', {class: 'button', href: address('page', site.entries[topology.entry].id)}, 'Its page') : null,
      h('span', {class: 'end quiet'}, 'Click an operator to see its key, partitions, watermark and state, here and there.')),
    h('div', {class: 'topology'},
      h('nav', {class: 'steps', 'aria-label': 'Rules, in order'},
        h('ol', {}, h('li', {}, h('a', {href: to(topology.name, null), 'aria-current': step === null ? 'step' : null}, 'First and last')),
          stages.map((stage, number) => h('li', {}, h('a', {
            href: to(topology.name, number), 'aria-current': number === step ? 'step' : null,
          }, stage.rule.replace(/_/g, ' '), stage.saves ? h('small', {}, `saves ${stage.saves}`) : null)))),
        costTable(topology)),
      h('div', {class: `sides${wide(one) && wide(other) ? ' stacked' : ''}`}, before, after),
      panel));
  before.firstChild.append(buttons(one, other));
  after.firstChild.append(buttons(other, one));
  for (const canvas of [one, other]) {
    canvas.fit();
    canvas.show();
    // If a plan is too large to fit, show what changed.
    const changed = canvas.graph.nodes.find((node) => node.look);
    if (changed && canvas.graph.width * canvas.view.scale > canvas.root.clientWidth) canvas.center(changed.key);
  }
  return undefined;
}

// Selecting a node on one side selects it on the other side, if it exists there.
function selectBoth(key, here, there) {
  here.select(key, null);
  const same = there.byKey.get(key);
  there.select(same ? key : null, null);
  if (same && !there.inSight(same)) there.center(key);
}

// Plans that are much wider than high are shown one above the other.
const wide = ({graph}) => graph.width > 1.5 * graph.height;

const wording = (stage) => (stage.rule.startsWith('as ') ? stage.rule : `after ${stage.rule.replace(/_/g, ' ')}`);

function sideTitle(stage, stages, step) {
  if (step === null) return stage === stages[0] ? 'As written' : 'As it runs';
  const text = wording(stage);
  return text[0].toUpperCase() + text.slice(1);
}

function stageText(stage) {
  return [h('h2', {}, stage.rule.replace(/_/g, ' ')), stage.saves ? h('p', {class: 'saves'}, `Saves ${stage.saves}.`) : null,
    h('ul', {}, (stage.changes || []).map((change_) => h('li', {}, change_)))].filter(Boolean);
}

const amount = (text) => Number.parseFloat(text.replace(/,/g, ''));

function costTable(topology) {
  if (!topology.costs || !topology.costs.length) return null;
  return h('table', {class: 'costs'}, h('caption', {}, 'What it costs'),
    h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, ''), h('th', {scope: 'col'}, 'written'), h('th', {scope: 'col'}, 'optimized'))),
    h('tbody', {}, topology.costs.map(([name, before, after]) => h('tr', {}, h('th', {scope: 'row'}, name),
      h('td', {}, before), h('td', {class: amount(after) < amount(before) ? 'better' : ''}, after)))));
}
