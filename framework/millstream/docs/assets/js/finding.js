// The search field and the list below it.

const SHOWN = 12;

class Finder {
  constructor(field, box) {
    Object.assign(this, {field, box, selected: -1});
  }

  begin() {
    const {field, box} = this;
    field.addEventListener('input', () => this.update());
    field.addEventListener('focus', () => {
      box.setAttribute('aria-busy', 'true');
      fillSearch(() => { if (!box.hidden) this.update(this.options[this.selected]?.id); })
        .then(() => box.setAttribute('aria-busy', 'false'));
    });
    field.addEventListener('keydown', (event) => this.pressed(event));
    box.addEventListener('click', () => {
      this.close();
      field.value = '';
    });
    document.addEventListener('click', (event) => { if (!event.target.closest('.seek')) this.close(); });
    document.addEventListener('keydown', (event) => {
      const typing = /^(input|select|textarea)$/i.test(document.activeElement.tagName);
      if ((event.key === '/' && !typing) || (event.key === 'k' && (event.ctrlKey || event.metaKey))) {
        event.preventDefault();
        field.focus();
      }
    });
  }

  get options() {
    return [...this.box.querySelectorAll('[role=option]')];
  }

  close() {
    this.box.hidden = true;
    this.field.setAttribute('aria-expanded', 'false');
    this.field.removeAttribute('aria-activedescendant');
  }

  // Lists the hits, and chooses the one with an id: more of them may be found while somebody goes through the list.
  update(chosen) {
    const text = this.field.value.trim();
    if (!text) {
      this.close();
      return;
    }
    const results = search(text);
    this.box.replaceChildren(...results.slice(0, SHOWN).map(option),
      h('p', {class: 'quiet'}, results.length ? count(results.length, 'hit') : `Nothing holds ${text}.`));
    this.box.hidden = false;
    this.field.setAttribute('aria-expanded', 'true');
    this.choose(Math.max(0, this.options.findIndex((element) => element.id === chosen)));
  }

  choose(index) {
    const {options} = this;
    this.selected = options.length ? (index + options.length) % options.length : -1;
    options.forEach((element, position) => element.setAttribute('aria-selected', String(position === this.selected)));
    if (this.selected < 0) return;
    this.field.setAttribute('aria-activedescendant', options[this.selected].id);
    options[this.selected].scrollIntoView({block: 'nearest'});
  }

  pressed(event) {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (step) {
      event.preventDefault();
      this.choose(this.selected + step);
    } else if (event.key === 'Enter' && !this.box.hidden && this.options[this.selected]) this.options[this.selected].click();
    else if (event.key === 'Escape') this.close();
  }
}

function option(hit) {
  const entry = site.entries[hit.number];
  const where = h('span', {class: 'where'});
  snippet(hit).then((text) => where.append(...marked(text, hit.term)));
  return h('a', {
    role: 'option', id: `hit-${hit.number}`, tabindex: '-1', href: address('page', entry.id, placeOn(hit)), class: `hit kind-${entry.kind}`,
  }, h('i', {class: 'dot', 'aria-hidden': 'true'}), h('b', {}, ...marked(entry.name, hit.term)), h('span', {class: 'is'}, WORDS[entry.kind]), where);
}

function marked(text, term) {
  const start = text.toLowerCase().indexOf(term);
  return start < 0 ? [text] : [text.slice(0, start), h('mark', {}, text.slice(start, start + term.length)), text.slice(start + term.length)];
}
