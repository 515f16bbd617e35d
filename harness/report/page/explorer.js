// The explorer: filters, a list of verdicts, and one of them in full. Its state stands in the
// address, so that a verdict can be pointed at: #verdict=17.

const FILTERS = ['engine', 'kind', 'class', 'keyword', 'family', 'evidence', 'located', 'effect', 'shown_by'];
const VALUES = Object.fromEntries(FILTERS.map((name) => [name, [...new Set(DATA.groups.map((group) => String(group[name])))]]));
const state = { verdict: null, q: '' };
const groupOf = (one) => DATA.groups[one.group];
const rankOf = (one) => {
  const group = groupOf(one);
  return [CLASS_ORDER.indexOf(group.class), KIND_ORDER.indexOf(group.kind), ENGINES.indexOf(group.engine), group.evidence === 'walk' ? 0 : 1, group.located ? 0 : 1, -group.verdicts];
};
const VERDICTS = DATA.verdicts.map((one, at) => [rankOf(one), at, one]).sort(([a, i], [b, j]) => {
  const differs = a.findIndex((value, at) => value !== b[at]);
  return differs < 0 ? i - j : a[differs] - b[differs];
}).map(([, , one]) => one);
const joined = (text) => text.map((part) => typeof part === 'number' ? ' … ' : part).join('');
// As the page shows it, so that what is seen is found: control characters as they are written out.
const searched = (one) => safe([headline(one), one.id, one.case, one.place, one.category, one.detail, words(one.reason), one.departure, one.schema_pointer, one.instance_pointer,
  joined(one.before) + (one.token ? one.token.text : '') + joined(one.after), codePoints(one)].join(' | ')).toLowerCase();
const SEARCHED = new Map(VERDICTS.map((one) => [one.id, searched(one)]));
let SHOWN = [];

const matches = (group) => FILTERS.every((name) => state[name] === undefined || String(group[name]) === state[name]);

function filterForm() {
  const label = { keyword: keywordName, class: className, located: (value) => value === 'true' ? 'at this token' : 'not located', kind: words, effect: (value) => words(value) || 'none', shown_by: (value) => value || 'nothing' };
  const order = { engine: ENGINES, kind: KIND_ORDER, class: CLASS_ORDER, shown_by: ['real', 'plain', 'rare', ''] };
  const selects = FILTERS.map((name) => {
    const values = [...VALUES[name]].sort((a, b) => order[name] ? order[name].indexOf(a) - order[name].indexOf(b) : a.localeCompare(b));
    const options = values.map((value) => el('option', { value: `=${value}` }, safe((label[name] || String)(value))));
    return el('label', {}, name === 'located' ? 'where the error is' : words(name), el('select', { id: `filter-${name}`, on: { change: (event) => {
      state[name] = event.target.value ? event.target.value.slice(1) : undefined;
      refresh(true);
    } } }, el('option', { value: '' }, 'any'), options));
  });
  const search = el('label', {}, 'text search', el('input', { type: 'search', id: 'filter-q', placeholder: 'text, message', on: { input: (event) => { state.q = event.target.value; refresh(true); } } }));
  const button = el('button', { type: 'button', id: 'reset', on: { click: reset } }, 'Reset');
  byId('filters').replaceChildren(...selects, search, button);
  byId('filters').addEventListener('submit', (event) => event.preventDefault());
}

function refresh(record) {
  for (const name of FILTERS) byId(`filter-${name}`).value = state[name] === undefined ? '' : `=${state[name]}`;
  byId('filter-q').value = state.q;
  const query = safe(state.q.trim()).toLowerCase();
  SHOWN = VERDICTS.filter((one) => matches(groupOf(one)) && (!query || SEARCHED.get(one.id).includes(query)));
  const all = sum(DATA.groups.filter(matches).map((group) => group.verdicts));
  fill('count', el('strong', {}, plural(SHOWN.length, 'verdict')), ` explained here. In the run, ${plural(all, 'verdict')} ${all === 1 ? 'fits' : 'fit'} these filters${query ? ' (before the text search)' : ''}.`);
  const list = byId('list');
  list.replaceChildren(...SHOWN.map(item));
  if (!SHOWN.length) {
    const none = all ? 'None of these is explained here: they have no witness, or the sample holds none that the search finds.' : 'No verdict of the run fits these filters.';
    list.append(el('li', { class: 'none', role: 'option', 'aria-selected': 'false', 'aria-disabled': 'true' }, none));
  }
  if (!SHOWN.some((one) => one.id === state.verdict)) closeVerdict();
  mark();
  if (record) remember();
}

