// Charts: rows of marks on one axis, in the width that there is.

// Ticks of an axis with marks from the least to the most of `values`.
function axis(values, logarithmic) {
  const positive = values.filter((one) => one > 0);
  const most = Math.max(...positive, logarithmic ? 1e-9 : 0);
  if (!positive.length) return { logarithmic: false, low: 0, high: 1, ticks: [0, 1] };
  if (!logarithmic) {
    const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.25].find((one) => most / one <= 5.01) || 0.25;
    const high = Math.min(1, Math.ceil(most / step - 1e-9) * step) || 1;
    const ticks = [];
    for (let at = 0; at <= high + 1e-9; at += step) ticks.push(at);
    return { logarithmic, low: 0, high, ticks };
  }
  const low = Math.floor(Math.log10(Math.min(...positive)) + 1e-9);
  const high = Math.max(low + 1, Math.ceil(Math.log10(most) - 1e-9));
  const ticks = [];
  for (let at = low; at <= high; at += 1) ticks.push(10 ** at);
  return { logarithmic, low, high, ticks };
}

// Draws rows into a container, and again whenever its width changes.
// A row is {head} or {label, marks, text, tone}; a mark is {value, low, high, style, title};
// options: logarithmic, tick(value), name, from (whether stems start at the left edge).
function plot(id, rows, options) {
  const box = byId(id);
  let width = 0;
  const draw = () => {
    if (box.clientWidth === width || !box.clientWidth) return;
    width = box.clientWidth;
    box.replaceChildren(drawn(rows, options, width));
  };
  if (box.observer) box.observer.disconnect();
  box.observer = new ResizeObserver(draw);
  box.observer.observe(box);
  draw();
}

function drawn(rows, options, width) {
  const values = rows.flatMap((row) => (row.marks || []).flatMap((one) => [one.value, one.low, one.high]))
    .filter((one) => typeof one === 'number');
  const scale = axis(values, options.logarithmic);
  const narrow = width < 560;
  const left = narrow ? 4 : 150;
  const right = narrow ? 10 : 190;
  const zeros = scale.logarithmic && values.some((one) => one <= 0);
  const gutter = zeros ? 44 : 0;
  const from = left + gutter;
  const span = width - from - right - 6;
  const x = (value) => {
    if (!scale.logarithmic) return from + (span * value) / scale.high;
    if (value <= 0) return left + 10;
    return from + (span * Math.max(0, Math.log10(value) - scale.low)) / (scale.high - scale.low);
  };
  const body = [];
  let y = 4;
  for (const row of rows) {
    if (row.head !== undefined) {
      y += y > 4 ? 14 : 0;
      body.push(svgEl('text', { x: 0, y: y + 14, class: 'h' }, row.head));
      if (row.note) body.push(svgEl('text', { x: narrow ? 0 : width, y: y + (narrow ? 31 : 14), class: 's', 'text-anchor': narrow ? 'start' : 'end' }, row.note));
      y += row.note && narrow ? 38 : 24;
      continue;
    }
    const text = [row.label, row.text];
    if (narrow) {
      body.push(svgEl('text', { x: left, y: y + 12 }, text[0]), svgEl('text', { x: width, y: y + 12, class: 's', 'text-anchor': 'end' }, text[1]));
      y += 16;
    } else {
      body.push(svgEl('text', { x: left - 12, y: y + 15, 'text-anchor': 'end' }, text[0]), svgEl('text', { x: width - right + 14, y: y + 15, class: 's' }, text[1]));
    }
    body.push(marked(row, x, y + 11, from));
    y += 24;
  }
  const grid = scale.ticks.map((tick) => svgEl('line', { x1: x(tick), x2: x(tick), y1: 24, y2: y + 4, class: 'grid' }));
  const every = Math.ceil((scale.ticks.length * (options.room || 46)) / span);
  const labels = scale.ticks.filter((_, at) => at % every === 0)
    .map((tick) => svgEl('text', { x: x(tick), y: y + 20, class: 's', 'text-anchor': 'middle' }, options.tick(tick)));
  if (zeros) labels.push(svgEl('text', { x: left + 10, y: y + 20, class: 's', 'text-anchor': 'middle' }, '0'));
  return svgEl('svg', { width, height: y + 26, viewBox: `0 0 ${width} ${y + 26}`, role: 'img', 'aria-label': options.name }, grid, body, labels);
}

