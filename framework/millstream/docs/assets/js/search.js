// Search in names immediately, and in columns, descriptions and SQL as soon as their chunks are loaded. Each
// field is one long text in lower case, so that a term is found by a few calls of indexOf.

const FIELDS = {name: 100, column: 24, about: 12, sql: 5};
const fields = {};
for (const name of Object.keys(FIELDS)) fields[name] = {text: '', starts: [], numbers: []};
const END = '\u0000';
const COLUMN_END = '\u0001';

function addText(name, number, text) {
  if (!text) return;
  const field = fields[name];
  field.pieces = field.pieces || [];
  field.starts.push(field.length || 0);
  field.numbers.push(number);
  const piece = text.toLowerCase() + END;
  field.length = (field.length || 0) + piece.length;
  field.pieces.push(piece);
}

function textOf(field) {
  if (field.pieces && field.pieces.length) {
    field.text += field.pieces.join('');
    field.pieces = [];
  }
  return field.text;
}

function plainText(tree) {
  if (!Array.isArray(tree)) return typeof tree === 'string' ? tree : '';
  return tree.map((part) => (Array.isArray(part) ? plainText(part.slice(1)) : plainText(part))).join(' ');
}

let filling = null;

// Loads the rest chunk by chunk, so that typing stays responsive.
function fillSearch(progress) {
  filling = filling || (async () => {
    const many = Math.ceil(site.entries.length / site.start.chunk);
    for (let chunk = 0; chunk < many; chunk += 1) {
      const first = chunk * site.start.chunk;
      const [columns, pages] = await Promise.all(['columns', 'pages'].map((family) => load(`${family}-${chunk}`)));
      const code = await Promise.all(columns.map((_, index) => of('code', first + index)));
      columns.forEach((part, index) => addEntry(first + index, part, pages[index], code[index]));
      if (chunk % 8 === 7) progress();
      await new Promise((resolve) => setTimeout(resolve));
    }
    progress();
  })();
  return filling;
}

function addEntry(number, {columns}, page, code) {
  const about = [plainText(page.about)];
  if (columns) {
    addText('column', number, columns.map((column) => column.name).join(COLUMN_END));
    about.push(...columns.map((column) => plainText(column.about)));
  }
  addText('about', number, about.join(' ').trim());
  addText('sql', number, code.written || code.optimized || '');
}

function hits(field, term) {
  const text = textOf(field);
  const matches = new Map();
  let start = text.indexOf(term);
  let index = 0;
  while (start >= 0 && index < field.starts.length) {
    index = placeOf(field.starts, start, index);
    matches.set(field.numbers[index], start - field.starts[index]);
    const next = field.starts[index + 1];
    if (next === undefined) break;
    start = text.indexOf(term, next);
  }
  return matches;
}

function placeOf(starts, offset, from) {
  let low = from;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

const KIND_ORDER = {model: 6, source: 5, seed: 4, function: 4, exposure: 3, metric: 3, query: 2};
// Tests are named after what they check, which should be listed first.
const TESTS = new Set(['test', 'unit_test']);

function search(text) {
  const terms = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!terms.length) return [];
  let scores = null;
  for (const term of terms) {
    const ofTerm = scored(term);
    if (scores) {
      for (const [number, score] of [...scores]) {
        if (ofTerm.has(number)) score.score += ofTerm.get(number).score;
        else scores.delete(number);
      }
    } else scores = ofTerm;
  }
  return [...scores.values()].sort((one, other) => other.score - one.score || one.number - other.number);
}

function scored(term) {
  const ranking = new Map();
  for (const [name, weight] of Object.entries(FIELDS)) {
    for (const [number, start] of hits(fields[name], term)) {
      const entry = site.entries[number];
      let score = weight;
      if (name === 'name') {
        const short = entry.name.toLowerCase();
        if (short === term) score += 200;
        else if (short.startsWith(term)) score += 60;
        else if (!short.includes(term)) score = 3;
      }
      if (TESTS.has(entry.kind)) score /= 20;
      const earlier = ranking.get(number);
      if (earlier) earlier.score += score;
      else ranking.set(number, {number, score: score + (KIND_ORDER[entry.kind] || 0), field: name, start, term});
    }
  }
  return ranking;
}

function beginSearch() {
  for (const entry of site.entries) {
    addText('name', entry.number, [entry.name, ...entry.tags, entry.owner || '', entry.id].join(' '));
  }
}

// Where on its page a term was found: a column, or a line of SQL.
function placeOn(hit) {
  const field = fields[hit.field];
  const start = field.starts[field.numbers.indexOf(hit.number)];
  const text = () => field.text.slice(start, field.text.indexOf(END, start));
  if (hit.field === 'column') return {column: text().slice(text().lastIndexOf(COLUMN_END, hit.start) + 1).split(COLUMN_END)[0]};
  if (hit.field !== 'sql') return {};
  const kind = site.entries[hit.number].kind === 'query' ? 'optimized' : 'written';
  return {text: kind, line: text().slice(0, hit.start).split('\n').length};
}

// Where a term was found, with some words around it.
async function snippet(hit) {
  const entry = site.entries[hit.number];
  if (hit.field === 'name') return entry.about || WORDS[entry.kind];
  if (hit.field === 'column') {
    const {columns} = await of('columns', hit.number);
    const named = columns.filter((column) => column.name.toLowerCase().includes(hit.term));
    return `column ${named.slice(0, 4).map((column) => column.name).join(', ')}`;
  }
  const field = fields[hit.field];
  const start = field.starts[field.numbers.indexOf(hit.number)] + hit.start;
  const text = field.text.slice(Math.max(0, start - 30), start + hit.term.length + 50).split(END);
  return `… ${(text[0].length > 30 ? text[0] : text.join(' ')).replace(/\s+/g, ' ')} …`;
}