function closeVerdict() {
  const had = state.verdict !== null;
  state.verdict = null;
  const detail = byId('detail');
  detail.className = '';
  detail.replaceChildren(el('p', { class: 'hint' }, had ? 'The verdict that was open is not among these. ' : '', SHOWN.length ? 'Choose a verdict in the list to see why it holds.' : ''));
}

function headline(one) {
  const group = groupOf(one);
  return `${words(group.kind)} by ${group.engine}${group.keyword ? `: ${safe(group.keyword)}` : ''}`;
}

function item(one) {
  const group = groupOf(one);
  const before = joined(one.before);
  const snippet = el('code', { class: 'snip' }, visible([...before].slice(-22).join('')), one.token ? el('span', { class: 'tok' }, tokenText(one.token)) : '', visible([...joined(one.after)].slice(0, 16).join('')));
  return el('li', { id: `verdict-${one.id}`, role: 'option', class: tone(group.kind), tabindex: '-1', 'aria-selected': 'false', on: { click: () => show(one.id) } },
    el('span', { class: 'what' }, el('b', {}, `${words(group.kind)}${group.keyword ? `: ${safe(group.keyword)}` : ''}`), el('span', {}, className(group.class))),
    snippet, el('span', { class: 'case' }, `${[group.engine, safe(one.case), one.id, codePoints(one)].filter(Boolean).join(' · ')}`));
}

// Which item can be reached by the tabulator, and which is the one that is open.
function mark(focus) {
  const list = byId('list');
  for (const node of list.querySelectorAll('[tabindex="0"], [aria-selected="true"]')) {
    node.tabIndex = -1;
    node.setAttribute('aria-selected', 'false');
  }
  const open = state.verdict === null ? null : byId(`verdict-${state.verdict}`);
  if (open) open.setAttribute('aria-selected', 'true');
  const reached = focus || open || list.querySelector('[role="option"]:not(.none)');
  if (reached) reached.tabIndex = 0;
  if (focus) focus.focus();
  else if (open && list.scrollTo) list.scrollTop = Math.max(0, open.offsetTop - list.offsetTop - list.clientHeight / 3);
}

function keys(event) {
  const items = [...byId('list').querySelectorAll('[role="option"]:not(.none)')];
  const at = items.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1, PageDown: at + 10, PageUp: at - 10 }[event.key];
  if (to !== undefined && items.length) {
    event.preventDefault();
    mark(items[Math.max(0, Math.min(items.length - 1, to))]);
  } else if ((event.key === 'Enter' || event.key === ' ') && at >= 0) {
    event.preventDefault();
    show(items[at].id.slice('verdict-'.length));
  }
}

function setFilters(filters, q) {
  for (const name of FILTERS) state[name] = filters[name] === undefined ? undefined : String(filters[name]);
  state.q = q || '';
}

function reset() {
  state.verdict = null;
  setFilters({});
  refresh(true);
}

// From elsewhere in the page: show the explorer with these filters and no others.
function explore(filters) {
  leave();
  setFilters(filters);
  refresh(true);
  byId('explorer').scrollIntoView({ behavior: 'instant' });
  if (SHOWN.length) show(SHOWN[0].id, true);
  const first = byId('list').querySelector('[tabindex="0"]');
  if (first) first.focus({ preventScroll: true });
}

// From elsewhere in the page: open one verdict, whatever the filters are.
function openVerdict(id) {
  leave();
  setFilters({});
  refresh(false);
  show(id);
  byId('detail').scrollIntoView({ behavior: 'instant' });
}

