// The explorer: filters, a list of verdicts, and one of them in full. Its state stands in the
// address, so that a verdict can be pointed at: #verdict=17.

const FILTERS = ['engine', 'kind', 'class', 'keyword', 'family', 'evidence', 'located'];
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
const SEARCHED = new Map(VERDICTS.map((one) => [one.id, [one.id, one.case, one.place, one.category, one.detail, one.reason, one.departure, one.schema_pointer, joined(one.before) + (one.token ? one.token.text : '') + joined(one.after)].join('\n').toLowerCase()]));
let SHOWN = [];

const matches = (group) => FILTERS.every((name) => state[name] === undefined || String(group[name]) === state[name]);

function filterForm() {
  const label = { keyword: keywordName, class: className, located: (value) => value === 'true' ? 'at this token' : 'not located', kind: words };
  const order = { engine: ENGINES, kind: KIND_ORDER, class: CLASS_ORDER };
  const selects = FILTERS.map((name) => {
    const values = [...new Set(DATA.groups.map((group) => String(group[name])))];
    values.sort((a, b) => order[name] ? order[name].indexOf(a) - order[name].indexOf(b) : a.localeCompare(b));
    const options = values.map((value) => el('option', { value: `=${value}` }, safe((label[name] || String)(value))));
    return el('label', {}, name === 'located' ? 'where the error is' : name, el('select', { id: `filter-${name}`, on: { change: (event) => {
      state[name] = event.target.value ? event.target.value.slice(1) : undefined;
      refresh(true);
    } } }, el('option', { value: '' }, 'any'), options));
  });
  const search = el('label', {}, 'text search', el('input', { type: 'search', id: 'filter-q', placeholder: 'case, text, pointer', on: { input: (event) => { state.q = event.target.value; refresh(true); } } }));
  const reset = el('button', { type: 'button', id: 'reset', on: { click: () => explore({}) } }, 'Reset');
  byId('filters').replaceChildren(...selects, search, reset);
  byId('filters').addEventListener('submit', (event) => event.preventDefault());
}

function refresh(record) {
  for (const name of FILTERS) byId(`filter-${name}`).value = state[name] === undefined ? '' : `=${state[name]}`;
  byId('filter-q').value = state.q;
  const query = state.q.trim().toLowerCase();
  SHOWN = VERDICTS.filter((one) => matches(groupOf(one)) && (!query || SEARCHED.get(one.id).includes(query)));
  const all = sum(DATA.groups.filter(matches).map((group) => group.verdicts));
  fill('count', el('strong', {}, plural(SHOWN.length, 'verdict')), ` explained here. In the run, ${plural(all, 'verdict')} ${all === 1 ? 'fits' : 'fit'} these filters${query ? ' (before the text search)' : ''}.`);
  const list = byId('list');
  list.replaceChildren(...SHOWN.map(item));
  if (!SHOWN.length) {
    const none = all ? 'None of these is explained here: they have no witness, or the sample holds none that the search finds.' : 'No verdict of the run fits these filters.';
    list.append(el('li', { class: 'none', role: 'option', 'aria-selected': 'false', 'aria-disabled': 'true' }, none));
  }
  mark();
  if (record) remember();
}

function headline(one) {
  const group = groupOf(one);
  return `${words(group.kind)} by ${group.engine}${group.keyword ? `: ${safe(group.keyword)}` : ''}`;
}

function item(one) {
  const group = groupOf(one);
  const before = joined(one.before);
  const snippet = el('code', { class: 'snip' }, visible([...before].slice(-22).join('')), one.token ? el('span', { class: 'tok' }, tokenText(one.token)) : '', visible([...joined(one.after)].slice(0, 16).join('')));
  return el('li', { id: `verdict-${one.id}`, role: 'option', class: tone(group.kind), tabindex: '-1', 'aria-selected': 'false', on: { click: () => openVerdict(one.id, false) } },
    el('span', { class: 'what' }, el('b', {}, `${words(group.kind)}${group.keyword ? `: ${safe(group.keyword)}` : ''}`), el('span', {}, className(group.class))),
    snippet, el('span', { class: 'case' }, `${group.engine} · ${safe(one.case)} · ${one.id}`));
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
    openVerdict(items[at].id.slice('verdict-'.length), false);
  }
}

// Show the explorer with these filters and no others.
function explore(filters) {
  for (const name of FILTERS) state[name] = filters[name] === undefined ? undefined : String(filters[name]);
  state.q = '';
  refresh(true);
  if (Object.keys(filters).length) {
    byId('explorer').scrollIntoView({ behavior: 'instant' });
    if (SHOWN.length) openVerdict(SHOWN[0].id, false, true);
    const first = byId('list').querySelector('[tabindex="0"]');
    if (first) first.focus({ preventScroll: true });
  }
}

