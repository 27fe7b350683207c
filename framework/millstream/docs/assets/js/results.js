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
    h('tbody', {}, entry.checks.map((number, index) => {
      const test = site.entries[number];
      const last = pages[index].result || {};
      return h('tr', {}, h('th', {scope: 'row'}, link(number)),
        h('td', {}, [test.stored.replace(/_/g, ' ') || WORDS[test.kind], placed.get(number)].filter(Boolean).join(' of ')),
        h('td', {}, status(test), last.started ? h('span', {class: 'quiet'}, ` ${when(last.started)}`) : null,
          last.message ? h('div', {class: 'said'}, last.message) : null));
    })))));
}

function result(entry, last) {
  if (!last) return null;
  const test = entry.kind === 'test' || entry.kind === 'unit_test';
  return section(test ? 'The last run' : 'The last build',
    h('p', {}, last.status === 'read' ? null : [status(entry), ' '], `by ${last.command}, ${when(last.started)}`),
    last.message ? h('p', {class: `note ${BAD.has(last.status) ? 'bad' : ''}`}, last.message) : null,
    last.details ? h('pre', {class: 'code plain', tabindex: '0', 'aria-label': 'What differs'}, last.details) : null,
    h('dl', {class: 'facts'}, (last.facts || []).map(([name, text]) => [h('dt', {}, name), h('dd', {}, text)])));
}

// Which branches of filters, CASE and IF unit tests reach in a model.
function coverage(entry, covered) {
  if (!covered) return null;
  const missed = covered.missed || [];
  const line = (number) => h('a', {href: address('page', entry.id, {text: 'written', line: number})}, `line ${number}`);
  const text = covered.ways ? `${covered.reached} of ${count(covered.ways, 'branch', 'branches')} of filters, CASE and IF` : 'It has no filters or branches';
  return section('Unit-test coverage',
    h('p', {}, h('span', {class: `status ${covered.run && !missed.length ? 'pass' : 'warn'}`}, covered.run ? text : 'No unit test runs it'),
      covered.tests ? ` by ${count(covered.tests, 'test')} of its own` : null),
    covered.ways ? meter(covered.reached, covered.ways) : null,
    covered.stale ? h('p', {class: 'quiet'}, 'The model has changed since. Run `millstream test --coverage` again to update it.') : null,
    missed.length ? h('ul', {class: 'plain missing'}, missed.map(([number, note]) => h('li', {}, number ? line(number) : null, h('span', {}, note)))) : null);
}

const meter = (part, total) => h('span', {class: 'meter', 'aria-hidden': 'true'}, h('span', {style: `width:${total ? (100 * part) / total : 100}%`}));

// The branches that no unit test takes, by line of the SQL as written.
function missedLines(covered) {
  const marks = new Map();
  for (const [line, note] of (covered && covered.missed) || []) {
    if (line) marks.set(line, [marks.get(line), note].filter(Boolean).join('; '));
  }
  return marks;
}