// Open one verdict; `quietly`: neither focus nor page move. One that the filters leave out is
// shown without them.
function show(id, quietly) {
  const one = DATA.verdicts.find((verdict) => verdict.id === id);
  if (!SHOWN.includes(one)) {
    setFilters({});
    refresh(false);
  }
  state.verdict = one ? id : null;
  mark();
  const detail = byId('detail');
  detail.replaceChildren(...(one ? detailOf(one) : [el('p', {}, `Verdict ${safe(id)} is not among those that this page explains: ${DATA.about.replayed} ${/^[is]?\d+$/.test(id) ? id : 'VERDICT'} --show`)]));
  detail.className = one ? tone(groupOf(one).kind) : '';
  const hit = detail.querySelector('pre.schema .hit');
  if (hit) hit.parentNode.scrollTop = Math.max(0, hit.offsetTop - hit.parentNode.offsetTop - 60);
  if (!quietly) {
    detail.focus({ preventScroll: true });
    if (detail.getBoundingClientRect().top < 0 || detail.getBoundingClientRect().top > innerHeight / 2) detail.scrollIntoView({ behavior: 'instant' });
  }
  remember();
}

function remember() {
  const parts = new URLSearchParams();
  if (state.verdict !== null) parts.set('verdict', state.verdict);
  for (const name of FILTERS) if (state[name] !== undefined) parts.set(name, state[name]);
  if (state.q) parts.set('q', state.q);
  history.replaceState(history.state, '', parts.size ? `#${parts}` : location.pathname + location.search);
}

// Whoever comes to the explorer from elsewhere in the page goes back there by the browser's Back:
// a new entry of its history, beside which `opener` remembers what was chosen. Entries of the
// explorer have a state; by that they are told from those of plain links.
const OPENERS = [];
function leave() {
  const opener = OPENERS.push(document.activeElement) - 1;
  history.replaceState({ ...history.state, opener, y: scrollY }, '');
  history.pushState({}, '');
}

function comeBack(event) {
  if (!event.state) return;
  takeAddress(true);
  const { opener, y } = event.state;
  if (opener === undefined) return;
  if (OPENERS[opener]) OPENERS[opener].focus({ preventScroll: true });
  scrollTo({ top: y, behavior: 'instant' });
}

// Take the state from the address; values that no filter has are left out.
function takeAddress(quietly) {
  const parts = new URLSearchParams(location.hash.includes('=') ? location.hash.slice(1) : '');
  state.verdict = null;
  setFilters(Object.fromEntries([...parts].filter(([name, value]) => FILTERS.includes(name) && VALUES[name].includes(value))), parts.get('q'));
  refresh(false);
  if (parts.has('verdict')) show(parts.get('verdict'), quietly);
  if (location.hash.includes('=')) remember();
}

function fromAddress() {
  if (!location.hash.includes('=')) return;
  byId('explorer').scrollIntoView({ behavior: 'instant' });
  const alone = /^#verdict=[^&]*$/.test(location.hash);
  takeAddress(false);
  if (alone) byId('detail').scrollIntoView({ behavior: 'instant' });
}

// From a verdict back to where it stands in the list, or else to the filters.
function toList() {
  const list = byId('list');
  const place = list.querySelector('[aria-selected="true"]') || list.querySelector('[tabindex="0"]') || byId('reset');
  place.focus({ preventScroll: true });
  place.parentNode.scrollIntoView({ behavior: 'instant', block: 'nearest' });
}

// Of a token with look-alikes of other characters, or such as a font may lack, what they are.
function codePoints(one) { return one.token && !one.token.special ? beyondAscii(one.token.text) : ''; }

const tokenText = (token) => token.special ? [safe(token.text) || `special token ${token.id}`] : token.text === '' ? ['(empty)'] : visible(token.text);
const textParts = (text) => text.map((part) => typeof part === 'number' ? el('span', { class: 'cut' }, ` [${count(part)} bytes left out] `) : visible(part)).flat();