// Open one verdict; `alone`: whatever the filters are; `quietly`: the focus stays where it is.
function openVerdict(id, alone, quietly) {
  const one = DATA.verdicts.find((verdict) => verdict.id === id);
  if (alone || !one) {
    for (const name of FILTERS) state[name] = undefined;
    state.q = '';
  }
  state.verdict = one ? id : null;
  if (alone || !one) refresh(false);
  mark();
  const detail = byId('detail');
  detail.replaceChildren(...(one ? detailOf(one) : [el('p', {}, `Verdict ${safe(id)} is not among those that this page explains: maskcourt replay ${DATA.about.quoted} ${/^i?\d+$/.test(id) ? id : 'VERDICT'} --show`)]));
  detail.className = one ? tone(groupOf(one).kind) : '';
  const hit = detail.querySelector('pre.schema .hit');
  if (hit) hit.parentNode.scrollTop = Math.max(0, hit.offsetTop - hit.parentNode.offsetTop - 60);
  if (!quietly) {
    detail.focus({ preventScroll: true });
    if (alone || detail.getBoundingClientRect().top < 0 || detail.getBoundingClientRect().top > innerHeight / 2) detail.scrollIntoView({ behavior: 'instant' });
  }
  remember();
}

function remember() {
  const parts = new URLSearchParams();
  if (state.verdict !== null) parts.set('verdict', state.verdict);
  for (const name of FILTERS) if (state[name] !== undefined) parts.set(name, state[name]);
  if (state.q) parts.set('q', state.q);
  history.replaceState(null, '', parts.size ? `#${parts}` : location.pathname + location.search);
}

function fromAddress() {
  if (!location.hash.includes('=')) return;
  const parts = new URLSearchParams(location.hash.slice(1));
  for (const name of FILTERS) state[name] = parts.has(name) ? parts.get(name) : undefined;
  state.q = parts.get('q') || '';
  refresh(false);
  byId('explorer').scrollIntoView({ behavior: 'instant' });
  if (parts.has('verdict')) openVerdict(parts.get('verdict'), !FILTERS.some((name) => parts.has(name)) && !parts.has('q'));
}

const tokenText = (token) => token.special ? [safe(token.text) || `special token ${token.id}`] : token.text === '' ? ['(empty)'] : visible(token.text);
const textParts = (text) => text.map((part) => typeof part === 'number' ? el('span', { class: 'cut' }, ` [${count(part)} bytes left out] `) : visible(part)).flat();

const MEANING = {
  false_acceptance: (one, group) => `${group.engine} lets this ${one.token && group.evidence === 'walk' ? 'token through and goes on to the end' : 'text through to its end'}. Both validators call the text invalid${group.evidence === 'walk' ? ', and no completion that was tried behind this token is valid' : ''}.`,
  false_rejection: (one, group) => one.accepter ? `${group.engine} forbids this token. ${one.accepter} allows it and goes on to the end, and both validators call the text valid.` : `${group.engine} forbids this token of a text that both validators call valid.`,
  never_stops: (one, group) => `${group.engine} forbids the end of generation behind a complete valid value.`,
  stops_too_early: (one, group) => `${group.engine} allows the end of generation where the text is not yet a complete JSON value.`,
  dead_end: (one, group) => one.reason ? `Behind this token, every way that ${group.engine} allows is longer than the limit, while another engine has a valid completion.` : `The way that ${group.engine} itself allows leads to a place where it allows nothing at all.`,
  mask_lies: (one, group) => `The mask of ${group.engine} and what it consumes do not say the same of this token.`,
  unfinishable: (one, group) => `${group.engine} allows the same ${one.reason === 'digits' ? 'digit' : 'white space'} to follow itself 500 times: a model can go on for ever.`,
  contested: () => 'The validators differ about this text, or the specification leaves it open: it counts for nobody.',
};

function detailOf(one) {
  const group = groupOf(one);
  const place = group.evidence === 'walk' ? `walk ${one.number}, position ${one.position}` : `instance ${one.number}, token ${one.position}`;
  const entry = DATA.catalogue.find((other) => other.id === one.departure);
  return [
    el('h3', {}, headline(one)),
    el('p', {}, el('span', { class: 'badge' }, className(group.class)), group.kind === 'false_acceptance' && group.evidence === 'walk' ? el('span', { class: 'badge plain' }, group.located ? 'located: the error lies at this token' : 'not located: here or later') : '', ` ${safe(one.case)} (${safe(group.family)}), ${place}${one.place ? `, ${one.place}` : ''}`),
    el('p', {}, MEANING[group.kind] ? MEANING[group.kind](one, group) : ''),
    entry ? el('p', { class: 'note' }, `${entry.class === 'warned' ? 'Warned of' : 'Documented'}: ${entry.says} (${entry.id})`) : '',
    textBlock(one, group),
    whoBlock(one),
    validatorsBlock(one),
    ...schemaBlock(one),
    el('h4', {}, 'Repeat it'),
    commandBlock(`maskcourt replay ${DATA.about.quoted} ${one.id}`),
    el('p', { class: 'note' }, `One of ${plural(group.verdicts, 'verdict')} of its sort (engine, kind, class, keyword, family, evidence, located) in ${plural(group.cases, 'schema')}; ${count(group.shown)} of them ${group.shown === 1 ? 'is' : 'are'} explained here.`),
  ];
}

