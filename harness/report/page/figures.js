// The sections of the page above and below the explorer.

const engineOf = (name) => DATA.summary.engines[name];

function titleAndAlerts() {
  const { about, summary, manifest } = DATA;
  const names = ENGINES.map((name) => `${name} ${engineOf(name).version || ''}`.trim());
  const data = (manifest.identity || {}).data || {};
  document.title = `maskcourt: ${about.name}`;
  byId('title').textContent = `Who is wrong? ${[ENGINES.slice(0, -1).join(', '), ENGINES.at(-1)].filter(Boolean).join(' and ')}`;
  fill('lead', `${names.join(', ')} on ${plural(summary.cases, 'schema')}`
    + (data.name ? ` of ${safe(data.name)}` : '') + `, ${count(summary.walked)} of them walked token by token. Run ${safe(about.run)}.`);
  const alerts = [];
  if (!summary.finished) alerts.push('This run is not finished. All counts are of the cases that were there when this page was made, and the numbers of verdicts change as it goes on.');
  if (summary.harness_errors) alerts.push(`The harness itself failed on ${plural(summary.harness_errors, 'case')}; nothing is concluded from them.`);
  fill('alerts', alerts.map((one) => el('p', { class: 'alert' }, one)));
}

// A table that was described once, for terminals, documents and this page.
function given(id, style) {
  const { title, columns, rows, note } = DATA.tables[id];
  const lines = (text) => text.split('\n').flatMap((line, at) => at ? [' ', el('small', {}, safe(line))] : [safe(line)]);
  const shown = columns.map(([heading, right], at) => [heading, (row) => lines(row[at]), right && 'n']);
  fill(`table-${id}`, table(shown, rows, title, style));
  byId(`note-${id}`).textContent = note.replaceAll('\n', ' ');
}

const TONES = { refuses: 'plain', leaks: 'acc', loses: 'rej', traps: 'rej', spells: 'plain' };

// An example of a cell: of a refusal its reason, of an error a text.
function exampleOf(column, found) {
  if (!found) return '';
  if (column === 'refuses') return el('p', { class: 'eg' }, el('span', {}, `“${safe(found.reason)}” `), `(${plural(found.schemas, 'schema')})`);
  const shown = DATA.verdicts.some((one) => one.id === found.verdict);
  return el('p', { class: 'eg' }, el('code', {}, found.text), found.keyword ? ` ${column === 'leaks' ? 'against' : 'under'} ${safe(found.keyword)} ` : ' ',
    shown ? el('button', { type: 'button', class: 'link', 'aria-label': `Show this verdict about ${safe(found.case)}`, on: { click: () => openVerdict(found.verdict) } }, 'show') : '');
}

function matrix() {
  const cell = (name, column) => {
    const { count: many, of, sentence, example } = DATA.summary.matrix[name][column];
    const mark = `${count(many)} of ${count(of)}`;
    const [before, ...rest] = sentence.replaceAll('`', '').split(mark);
    return [el('p', {}, before, rest.length ? el('b', { class: 'many' }, mark) : '', rest.join(mark)), exampleOf(column, example)];
  };
  fill('matrix', table([['engine', (name) => [name, el('small', {}, engineOf(name).version || '')]],
    ...Object.entries(DATA.columns).map(([column, title]) => [title, (name) => cell(name, column), TONES[column]])], ENGINES, 'What each engine gets wrong', 'matrix cards'));
  const { summary } = DATA;
  const tokens = `On ${plural(summary.positions, 'position')} ${plural(summary.disputed_tokens, 'token')} ${summary.disputed_tokens === 1 ? 'was' : 'were'} disputed. `;
  const capped = summary.capped ? [`A cap left disputed tokens out: ${percent(summary.resolved_tokens / Math.max(1, summary.disputed_tokens))} of them were resolved, few of one sort.`] : [];
  fill('note-matrix', 'A value is lost where the engine takes none of its usual spellings, and leaked where it lets an invalid one through. What an engine documents or warns of counts, and is named. What is not proven counts for nobody. ', tokens, capped);
}

function errorsTable() {
  const rows = ENGINES.flatMap((engine) => {
    const { by_class: classes, other_kinds: others, ...of } = engineOf(engine);
    const walks = KIND_ORDER.filter((kind) => classes[kind]).map((kind) => ({ ...classes[kind], ...(of[`${kind}s`] || others[kind]), engine, kind, on: 'walks' }));
    const asked = ['instances', 'samples'].filter((table) => table === 'instances' || of[table].tested_valid || of[table].tested_invalid);
    const texts = asked.flatMap((table) => [
      ...[['false_acceptance', of[table].tested_invalid, 'invalid'], ['false_rejection', of[table].tested_valid, 'valid']]
        .map(([kind, tested, sort]) => ({ ...of[table][`${kind}s`], by_format: kind === 'false_acceptance' ? of[table].by_format : undefined, engine, kind, on: `${count(tested)} ${sort} ${table}` })),
      ...Object.entries(of[table].other_kinds).map(([kind, counts]) => ({ ...counts, engine, kind, on: table })),
    ]);
    return [...walks.filter((row) => row.tokens || row.kind.startsWith('false_')), ...texts];
  });
  const number = (name) => (row) => row[name] === undefined ? '' : count(row[name]);
  fill('table-errors', table([
    ['engine', (row) => row.engine], ['kind', (row) => words(row.kind)], ['on', (row) => row.on],
    ['bugs', number('bug'), 'n'], ['warned of', number('warned'), 'n'], ['departures', number('departure'), 'n'],
    ['by format alone', number('by_format'), 'n'], ['located', number('located'), 'n'], ['schemas', number('cases'), 'n'],
  ], rows, 'Proven errors', 'cards'));
  if (DATA.summary.formats === 'annotation') byId('note-format').textContent = 'Formats are annotations in this run: no text is invalid for its format.';
}

