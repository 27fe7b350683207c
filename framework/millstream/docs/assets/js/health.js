// What needs attention in the project.

const SEVERE = {failed: 'bad', failing: 'bad'};

function healthView(main) {
  main.replaceChildren(h('article', {class: 'page'}, h('h1', {}, 'Health'),
    h('ul', {class: 'tiles large'}, site.start.health.map((finding) => {
      const bad = (finding.entries || []).length;
      return h('li', {}, h('a', {class: `tile ${bad ? SEVERE[finding.name] || 'open' : 'good'}`, href: address('health', finding.name)},
        h('b', {}, bad.toLocaleString('en')), h('span', {}, finding.title),
        meter(finding.of - bad, finding.of)));
    })),
    site.start.health.map((finding) => healthSection(finding))));
}

function healthSection(finding) {
  const numbers = finding.entries || [];
  const shown = numbers.slice(0, 300);
  return h('section', {id: `health-${finding.name}`, tabindex: '-1'}, h('h2', {}, finding.title),
    h('p', {class: 'quiet'}, `${finding.why} ${numbers.length} of ${finding.of || 0}.`),
    numbers.length ? h('ul', {class: 'plain wide cells'}, shown.map((number) => h('li', {}, link(number))),
      numbers.length > shown.length ? h('li', {class: 'quiet'}, `and ${numbers.length - shown.length} more`) : null)
      : h('p', {class: 'status pass'}, 'none'));
}