function textBlock(one, group) {
  const rest = group.evidence === 'walk' ? 'what follows in the completion' : 'the rest of the instance';
  return el('div', {}, el('h4', {}, 'The text so far, the token, and how it goes on'),
    el('div', { class: 'text', tabindex: '0', role: 'group', 'aria-label': 'The text' }, textParts(one.before), one.token ? el('mark', { class: 'tok', title: `token ${one.token.id}` }, tokenText(one.token)) : '', el('span', { class: 'aft' }, textParts(one.after))),
    el('p', { class: 'note' }, one.token ? `Boxed: the token (${one.token.special ? 'special, ' : ''}id ${one.token.id}). ` : 'No single token is at fault. ', joined(one.after) ? `Dotted line: ${rest}${one.after_tokens ? ` (${plural(one.after_tokens, 'token')}${one.ends ? ', then the end of generation' : ''})` : ''}.` : one.ends ? 'Then the end of generation.' : '', ' Framed: bytes and characters that cannot be seen.'));
}

function whoBlock(one) {
  const names = (list) => list.join(', ') || 'not said by this verdict';
  return el('dl', { class: 'facts' }, [['allowed by', names(one.allowed)], ['forbidden by', names(one.forbidden)], one.accepter ? ['completion by', one.accepter] : null,
    one.category ? ['kind of token', `${one.category}${one.detail ? ` (${safe(one.detail)})` : ''}`] : null, one.reason ? ['reason', words(one.reason)] : null].filter(Boolean).flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]));
}

function validatorsBlock(one) {
  if (!one.said) return el('p', { class: 'note' }, 'No validator was asked: the verdict rests on what the engine itself allows, not on a text.');
  const said = one.said;
  const opinion = (name) => {
    const found = said[name];
    if (!found) return [el('dt', {}, name), el('dd', {}, 'not asked')];
    const word = found.valid === null ? found.failure || 'not asked' : found.valid ? 'valid' : 'invalid';
    const errors = found.errors.map((error) => el('div', {}, el('code', {}, safe(error.keyword)), ` at ${safe(error.schema_pointer) || 'the root'}, for ${safe(error.instance_pointer) || 'the whole text'}: ${safe(error.message)}`));
    return [el('dt', {}, name), el('dd', {}, el('b', {}, word), errors)];
  };
  const detail = [words(said.reason || ''), said.detail].filter(Boolean).map(safe).join(': ');
  return el('div', {}, el('h4', {}, `What the validators say: ${said.verdict}`), detail ? el('p', {}, detail) : '', el('dl', { class: 'facts' }, ...opinion('jsonschema'), ...opinion('jsonschema-rs')));
}

function schemaBlock(one) {
  const schema = DATA.cases[one.case];
  const [first, last] = schema.spans[one.schema_pointer] || [0, -1];
  const points = one.schema_pointer !== '';
  const lines = schema.lines.map((line, at) => el('span', { class: points && at >= first && at <= last ? 'hit' : null }, line));
  return [el('h4', {}, 'The schema'), points ? el('p', {}, `${groupOf(one).kind === 'false_rejection' ? 'In force' : 'Broken'}: `, el('code', {}, safe(one.schema_pointer)), one.instance_pointer ? [', at ', el('code', {}, safe(one.instance_pointer)), ' of the text'] : '') : '',
    el('pre', { class: 'schema', tabindex: '0', 'aria-label': 'The schema' }, lines), schema.abridged ? el('p', { class: 'note' }, `Abridged: the schema has ${count(schema.size)} characters. maskcourt replay … --show prints all of it.`) : ''];
}

function commandBlock(command) {
  const code = el('code', {}, command);
  const done = el('span', { role: 'status' });
  const copy = async () => {
    try { await navigator.clipboard.writeText(command); done.textContent = 'copied'; } catch {
      getSelection().selectAllChildren(code);
      done.textContent = 'selected';
    }
  };
  return el('div', { class: 'command' }, code, el('button', { type: 'button', on: { click: copy } }, 'Copy'), done);
}

function explorer() {
  const { about, groups } = DATA;
  const all = sum(groups.map((group) => group.verdicts));
  byId('about-sample').textContent = about.shown
    ? `The run holds ${plural(all, 'verdict')} of ${plural(groups.length, 'sort')} (engine, kind, class, keyword, family, kind of evidence, and whether the error is located). `
      + `${count(about.shown)} of them are explained here: as many of each sort as there is room for, bugs first, drawn with seed ${about.seed}. Counts are of all. Verdicts that are unresolved have no witness and are not listed.`
    : `The run holds ${plural(all, 'verdict')}; none are explained here.`;
  filterForm();
  refresh(false);
  byId('list').addEventListener('keydown', keys);
  byId('detail').addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    const open = state.verdict !== null && byId(`verdict-${state.verdict}`);
    if (open) open.focus();
  });
  if (SHOWN.length) byId('detail').append(el('p', { class: 'note' }, 'Choose a verdict in the list to see why it holds.'));
  addEventListener('hashchange', fromAddress);
}
