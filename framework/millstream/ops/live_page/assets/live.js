// Asks for the run's figures each second, and shows them. Texts of users only ever become text nodes.
'use strict';

const EVERY = 1000;
const POINTS = 60;
const $ = (id) => document.getElementById(id);
const past = {rate: [], latency: [], lag: []};
const shownRows = new Map();
let drawnNodes = new Map();
let drawnEdges = [];

function element(name, attributes, ...children) {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  created.append(...children.map(String));
  return created;
}

function svg(name, attributes, ...children) {
  const created = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  created.append(...children);
  return created;
}

const integer = (number) => Math.round(number).toLocaleString('en-US');

function rate(number) {
  return number >= 10 || number === 0 ? integer(number) : number.toFixed(1);
}

function duration(seconds) {
  if (seconds === null) return '–';
  for (const [unit, length] of [['d', 86400], ['h', 3600], ['min', 60]]) {
    if (seconds >= 2 * length) return `${integer(seconds / length)} ${unit}`;
  }
  return `${seconds.toFixed(1)} s`;
}

// -- the lineage

function draw(lineage) {
  const picture = svg('svg', {
    width: lineage.width, height: lineage.height, viewBox: `0 0 ${lineage.width} ${lineage.height}`,
    role: 'img', 'aria-label': 'The lineage of the project',
  });
  drawnEdges = lineage.edges.map((edge) => {
    const line = svg('path', {class: 'edge', d: path(edge.points)});
    picture.append(line);
    return {line, source: edge.source};
  });
  drawnNodes = new Map(lineage.nodes.map((node) => {
    const count = svg('text', {class: 'count', x: 12, y: node.height - 7});
    count.append(node.kind === 'model' ? node.stored : node.kind);
    const title = svg('text', {x: 12, y: 15});
    title.append(node.name);
    const about = svg('title', {});
    about.append(`${node.kind === 'model' ? node.stored : node.kind} ${node.name}`);
    const group = svg('a', {href: node.page, transform: `translate(${node.x} ${node.y})`},
      svg('g', {class: `node ${node.kind}`},
        about, svg('rect', {width: node.width, height: node.height, rx: 7}), title, count));
    picture.append(group);
    return [node.id, {count, stored: node.stored, kind: node.kind, target: node}];
  }));
  $('lineage').replaceChildren(picture);
}

function path(points) {
  return points.map(([x, y], index) => {
    if (!index) return `M${x} ${y}`;
    const [fromX, fromY] = points[index - 1];
    const middle = (fromX + x) / 2;
    return `C${middle} ${fromY} ${middle} ${y} ${x} ${y}`;
  }).join('');
}

function showNodes(nodes) {
  const busy = new Set();
  for (const [id, [total, perSecond]] of Object.entries(nodes)) {
    const drawn = drawnNodes.get(id);
    if (!drawn) continue;
    if (perSecond > 0) busy.add(id);
    if (drawn.stored !== 'view') drawn.count.textContent = `${integer(total)} · ${rate(perSecond)}/s`;
  }
  const flows = busy.size > 0;
  for (const {line, source} of drawnEdges) {
    // What a view passes on is not counted: it flows while anything does.
    const stored = drawnNodes.get(source)?.stored;
    const on = busy.has(source) || (flows && stored === 'view');
    line.classList.toggle('flows', on);
  }
}

// -- figures

function figure(title, value, name) {
  const box = element('div', {class: 'figure'});
  box.append(element('b', {}, value), element('span', {}, title));
  if (name) box.append(spark(past[name]));
  return box;
}

function spark(values) {
  const most = Math.max(...values, 0.001);
  const points = values.map((value, index) => `${index},${(24 - 22 * value / most).toFixed(1)}`).join(' ');
  return svg('svg', {viewBox: `0 0 ${POINTS - 1} 26`, preserveAspectRatio: 'none', 'aria-hidden': 'true'},
    svg('polyline', {points}));
}

function note(name, value) {
  past[name].push(value ?? 0);
  if (past[name].length > POINTS) past[name].shift();
}

function showFigures(run) {
  const sum = (name) => run.queries.reduce((total, query) => total + query[name], 0);
  const latencies = run.queries.map((query) => query.latency).filter((value) => value !== null);
  const latency = latencies.length ? Math.max(...latencies) : null;
  note('rate', sum('rate'));
  note('latency', latency);
  note('lag', sum('lag'));
  $('figures').replaceChildren(
    figure('rows read per second', rate(sum('rate')), 'rate'),
    figure('longest time from record to result', duration(latency), 'latency'),
    figure('records waiting (lag)', integer(sum('lag')), 'lag'),
    figure('rows read', integer(sum('rows'))),
    figure('late · bad · failures', `${integer(sum('late'))} · ${integer(sum('bad'))} · ${integer(sum('failures'))}`),
  );
}

