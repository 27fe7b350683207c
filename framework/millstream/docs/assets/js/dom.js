// Elements are created by name, and texts are set as text: user text is never parsed as HTML.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

function h(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function svg(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

// A description is a tree of these elements; see docs/markdown.py.
const ELEMENTS = new Set(
  'p em strong s code pre blockquote ul ol li hr br a h3 h4 h5 h6 table thead tbody tr th td'.split(' '));

function markup(tree) {
  return (tree || []).map((node) => {
    if (!Array.isArray(node)) return String(node);
    const [name, ...rest] = node;
    const options = rest.length && typeof rest[0] === 'object' && !Array.isArray(rest[0]) ? rest.shift() : {};
    const attributes = name === 'th' ? {scope: 'col'} : {};
    if (name === 'a' && /^(https?|mailto):/i.test(options.href || '')) {
      Object.assign(attributes, {href: options.href, rel: 'noopener noreferrer', target: '_blank'});
    }
    return h(ELEMENTS.has(name) ? name : 'span', attributes, markup(rest));
  });
}

function cut(text, most) {
  return text.length > most ? text.slice(0, Math.max(0, most - 1)) + '…' : text;
}

const $ = (id) => document.getElementById(id);

function say(text) {
  $('said').textContent = text;
}

function count(number, one, many) {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many || one + 's'}`;
}

// The settings behind the # of the address: `#/lineage?focus=model.a&up=2`.
function readAddress() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const parts = path.split('/').map(decodePart);
  return {view: parts[0] || 'home', id: parts.slice(1).join('/'), query: new URLSearchParams(query || '')};
}

function decodePart(text) {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    return text;
  }
}

function address(view, id, query) {
  const settings = new URLSearchParams();
  for (const [name, value] of Object.entries(query || {})) {
    if (value !== '' && value !== null && value !== undefined) settings.set(name, value);
  }
  const parameters = settings.toString();
  return `#/${view}${id ? '/' + encodeURIComponent(id) : ''}${parameters ? '?' + parameters : ''}`;
}