function marked(row, x, y, from) {
  const nodes = [];
  for (const one of [...row.marks].sort((a, b) => (b.value || 0) - (a.value || 0))) {
    if (one.value === null || one.value === undefined) continue;
    const at = x(one.value);
    if (typeof one.low === 'number') nodes.push(svgEl('line', { x1: x(one.low), x2: x(one.high), y1: y, y2: y, class: 'stem' }));
    else if (one.value > 0 && one.style !== 'tick') nodes.push(svgEl('line', { x1: from, x2: at, y1: y, y2: y, class: 'thin' }));
    nodes.push(shape(one.style, at, y, one.title));
  }
  return svgEl('g', { class: row.tone }, nodes);
}

// A full, half or open circle, or a short line.
function shape(style, x, y, title) {
  const parts = [];
  if (style === 'tick') parts.push(svgEl('line', { x1: x, x2: x, y1: y - 6, y2: y + 6, class: 'm' }));
  else parts.push(svgEl('circle', { cx: x, cy: y, r: 5.2, class: `m ${style === 'full' ? 'full' : 'open'}` }));
  if (style === 'half') parts.push(svgEl('path', { d: `M ${x} ${y - 5.2} A 5.2 5.2 0 0 0 ${x} ${y + 5.2} Z`, class: 'm full' }));
  if (title) parts.push(svgEl('title', {}, title));
  return svgEl('g', {}, parts);
}

const MARK = { bug: 'full', warned: 'half', departure: 'open' };

function classKey() {
  const label = { bug: 'bug', warned: 'warned of', departure: 'documented departure' };
  return el('ul', { class: 'key plain' }, Object.keys(MARK).map((name) => el('li', {},
    svgEl('svg', { viewBox: '0 0 14 14', 'aria-hidden': 'true' }, shape(MARK[name], 7, 7)), label[name])));
}

// A bar in parts, each [number, class, title]; whole: what the full width stands for.
function stacked(parts, whole) {
  return el('div', { class: 'stack', 'aria-hidden': 'true' }, parts.filter(([many]) => many > 0).map(([many, style, title]) => el('span', {
    class: style, title, vars: { width: `${(100 * many) / whole}%` },
  })));
}

// A table of counts, engines by what `by` names; shades follow the logarithm.
function heat(id, rows, by, kind, unit, open) {
  const mine = rows.filter((row) => row.kind === kind && row[unit] > 0);
  const names = [...new Set(mine.map((row) => row[by]))];
  const of = new Map();
  for (const row of mine) {
    const key = JSON.stringify([row[by], row.engine]);
    of.set(key, Math.max(of.get(key) || 0, 0) + row[unit]);
  }
  const most = Math.max(1, ...of.values());
  const total = (name) => Math.max(...ENGINES.map((engine) => of.get(JSON.stringify([name, engine])) || 0));
  names.sort((a, b) => total(b) - total(a) || a.localeCompare(b));
  if (!names.length) return fill(id, el('p', { class: 'note' }, 'None are proven.'));
  const cell = (name, engine) => {
    const many = of.get(JSON.stringify([name, engine])) || 0;
    if (!many) return el('span', { class: 'cell nil', vars: { '--n': 0 } }, el('span', {}, '·'));
    const shade = 0.12 + 0.88 * (Math.log(many + 1) / Math.log(most + 1));
    const label = `${keywordName(name)}, ${engine}: ${count(many)}; show the verdicts`;
    return el('button', { type: 'button', class: 'cell', 'aria-label': label, vars: { '--n': shade.toFixed(3) }, on: { click: () => open(name, engine) } }, el('span', {}, short(many)));
  };
  const head = el('tr', {}, el('th', { scope: 'col' }, by), ENGINES.map((engine) => el('th', { scope: 'col' }, engine)));
  const body = names.map((name) => el('tr', {}, el('th', { scope: 'row' }, safe(keywordName(name))), ENGINES.map((engine) => el('td', {}, cell(name, engine)))));
  const made = el('table', { class: `heat ${tone(kind)}`, 'aria-label': `${words(kind)}s by ${by} and engine` }, el('thead', {}, head), el('tbody', {}, body));
  if (ENGINES.length > 4) made.style.minWidth = `${12 + 5 * ENGINES.length}rem`;
  return fill(id, el('div', { class: 'scroll' }, made));
}