// A table of counts, engines by what `by` names; shades follow the logarithm.
function heat(id, rows, by, kind, unit, open) {
  const mine = rows.filter((row) => row.kind === kind && row[unit] > 0);
  const counts = new Map(mine.map((row) => [JSON.stringify([row[by], row.engine]), row[unit]]));
  const of = (name, engine) => counts.get(JSON.stringify([name, engine])) || 0;
  const most = Math.max(1, ...counts.values());
  const total = (name) => Math.max(...ENGINES.map((engine) => of(name, engine)));
  const names = [...new Set(mine.map((row) => row[by]))].sort((a, b) => total(b) - total(a) || a.localeCompare(b));
  if (!names.length) return fill(id, el('p', { class: 'note' }, 'None are proven.'));
  const cell = (name, engine) => {
    const many = of(name, engine);
    if (!many) return el('span', { class: 'cell nil', vars: { '--n': 0 } }, el('span', {}, '·'));
    const shade = 0.12 + 0.88 * (Math.log(many + 1) / Math.log(most + 1));
    const label = `${keywordName(name)}, ${engine}: ${count(many)}; show the verdicts`;
    return el('button', { type: 'button', class: 'cell', 'aria-label': label, vars: { '--n': shade.toFixed(3) }, on: { click: () => open(name, engine) } }, el('span', {}, short(many)));
  };
  const made = table([[by, (name) => safe(keywordName(name))], ...ENGINES.map((engine) => [engine, (name) => cell(name, engine)])], names, `${words(kind)}s by ${by} and engine`, `heat ${tone(kind)}`);
  if (ENGINES.length > 4) made.firstChild.style.minWidth = `${12 + 5 * ENGINES.length}rem`;
  return fill(id, made);
}

// So that a cell and the list that it opens count the same.
const EVIDENCE_OF = { tokens: 'walk', instances: 'instance', samples: 'sample' };

function heatMaps() {
  const state = { unit: 'cases', name: 'bug' };
  const draw = () => {
    for (const [id, kind] of [['acc', 'false_acceptance'], ['rej', 'false_rejection']]) {
      for (const [box, rows, by] of [[`heat-${id}`, DATA.keywords, 'keyword'], [`family-${id}`, DATA.families, 'family']]) {
        heat(box, rows.filter((row) => row.class === state.name), by, kind, state.unit, (name, engine) => explore({ engine, kind, class: state.name, [by]: name, evidence: EVIDENCE_OF[state.unit] }));
      }
    }
  };
  const classes = [['bug', 'bugs'], ['warned', 'warned of'], ['departure', 'departures']].filter(([name]) => name === 'bug' || DATA.keywords.some((row) => row.class === name));
  choice('unit-keywords', 'Count', [['cases', 'schemas'], ['tokens', 'tokens'], ['instances', 'instances'], ['samples', 'samples']], (unit) => { state.unit = unit; draw(); });
  choice('class-keywords', 'of', classes, (name) => { state.name = name; draw(); });
}

function compileTable() {
  const later = ENGINES.some((name) => Object.keys(engineOf(name).failures).length);
  const faults = ENGINES.some((name) => Object.keys(engineOf(name).adapter_faults).length);
  fill('table-compile', table([['engine', (name) => name],
    ...Object.keys(engineOf(ENGINES[0]).compile).map((word) => [words(word), (name) => count(engineOf(name).compile[word]), 'n']),
    ...(later ? [['failed later', (name) => named(engineOf(name).failures)]] : []),
    ...(faults ? [['adapter at fault', (name) => named(engineOf(name).adapter_faults)]] : [])], ENGINES, 'Schemas at compilation', 'cards'),
  faults && el('p', { class: 'note' }, 'What an adapter is at fault for is no bug of its engine, and where its masks are not one thing the engine is not judged.'));
}

function timesTable() {
  const rows = ENGINES.flatMap((engine) => [['time_to_first_mask', 'to first mask'], ['time_between_masks', 'between masks']]
    .map(([key, title]) => ({ engine, title, of: (engineOf(engine).timings || {})[key] || {} }))).filter((row) => row.of.n);
  if (!rows.length) return fill('table-times', el('p', {}, 'This run holds no times.'));
  fill('table-times', table([['engine', (row) => row.engine], ['time', (row) => row.title], ['n', (row) => count(row.of.n), 'n'],
    ...['mean', 'p50', 'p75', 'p90', 'p99', 'p99.9', 'max'].map((point) => [point, (row) => duration(row.of[point]), 'n'])], rows, 'Times of the engines', 'cards'));
}

