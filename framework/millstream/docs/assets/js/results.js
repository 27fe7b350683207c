// The results of the last build and the last tests, and the coverage of unit tests.

const BAD = new Set(['error', 'fail']);
const STATUSES = {
  success: 'built', error: 'failed', skipped: 'skipped', read: 'read', pass: 'passes', fail: 'fails', warn: 'warns',
};
const CHECKED = {...STATUSES, error: 'can\'t run'};

const statusOf = (kind, status) => (kind === 'test' || kind === 'unit_test' ? CHECKED : STATUSES)[status] || status;
const when = (time) => time.slice(0, 16).replace('T', ' ');

function status(entry) {
  return entry.last ? h('span', {class: `status ${entry.last}`}, statusOf(entry.kind, entry.last)) : h('span', {class: 'quiet'}, 'not run yet');
}

// An entry is bad if it or one of its tests failed.
const failing = (entry) => entry.checks.filter((number) => BAD.has(site.entries[number].last)).length;
const isBad = (entry) => BAD.has(entry.last) || failing(entry) > 0;

// The status below a page's name.
function lasts(entry) {
  const ran = entry.checks.filter((number) => site.entries[number].last);
  const bad = failing(entry);
  const parts = [
    entry.last && entry.last !== 'read' ? status(entry) : null,
    ran.length ? h('span', {class: `status ${bad ? 'fail' : 'pass'}`},
      bad ? `${bad} of ${count(ran.length, 'test')} ${bad === 1 ? 'fails' : 'fail'}` : `${count(ran.length, 'test')} ${ran.length === 1 ? 'passes' : 'pass'}`) : null,
  ].filter(Boolean);
  return parts.length ? h('p', {class: 'lasts'}, parts) : null;
}

async function tests(entry, columns) {
  if (!entry.checks.length) return null;
  const pages = await Promise.all(entry.checks.map((number) => of('pages', number)));
  const placed = new Map(columns.flatMap((column) => (column.tests || []).map((test) => [test, column.name])));
  return section(count(entry.checks.length, 'test'), scrolled('Tests', h('table', {},
    h('thead', {}, h('tr', {}, ['Test', 'Checks', 'Last result'].map((title) => h('th', {scope: 'col'}, title)))),
    h('tbody', {}, entry.checks.map((number, place) => {
      const test = site.entries[number];
      const found = pages[place].result || {};
      return h('tr', {}, h('th', {scope: 'row'}, link(number)),
        h('td', {}, [test.stored.replace(/_/g, ' ') || WORDS[test.kind], placed.get(number)].filter(Boolean).join(' of ')),
        h('td', {}, status(test), found.started ? h('span', {class: 'quiet'}, ` ${when(found.started)}`) : null,
          found.message ? h('div', {class: 'said'}, found.message) : null));
    })))));
}

function result(entry, found) {
  if (!found) return null;
  const test = entry.kind === 'test' || entry.kind === 'unit_test';
  return section(test ? 'The last run' : 'The last build',
    h('p', {}, found.status === 'read' ? null : [status(entry), ' '], `by ${found.command}, ${when(found.started)}`),
    found.message ? h('p', {class: `note ${BAD.has(found.status) ? 'bad' : ''}`}, found.message) : null,
    found.details ? h('pre', {class: 'code plain', tabindex: '0', 'aria-label': 'What differs'}, found.details) : null,
    h('dl', {class: 'facts'}, (found.facts || []).map(([name, text]) => [h('dt', {}, name), h('dd', {}, text)])));
}

// Which branches of filters, CASE and IF unit tests reach in a model.
function coverage(entry, found) {
  if (!found) return null;
  const missed = found.missed || [];
  const line = (number) => h('a', {href: address('page', entry.id, {text: 'written', line: number})}, `line ${number}`);
  const text = found.ways ? `${found.reached} of ${count(found.ways, 'branch', 'branches')} of filters, CASE and IF` : 'It has no filters or branches';
  return section('Unit-test coverage',
    h('p', {}, h('span', {class: `status ${found.run && !missed.length ? 'pass' : 'warn'}`}, found.run ? text : 'No unit test runs it'),
      found.tests ? ` by ${count(found.tests, 'test')} of its own` : null),
    found.ways ? meter(found.reached, found.ways) : null,
    found.stale ? h('p', {class: 'quiet'}, 'The model has changed since. Run `millstream test --coverage` again to update it.') : null,
    missed.length ? h('ul', {class: 'plain missing'}, missed.map(([number, said]) => h('li', {}, number ? line(number) : null, h('span', {}, said)))) : null);
}

const meter = (part, whole) => h('span', {class: 'meter', 'aria-hidden': 'true'}, h('span', {style: `width:${whole ? (100 * part) / whole : 100}%`}));

// The branches that no unit test takes, by line of the SQL as written.
function missedLines(found) {
  const marks = new Map();
  for (const [line, said] of (found && found.missed) || []) {
    if (line) marks.set(line, [marks.get(line), said].filter(Boolean).join('; '));
  }
  return marks;
}