const MEANING = {
  false_acceptance: (one, group) => `${group.engine} lets this ${one.token && group.evidence === 'walk' ? 'token through and goes on to the end' : 'text through to its end'}. ${group.keyword === 'json' ? 'The text is no JSON: the parser refuses it, so that no validator is asked' : 'Both validators call the text invalid'}${group.evidence === 'walk' ? ', and no completion that was tried behind this token is valid' : ''}.`,
  false_rejection: (one, group) => one.accepter ? `${group.engine} forbids this token. ${one.accepter} allows it and goes on to the end, and both validators call the text valid.` : `${group.engine} forbids this token of a text that both validators call valid.`,
  never_stops: (one, group) => `${group.engine} forbids the end of generation behind a complete valid value.`,
  stops_too_early: (one, group) => `${group.engine} allows the end of generation where the text is not yet a complete JSON value.`,
  dead_end: (one, group) => one.reason ? `Behind this token, every way that ${group.engine} allows is longer than the limit, while another engine has a valid completion.` : `The way that ${group.engine} itself allows leads to a place where it allows nothing at all.`,
  mask_consume_mismatch: (one, group) => `The mask of ${group.engine} and what it consumes do not say the same of this token.`,
  unbounded_repetition: (one, group) => `${group.engine} allows the same ${one.reason === 'digits' ? 'digit' : 'white space'} to follow itself 500 times: a model can go on for ever.`,
  contested: () => 'The validators differ about this text, or the specification leaves it open: it counts for nobody.',
};

function detailOf(one) {
  const group = groupOf(one);
  const place = group.evidence === 'walk' ? `walk ${one.number}, position ${one.position}` : `${group.evidence} ${one.number}, token ${one.position}`;
  const entry = DATA.catalogue.find((other) => other.id === one.departure);
  const sort = FILTERS.join(', ');
  return [
    el('button', { type: 'button', class: 'quiet back', on: { click: toList } }, 'Back to the list'),
    el('h3', {}, headline(one)),
    el('p', {}, el('span', { class: 'badge' }, className(group.class)), group.kind === 'false_acceptance' && group.evidence === 'walk' ? el('span', { class: 'badge plain' }, group.located ? 'located: the error lies at this token' : 'not located: here or later') : '', ` ${safe(one.case)} (${safe(group.family)}), ${place}${one.place ? `, ${one.place}` : ''}`),
    el('p', {}, MEANING[group.kind] ? MEANING[group.kind](one, group) : ''),
    entry ? el('p', { class: 'note' }, `${entry.class === 'warned' ? 'Warned of' : 'Documented'}: ${entry.says} (${entry.id})`) : '',
    textBlock(one, group),
    whoBlock(one, group),
    validatorsBlock(one),
    ...schemaBlock(one),
    el('h4', {}, 'Repeat it'),
    commandBlock(`${DATA.about.replayed} ${one.id}`),
    el('p', { class: 'note' }, group.verdicts === 1 ? `The only verdict of its sort (${sort}).`
      : `One of ${plural(group.verdicts, 'verdict')} of its sort (${sort}), in ${plural(group.cases, 'schema')}; ${group.shown === group.verdicts ? 'all' : count(group.shown)} of them ${group.shown === 1 ? 'is' : 'are'} explained here.`),
  ];
}

function textBlock(one, group) {
  const rest = group.evidence === 'walk' ? 'what follows in the completion' : 'the rest of the text';
  return el('div', {}, el('h4', {}, 'The text so far, the token, and how it goes on'),
    el('div', { class: 'text', tabindex: '0', role: 'group', 'aria-label': 'The text' }, textParts(one.before), one.token ? el('mark', { class: 'tok', title: `token ${one.token.id}` }, tokenText(one.token)) : '', el('span', { class: 'aft' }, textParts(one.after))),
    el('p', { class: 'note' }, one.token ? `Boxed: the token (${one.token.special ? 'special, ' : ''}id ${one.token.id}${codePoints(one) && `; ${codePoints(one)}`}). ` : 'No single token is at fault. ', joined(one.after) ? `Dotted line: ${rest}${one.after_tokens ? ` (${plural(one.after_tokens, 'token')}${one.ends ? ', then the end of generation' : ''})` : ''}.` : one.ends ? 'Then the end of generation.' : '', ' Framed: bytes and characters that cannot be seen.'));
}

const SHOWING = { real: 'a value of the data set', plain: 'a plain generated value', rare: 'a rare value' };