// -- tables

function cell(value, number) {
  if (value === null) return element('td', {class: 'null'}, 'NULL');
  const created = element('td', number ? {class: 'number'} : {}, value);
  created.title = value;
  return created;
}

function line(cells, attributes = {}) {
  const row = element('tr', attributes);
  row.append(...cells);
  return row;
}

function showQueries(queries) {
  const names = ['query', 'status', 'rows', 'rows/s', 'batch', 'latency', 'lag', 'keys'];
  const rows = [line(names.map((name, index) => element('th', index > 1 ? {class: 'number'} : {}, name)))];
  for (const query of queries) {
    const figures = [integer(query.rows), rate(query.rate), duration(query.batch), duration(query.latency),
      query.batch === null ? '–' : integer(query.lag), query.keys ? integer(query.keys) : '–'];
    const name = element('td', {}, query.name);
    name.title = query.models.join(', ');
    const status = query.status === 'running' && query.batch === null ? 'first batch' : query.status;
    rows.push(line([name, element('td', {class: `status ${query.status}`}, status),
      ...figures.map((text) => element('td', {class: 'number'}, text))]));
    if (query.problem) rows.push(line([element('td', {class: 'problem', colspan: names.length}, query.problem)]));
  }
  $('queries').replaceChildren(...rows);
}

const numeric = (text) => text !== null && /^-?[0-9][0-9.]*$/.test(text);

function showRelation(relation) {
  const box = element('section', {class: 'relation', 'data-id': relation.id});
  const head = element('header', {});
  const title = element('h3', {}, relation.name, ' ');
  title.append(element('small', {}, relation.kind));
  head.append(title, element('p', {}, relation.about));
  box.append(head);
  if (!relation.rows.length) {
    box.append(element('p', {class: 'none'}, relation.problem || 'no rows yet'));
    return box;
  }
  const before = shownRows.get(relation.id);
  const now = new Set(relation.rows.map((row) => JSON.stringify(row)));
  const table = element('table', {});
  const columns = relation.columns.map((name, index) => numeric(relation.rows[0][index]));
  table.append(line(relation.columns.map((name, index) => (
    element('th', columns[index] ? {class: 'number'} : {}, name)))));
  for (const row of relation.rows) {
    const fresh = before && !before.has(JSON.stringify(row));
    table.append(line(row.map((value, index) => cell(value, columns[index])), fresh ? {class: 'fresh'} : {}));
  }
  shownRows.set(relation.id, now);
  const rows = element('div', {class: 'rows', tabindex: 0, role: 'region', 'aria-label': `Rows of ${relation.name}`});
  rows.append(table);
  box.append(rows);
  return box;
}

let lastRelations = '';

function showRelations(relations) {
  const text = JSON.stringify(relations);
  if (text === lastRelations) return; // rows that are read again stay marked until they change
  lastRelations = text;
  $('relations').replaceChildren(...relations.map(showRelation));
}

// -- the page

function showStage(run) {
  const failed = run.queries.some((query) => query.status === 'failed');
  const waiting = run.queries.some((query) => query.batch === null && query.status !== 'failed');
  const [state, text] = run.ended ? ['ended', 'Stopping']
    : failed ? ['failed', 'A query failed, and is restarted']
    : run.stage ? ['starting', `Starting: ${run.stage}`]
    : !run.queries.length ? ['starting', 'Starting']
    : waiting ? ['starting', 'First batches'] : ['running', 'Running'];
  $('stage').dataset.state = state;
  const shown = `${text} · ${duration(run.seconds)}`;
  $('stage').textContent = shown;
}

function show(run) {
  $('project').textContent = run.project;
  document.title = `${run.project} · Millstream live`;
  showStage(run);
  showFigures(run);
  showNodes(run.nodes);
  showQueries(run.queries);
  showRelations(run.relations);
}

async function ask(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
  return answer.json();
}

// The demo may be busy, or started again: the page asks until it is closed.
async function main() {
  for (let drawn = false; ; ) {
    try {
      if (!drawn) draw(await ask('lineage.json'));
      drawn = true;
      show(await ask('run.json'));
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      $('stage').dataset.state = 'ended';
      $('stage').textContent = 'No answer: the demo has ended, or is busy';
    }
    await new Promise((resume) => { setTimeout(resume, EVERY); });
  }
}

main();