const named = (counts) => Object.entries(counts).map(([name, many]) => `${words(name)} ${count(many)}`).join(', ') || 'none';

function leftOut() {
  const { summary } = DATA;
  const parts = [el('p', {}, 'Counts are lower bounds by construction: a complete text stands behind each, and two validators that say the same of it, or the parser where it is no JSON; what is open counts for nobody.')];
  parts.push(el('h3', {}, 'Disputed tokens that prove nothing'), table([
    ['engine', (name) => name], ['unresolved', (name) => named(engineOf(name).unresolved)],
    ['contested', (name) => named(engineOf(name).contested_by)],
  ], ENGINES, 'Unresolved and contested', 'cards'), el('p', { class: 'note' }, 'Unresolved: no completion came to an end. Contested: the validators differ, or the specification leaves it open.'));
  const case_statuses = DATA.case_statuses.filter((row) => row.status !== 'walked');
  parts.push(el('h3', {}, 'Schemas that were not walked'));
  if (case_statuses.length) {
    const reasons = [...new Set(case_statuses.map((row) => JSON.stringify([row.status, row.reason])))].map((key) => JSON.parse(key));
    parts.push(table([
      ['what became of them', ([status, reason]) => words(reason || status)],
      ['schemas', ([status, reason]) => count(sum(case_statuses.filter((row) => row.status === status && row.reason === reason).map((row) => row.cases))), 'n'],
      ['families', ([status, reason]) => case_statuses.filter((row) => row.status === status && row.reason === reason).sort((a, b) => b.cases - a.cases).map((row) => `${safe(row.family)} ${row.cases}`).join(', ')],
    ], reasons, 'Schemas that were not walked', 'cards'));
    if (summary.not_compared.not_compiled_by_all) parts.push(el('p', { class: 'note' }, 'A schema is walked only where every engine compiled it, unless the run was made with --on-dropout continue.'));
  } else parts.push(el('p', {}, 'None.'));
  if (DATA.failures.length) {
    parts.push(el('details', {}, el('summary', {}, 'What engines said when they did not go along'), table([
      ['engine', (row) => row.engine], ['outcome', (row) => words(row.outcome)],
      ['reason', (row) => el('code', {}, safe(row.reason) || '–')], ['schemas', (row) => count(row.schemas), 'n'],
    ], DATA.failures, 'Failures', 'cards')));
  }
  fill('open', parts);
}

function departuresTable() {
  if (!DATA.catalogue.length) return fill('table-departures', el('p', {}, 'No verdict of this run is one.'));
  const counts = (id) => DATA.departures.filter((row) => row.departure === id);
  fill('table-departures', table([
    ['entry', (one) => [el('code', {}, one.id), el('small', {}, one.class)]],
    ['what is declared', (one) => [one.says, el('small', {}, `from ${one.from}; `, el('a', { href: /^https:\/\//.test(one.source) ? one.source : null, rel: 'noreferrer noopener', target: '_blank' }, 'source'))]],
    ['counted', (one) => el('ul', {}, counts(one.id).map((row) => el('li', {}, `${row.engine}: ${words(row.kind)}, `, [row.tokens && plural(row.tokens, 'token'), row.instances && plural(row.instances, 'instance'), row.samples && plural(row.samples, 'sample')].filter(Boolean).join(', '), ` in ${plural(row.cases, 'schema')}`)))],
  ], DATA.catalogue, 'Departures', 'cards'));
}

function manifestSection() {
  const { manifest, about, summary } = DATA;
  const identity = manifest.identity || {};
  const flat = (value) => value === null || value === undefined ? '–' : typeof value === 'object' ? Object.entries(value).map(([name, one]) => `${words(name)} ${flat(one)}`).join(', ') : String(value);
  const rows = [
    ...ENGINES.map((name) => [`engine ${name}`, [identity.engines[name].version, flat(identity.engines[name].options || {}), `packages ${flat(identity.engines[name].packages || {})}`].filter(Boolean).join('; ')]),
    ['data', identity.data], ['vocabulary', identity.vocabulary], ['rules', identity.rules], ['resolver', identity.resolver], ['limits', identity.limits],
    ['validators of the run', identity.validators], ['harness', identity.harness], ['machine', manifest.machine], ['commit', manifest.commit],
    ['started', manifest.started], ['took', summary.seconds === null ? 'not finished' : `${count(Math.round(summary.seconds))} s`],
    ['this page', `maskcourt ${about.maskcourt}; seed of its sample ${about.seed}`],
  ];
  fill('manifest', el('dl', { class: 'facts' }, rows.filter(([, value]) => value !== undefined && value !== null).flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, safe(flat(value)))])),
    el('details', {}, el('summary', {}, 'The manifest as it is'), el('pre', { class: 'text' }, JSON.stringify(manifest, null, 2))));
  byId('foot').textContent = `Made by maskcourt ${about.maskcourt} from ${safe(about.run)}. This file asks nothing of any network; links to sources open only when they are followed.`;
}