function whoBlock(one, group) {
  const names = (list) => list.join(', ') || 'not said by this verdict';
  return el('dl', { class: 'facts' }, [['allowed by', names(one.allowed)], ['forbidden by', names(one.forbidden)], one.accepter ? ['completion by', one.accepter] : null,
    one.category ? ['kind of token', `${one.category}${one.detail ? ` (${safe(one.detail)})` : ''}`] : null, one.reason ? ['reason', words(one.reason)] : null,
    group.effect ? ['effect', `${words(group.effect)}: ${DATA.effects[group.effect]}`] : null, group.shown_by ? ['shown by', SHOWING[group.shown_by]] : null].filter(Boolean).flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]));
}

function validatorsBlock(one) {
  if (!one.opinions) return el('p', { class: 'note' }, 'No validator was asked: the verdict rests on what the engine itself allows, not on a text.');
  const said = Object.values(one.opinions);
  if (!said.some(Boolean)) return el('p', { class: 'note' }, 'The text is no JSON: the parser refuses it, and no validator is asked.');
  const verdict = said.every((word) => word === said[0]) ? said[0] : 'contested';
  const facts = Object.entries(one.opinions).map(([name, word]) => [el('dt', {}, name), el('dd', {}, el('b', {}, word || 'not asked'))]);
  return el('div', {}, el('h4', {}, `What the validators say: ${verdict}`), el('dl', { class: 'facts' }, ...facts.flat()));
}

function schemaBlock(one) {
  const schema = DATA.cases[one.case];
  const [first, last] = schema.spans[one.schema_pointer] || [0, -1];
  const points = one.schema_pointer !== '';
  const lines = schema.lines.map((line, at) => el('span', { class: points && at >= first && at <= last ? 'hit' : null }, line));
  return [el('h4', {}, 'The schema'), points ? el('p', {}, `${groupOf(one).kind === 'false_rejection' ? 'In force' : 'Broken'}: `, el('code', {}, safe(one.schema_pointer)), one.instance_pointer ? [', at ', el('code', {}, safe(one.instance_pointer)), ' of the text'] : '') : '',
    el('pre', { class: 'schema', tabindex: '0', 'aria-label': 'The schema' }, lines), schema.abridged ? el('p', { class: 'note' }, `Abridged: the schema has ${count(schema.size)} characters. maskcourt replay … --show prints all of it.`) : ''];
}

// What is to be copied, with a button that does it; `code` is where it stands.
function copyBlock(command, code) {
  const done = el('span', { role: 'status' });
  const copy = async () => {
    try { await navigator.clipboard.writeText(command); done.textContent = 'copied'; } catch {
      getSelection().selectAllChildren(code);
      done.textContent = 'selected';
    }
  };
  return el('div', { class: 'command' }, code, el('button', { type: 'button', on: { click: copy } }, 'Copy'), done);
}

const commandBlock = (command) => copyBlock(command, el('code', {}, command));

function explorer() {
  const { about, groups } = DATA;
  const all = sum(groups.map((group) => group.verdicts));
  byId('about-sample').textContent = about.shown
    ? `The run holds ${plural(all, 'verdict')} of ${plural(groups.length, 'sort')} (engine, kind, class, keyword, family, kind of evidence, effect, what shows it, and whether the error is located). `
      + `${count(about.shown)} of them are explained here: as many of each sort as there is room for, bugs first, drawn with seed ${about.seed}. Counts are of all. Verdicts that are unresolved have no witness and are not listed.`
    : `The run holds ${plural(all, 'verdict')}; none are explained here.`;
  // What the kinds mean that the table of errors names and no section above defines.
  const defined = KIND_ORDER.filter((kind) => tone(kind) === 'other' && groups.some((group) => group.kind === kind)).map((kind) => `${words(kind)}: ${DATA.kinds[kind]}`);
  if (defined.length) byId('table-errors').append(el('p', { class: 'note' }, `${defined.join('. ')}.`.replace(/(^|\. )\w/g, (begin) => begin.toUpperCase())));
  filterForm();
  refresh(false);
  byId('list').addEventListener('keydown', keys);
  byId('detail').addEventListener('keydown', (event) => {
    if (event.key === 'Escape') toList();
  });
  addEventListener('popstate', comeBack);
  addEventListener('hashchange', () => { if (!history.state) fromAddress(); });
}
