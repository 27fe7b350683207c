// One tokenizer for SQL (with Jinja), Python and YAML, which only matches at the beginning of the rest.

const SQL_WORDS = new Set((
  'all alter and anti any as asc between both by case cast cluster create cross cube current day delay ' +
  'delete desc describe distinct distribute drop else end escape except exists explode false filter first following ' +
  'for from full function group grouping having hour if ilike in inner insert intersect interval into is join last ' +
  'lateral left like limit merge minute minutes month natural not null nulls of offset on or order outer over ' +
  'overwrite partition pivot preceding qualify range replace right rlike rollup rows second seconds select semi set ' +
  'sets some stream table tablesample temporary then to true unbounded union unpivot update using ' +
  'values view watermark when where window with within year').split(' '));
const PYTHON_WORDS = new Set((
  'and as assert async await break class continue def del elif else except False finally for from global if import ' +
  'in is lambda None nonlocal not or pass raise return True try while with yield').split(' '));

const TOKENS = {
  sql: [
    ['jinja', /\{#[\s\S]*?#\}|\{\{[\s\S]*?\}\}|\{%[\s\S]*?%\}/y],
    ['comment', /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y],
    ['string', /[rR]?'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)|[rR]?"(?:[^"\\]|\\[\s\S])*(?:"|$)/y],
    ['name', /`[^`]*(?:`|$)/y],
    ['number', /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\w*/y],
    ['word', /[^\W\d][\w$]*/uy],
    ['space', /\s+/y],
  ],
  python: [
    ['comment', /#[^\n]*/y],
    ['string', /[rbfRBF]{0,2}(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)/y],
    ['jinja', /@[\w.]+/y],
    ['number', /\d[\w.]*/y],
    ['word', /[^\W\d]\w*/uy],
    ['space', /\s+/y],
  ],
  yaml: [
    ['comment', /#[^\n]*/y],
    ['string', /"(?:[^"\\\n]|\\.)*"|'(?:[^'\n]|'')*'/y],
    ['call', /[\w.-]+(?=:(?:\s|$))/y],
    ['number', /-?\d[\d.]*(?=\s|,|\}|\]|$)/y],
    ['plain', /[\w.<>-]+/y],
    ['space', /\s+/y],
  ],
};

function tokens(text, language) {
  const pieces = [];
  let position = 0;
  while (position < text.length) {
    let kind = 'other';
    let piece = text[position];
    for (const [name, pattern] of TOKENS[language]) {
      pattern.lastIndex = position;
      const match = pattern.exec(text);
      if (match) {
        [kind, piece] = [name, match[0]];
        break;
      }
    }
    position += piece.length;
    if (kind === 'word') kind = wordKind(piece, text[position], language);
    const last = pieces[pieces.length - 1];
    if (last && last[0] === kind) last[1] += piece;
    else pieces.push([kind, piece]);
  }
  return pieces;
}

function wordKind(word, next, language) {
  const isKeyword = language === 'sql' ? SQL_WORDS.has(word.toLowerCase()) : PYTHON_WORDS.has(word);
  if (isKeyword) return 'keyword';
  return next === '(' ? 'call' : 'plain';
}

const PLAIN = new Set(['plain', 'space', 'other']);

// `marks` has notes by line number; `asked` is the line that an address names.
function highlighted(text, language, marks = new Map(), selected = 0) {
  const body = h('code', {});
  let row = null;
  const next = () => {
    const number = body.childElementCount + 1;
    const note = marks.get(number);
    row = h('span', {class: `line${note ? ' missed' : ''}${number === selected ? ' asked' : ''}`, 'data-said': note}, []);
    body.append(row);
  };
  next();
  for (const [kind, piece] of tokens(text.replace(/\s+$/, ''), language || 'sql')) {
    piece.split('\n').forEach((part, index) => {
      if (index) {
        row.append('\n');
        next();
      }
      if (part) row.append(PLAIN.has(kind) ? part : h('span', {class: `t-${kind}`}, part));
    });
  }
  return h('pre', {class: 'code', tabindex: '0', 'aria-label': {python: 'Python', yaml: 'YAML'}[language] || 'SQL'}, body);
}
