// Data is loaded in chunks by script tags, since a page opened from the file system can't fetch.

const chunks = new Map();
const site = {entries: [], byId: new Map()};

function slot(name) {
  if (!chunks.has(name)) {
    const request = {};
    request.promise = new Promise((resolve, reject) => Object.assign(request, {resolve, reject}));
    chunks.set(name, request);
  }
  return chunks.get(name);
}

window.millstreamData = (name, value) => {
  slot(name).resolve(value);
};

function load(name) {
  const request = slot(name);
  if (!request.sent) {
    request.sent = true;
    const tag = h('script', {src: `data/${name}.js`});
    tag.addEventListener('load', () => tag.remove());
    tag.addEventListener('error', () => request.reject(new Error(`data/${name}.js can't be read`)));
    document.head.append(tag);
  }
  return request.promise;
}

slot('start').sent = true;

async function of(family, number) {
  const {chunk, texts} = site.start;
  const position = family === 'code' ? placeOf(texts, number, 0) : Math.floor(number / chunk);
  return (await load(`${family}-${position}`))[number - (family === 'code' ? texts[position] : position * chunk)];
}

function chunksOf(family) {
  const many = Math.ceil(site.entries.length / site.start.chunk);
  return Array.from({length: many}, (_, number) => load(`${family}-${number}`));
}

const FLOWING = new Set(['source', 'seed', 'model', 'exposure', 'metric']);

function begin(start) {
  site.start = start;
  site.entries = start.entries;
  site.entries.forEach((entry, number) => {
    Object.assign(entry, {number, parents: entry.parents || [], tags: entry.tags || [], children: [], checks: []});
    entry.queries = entry.queries || [];
    entry.stored = entry.stored || '';
    site.byId.set(entry.id, entry);
  });
  for (const entry of site.entries) {
    for (const parent of entry.parents) {
      const above = site.entries[parent];
      if (FLOWING.has(entry.kind)) above.children.push(entry.number);
      else if (entry.kind !== 'query') above.checks.push(entry.number);
    }
  }
}

const WORDS = {
  source: 'source', seed: 'seed', model: 'model', exposure: 'exposure', metric: 'metric',
  test: 'data test', unit_test: 'unit test', function: 'function', query: 'query group',
};

const flowing = (entry) => FLOWING.has(entry.kind);

// The nodes that can be reached over at most `hops` edges, including the start.
function reach(starts, hops, next) {
  const reached = new Set(starts);
  let level = [...starts];
  for (let hop = 0; hop < hops && level.length; hop += 1) {
    const following = [];
    for (const number of level) {
      for (const other of next(site.entries[number])) {
        if (!reached.has(other) && flowing(site.entries[other])) {
          reached.add(other);
          following.push(other);
        }
      }
    }
    level = following;
  }
  return reached;
}

const upwards = (entry) => entry.parents;
const downwards = (entry) => entry.children;

function link(number, text, attributes) {
  const entry = site.entries[number];
  return h('a', {href: address('page', entry.id), class: `name kind-${entry.kind}`, ...attributes},
    h('i', {class: 'dot', 'aria-hidden': 'true'}), text || entry.name, isBad(entry) ? h('span', {class: 'failed', role: 'img', 'aria-label': 'failed'}, '▲') : null);
}
