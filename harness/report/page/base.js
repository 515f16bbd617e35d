// The data, and small functions that all parts of the page share. Whatever comes from a run is put
// into the page as text only.
const DATA = JSON.parse(document.getElementById('data').textContent);
const ENGINES = Object.keys(DATA.summary.engines);
const KIND_ORDER = Object.keys(DATA.kinds);
const CLASS_ORDER = [...DATA.classes, ''];
const byId = (id) => document.getElementById(id);

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'on') for (const [event, run] of Object.entries(value)) node.addEventListener(event, run);
    else if (name === 'vars') for (const [key, one] of Object.entries(value)) node.style.setProperty(key, one);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat().filter((one) => one !== null && one !== undefined && one !== ''));
  return node;
}

function fill(id, ...children) { byId(id).replaceChildren(...children.flat().filter(Boolean)); }

const words = (name) => String(name).replaceAll('_', ' ');
const plural = (many, noun) => `${count(many)} ${noun}${many === 1 ? '' : 's'}`;
const count = (many) => many.toLocaleString('en-US');
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

function short(many) {
  for (const [unit, size] of [['G', 1e9], ['M', 1e6], ['k', 1e3]]) {
    if (many >= 10 * size || (many >= size && unit !== 'k')) {
      return `${Number((many / size).toPrecision(3)).toLocaleString('en-US')}${unit}`;
    }
  }
  return count(many);
}

function percent(share) {
  const value = 100 * share;
  if (value === 0 || value === 100) return `${value}%`;
  return value < 0.05 ? '<0.1%' : value > 99.95 ? '>99.9%' : `${value.toFixed(1)}%`;
}

function digits(value) {
  if (value === 0 || value >= 99.95) return Math.round(value).toLocaleString('en-US');
  if (value >= 1) return value.toFixed(value >= 9.995 ? 1 : 2);
  return String(Number(value.toPrecision(2)));
}

function duration(microseconds) {
  if (microseconds === null || microseconds === undefined) return '–';
  for (const [unit, size] of [['s', 1e6], ['ms', 1e3]]) {
    if (microseconds >= 0.9995 * size) return `${digits(microseconds / size)} ${unit}`;
  }
  return `${digits(microseconds)} µs`;
}

function tone(kind) {
  if (kind === 'false_acceptance') return 'acc';
  if (kind === 'false_rejection') return 'rej';
  return kind === 'contested' || kind === 'unresolved' ? 'plain' : 'other';
}

const keywordName = (keyword) => keyword === '' ? '(none stated)' : keyword;
const className = (name) => name === '' ? 'proves nothing' : name;

// A table whose first column heads the rows; a column is [title, cell(row), class].
function table(columns, rows, name, style) {
  const head = columns.map(([title, , sort]) => el('th', { scope: 'col', class: sort }, title));
  const body = rows.map((row) => el('tr', {}, columns.map(([title, cell, sort], at) => at
    ? el('td', { class: sort, 'data-label': title }, cell(row))
    : el('th', { scope: 'row' }, cell(row)))));
  const made = el('table', { class: style, 'aria-label': name }, el('thead', {}, el('tr', {}, head)), el('tbody', {}, body));
  return el('div', { class: 'scroll' }, made);
}

// Radio buttons; `choose` hears the value, and is called with the first one at once.
function choice(id, legend, options, choose) {
  const name = `choice-${id}`;
  const labels = options.map(([value, label], at) => el('label', {}, el('input', {
    type: 'radio', name, value, checked: at === 0, on: { change: () => choose(value) },
  }), label));
  fill(id, el('fieldset', {}, el('legend', {}, legend), labels));
  choose(options[0][0]);
}

// What no reader would see, or see in the wrong order: control and format characters, blanks other
// than the space, bytes that are no character (which stand as U+DC80 to U+DCFF).
const UNSEEN = /([\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffd\ud800-\udfff])/u;
const NAMES = { 8: '\\b', 9: '\\t', 10: '\\n', 12: '\\f', 13: '\\r' };

function unseen(char) {
  const code = char.codePointAt(0);
  if (code >= 0xdc80 && code <= 0xdcff) return [`\\x${(code - 0xdc00).toString(16)}`, 'a byte that is no character by itself'];
  return [NAMES[code] || `\\u{${code.toString(16)}}`, `the character U+${code.toString(16).toUpperCase().padStart(4, '0')}`];
}

// A text as nodes, with all that is unseen written out and marked.
function visible(text) {
  return text.split(UNSEEN).map((part, at) => {
    if (at % 2 === 0) return part;
    const [name, title] = unseen(part);
    return el('span', { class: 'raw', title }, name);
  });
}

// What is seen in a text beyond ASCII, by its code points: U+FF11 looks like 1.
function beyondAscii(text) {
  const found = [...new Set(text)].filter((char) => char > '\u007f' && !UNSEEN.test(char));
  const named = found.slice(0, 4).map((char) => `U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`);
  return named.join(' ') + (found.length > 4 ? ' …' : '');
}

// The same without marks.
const safe = (text) => [...String(text)].map((char) => UNSEEN.test(char) ? unseen(char)[0] : char).join('');
