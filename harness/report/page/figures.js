// The sections of the page above and below the explorer.

const engineOf = (name) => DATA.summary.engines[name];
const INTERVALS = { bootstrap: 'resampled by schema', rule_of_three: 'rule of three' };

function titleAndAlerts() {
  const { about, summary, manifest } = DATA;
  const names = ENGINES.map((name) => `${name} ${engineOf(name).version || ''}`.trim());
  const data = (manifest.identity || {}).data || {};
  document.title = `maskcourt: ${about.name}`;
  byId('title').textContent = `Who is wrong? ${ENGINES.slice(0, -1).join(', ')} and ${ENGINES.at(-1)} compared`;
  fill('lead', `${names.join(', ')} compared token by token on ${plural(summary.cases, 'schema')}`
    + (data.name ? ` of ${safe(data.name)}` : '') + `, ${count(summary.walked)} of them walked. Run ${safe(about.run)}.`);
  const alerts = [];
  if (!summary.finished) alerts.push('This run is not finished. All counts are of the cases that were there when this page was made, and the numbers of verdicts change as it goes on.');
  if (summary.harness_errors) alerts.push(`The harness itself failed on ${plural(summary.harness_errors, 'case')}; nothing is concluded from them.`);
  fill('alerts', alerts.map((one) => el('p', { class: 'alert' }, one)));
}

const keywordsOf = (engine, kind) => DATA.keywords
  .filter((row) => row.engine === engine && row.kind === kind && row.class === 'bug' && row.cases)
  .sort((a, b) => b.cases - a.cases || b.scaled - a.scaled);

const TONES = { refuses: 'plain', accepts: 'acc', forbids: 'rej' };

// An example of a cell: of a refusal its reason, of an error the text with the token marked.
function exampleOf(column, found) {
  if (!found) return '';
  if (column === 'refuses') return el('p', { class: 'eg' }, el('span', {}, `“${safe(found.reason)}” `), `(${plural(found.schemas, 'schema')})`);
  const token = el('span', { class: 'tok' }, found.token || 'end');
  const text = column === 'accepts' ? [found.before, found.token ? token : '', found.after] : [found.before, el('s', {}, token)];
  const shown = DATA.verdicts.some((one) => one.id === found.verdict);
  return el('p', { class: 'eg' }, el('code', {}, text), found.keyword ? ` ${column === 'accepts' ? 'against' : 'under'} ${safe(found.keyword)} ` : ' ',
    shown ? el('button', { type: 'button', class: 'link', 'aria-label': `Show this verdict about ${safe(found.case)}`, on: { click: () => openVerdict(found.verdict) } }, 'show') : '');
}

function matrix() {
  const cell = (name, column) => {
    const { count: many, of, sentence, example } = DATA.summary.matrix[name][column];
    const mark = `${count(many)} of ${count(of)}`;
    const [before, ...rest] = sentence.split(mark);
    return [el('p', {}, before, rest.length ? el('b', { class: 'many' }, mark) : '', rest.join(mark)), exampleOf(column, example)];
  };
  const head = [el('th', { scope: 'col' }, 'engine'), ...Object.entries(DATA.columns).map(([column, title]) => el('th', { scope: 'col', class: TONES[column] }, title))];
  const body = ENGINES.map((name) => el('tr', {}, el('th', { scope: 'row' }, name, el('small', {}, engineOf(name).version || '')),
    Object.entries(DATA.columns).map(([column, title]) => el('td', { class: TONES[column], 'data-label': title }, cell(name, column)))));
  fill('matrix', el('div', { class: 'scroll' }, el('table', { class: 'matrix cards', 'aria-label': 'What each engine gets wrong' }, el('thead', {}, el('tr', {}, head)), el('tbody', {}, body))));
  const { summary } = DATA;
  const tokens = `On ${plural(summary.positions, 'position')} ${plural(summary.disputed_tokens, 'token')} ${summary.disputed_tokens === 1 ? 'was' : 'were'} disputed. `;
  const capped = summary.capped ? [`A cap left disputed tokens out: ${percent(summary.resolved_tokens / Math.max(1, summary.disputed_tokens))} of them were resolved. Counts are of those; rates take the sample of each dispute for the whole of it; `, el('a', { href: '#left-out' }, 'estimates with intervals stand further below'), '.'] : [];
  fill('note-matrix', 'Schemas with a proven bug that a model meets: at the token that a valid text goes on with, at another common token, or in a whole text. What an engine documents or warns of is no bug. What is not proven counts for nobody. ', tokens, capped);
}

// One token that is wrong everywhere makes nearly every schema one with a bug.
function oneToken(share) {
  const one = share.lone_token;
  if (!one || one.cases < 2 || 10 * one.cases < share.cases) return '';
  return el('small', { title: `token ${one.token}; no other is proven wrong in these schemas` }, `in ${count(one.cases)} only token `, one.bytes === null ? String(one.token) : el('code', {}, safe(one.bytes)));
}

const worst = ({ severity }) => Object.entries(severity).filter(([, many]) => many).map(([name, many]) => `${words(name)} ${count(many)}`).join(', ');

function answerTable(id, kind, key) {
  const valid = kind === 'false_rejection';
  const ratio = (one, shown, more) => one.value === null ? '–' : [`${shown(one.value)}${more || ''}`, el('small', {}, interval(one, shown))];
  const instances = (name) => {
    const found = engineOf(name).instances;
    const of = valid ? found.tested_valid : found.tested_invalid;
    const { bug, warned, departure } = found[key];
    const rest = [warned && `${count(warned)} more warned of`, departure && `${count(departure)} more documented`].filter(Boolean).join(', ');
    return of ? [`${count(bug)} of ${count(of)}`, el('small', {}, rest)] : '–';
  };
  const keywords = (name) => {
    const found = keywordsOf(name, kind);
    if (!found.length) return '–';
    return el('ul', {}, found.slice(0, 5).map((row) => el('li', {}, el('button', {
      type: 'button', class: 'link', on: { click: () => explore({ engine: name, kind, class: 'bug', keyword: row.keyword }) },
    }, el('code', {}, safe(keywordName(row.keyword)))), ` in ${plural(row.cases, 'schema')}`)), found.length > 5 ? el('li', {}, el('a', { href: '#keywords' }, `and ${found.length - 5} more`)) : null);
  };
  fill(id, table([
    ['engine', (name) => [name, el('small', {}, engineOf(name).version || '')], { h: true }],
    ['schemas with one', (name) => { const one = engineOf(name).share_with_bug[kind]; return [ratio(one, percent, ` (${count(one.cases)} of ${count(one.of)})`), oneToken(one)].flat(); }],
    ['by their worst', (name) => worst(engineOf(name).share_with_bug[kind]) || '–'],
    ['at more than one token', (name) => { const one = engineOf(name).share_with_bug[kind]; return one.of ? percent(one.several_tokens / one.of) : '–'; }],
    ['wrong of a million mask bits', (name) => ratio(engineOf(name).per_million[kind], digits)],
    [valid ? 'valid instances refused' : 'invalid instances let through', instances],
    [valid ? 'keyword in force' : 'keyword broken', keywords],
  ], ENGINES, `${words(kind)}s by engine`, 'cards'));
}

function inNumbers() {
  const { sampled, pairs } = DATA.summary;
  answerTable('table-acc', 'false_acceptance', 'false_acceptances');
  answerTable('table-rej', 'false_rejection', 'false_rejections');
  byId('note-short').textContent = `Bugs only${sampled ? ', 95% intervals below each figure' : ''}; what engines warn of or document is counted further below. `
    + 'Engines are measured by the schemas on which they were judged in a walk (the same for all, unless the run was made with --panel survivors), each by its worst bug: on path, common or rare; instances and keywords are of all schemas that an engine compiled. What is not proven counts for nobody.';
  fill('table-pairs', table([
    ['engines', (row) => `${row.first}, ${row.second}`, { h: true }], ['kind', (row) => words(row.kind)], ['bugs', (row) => row.counted === 'met' ? 'that a model meets' : 'all'], ['schemas', (row) => count(row.schemas), { n: true }],
    ['only the first has a bug', (row) => count(row.only_first), { n: true }], ['only the second', (row) => count(row.only_second), { n: true }],
    ...(sampled ? [['told apart', (row) => row.apart === null ? '–' : [row.apart ? 'yes' : 'cannot tell apart', el('small', {}, `p = ${digits(row.p_holm)}`)]]] : []),
  ], pairs.filter((row) => row.kind !== 'any'), 'Engines in pairs', 'cards'));
  byId('note-pairs').textContent = sampled ? 'McNemar’s exact test of the schemas on which only one of the two has a bug, corrected for the number of pairs (Holm).' : DATA.about.no_sample;
}

const errorsOf = (engine, kind, name) => DATA.errors.find((row) => row.engine === engine && row.kind === kind && row.class === name) || { tokens: 0, positions: 0, cases: 0 };

function errorsFigure() {
  const kinds = KIND_ORDER.filter((kind) => kind.startsWith('false_'));
  const noun = { tokens: 'tokens', positions: 'positions', cases: 'schemas' };
  const draw = (unit) => {
    const rows = ENGINES.flatMap((engine) => [
      { head: engine, note: `${count(engineOf(engine).judged.cases)} schemas walked` },
      ...kinds.map((kind) => {
        const marks = ['bug', 'warned', 'departure'].map((name) => ({ name, value: errorsOf(engine, kind, name)[unit], style: MARK[name] }))
          .filter((one) => one.value > 0 || one.name === 'bug').map((one) => ({ ...one, title: `${engine}: ${count(one.value)} ${noun[unit]}, ${one.name}` }));
        const text = marks.map((one) => `${short(one.value)} ${one.name === 'bug' ? (one.value === 1 ? 'bug' : 'bugs') : one.name === 'departure' ? 'dep.' : 'warned'}`).join(', ');
        return { label: `${words(kind)}s`, marks, text, tone: tone(kind) };
      }),
    ]);
    plot('fig-errors', rows, { logarithmic: true, tick: short, name: `Proven errors per engine, in ${noun[unit]}, logarithmic; the table below holds the numbers` });
    fill('cap-errors', classKey(), el('span', {}, ` Logarithmic scale; ${noun[unit]} with a proven error.${DATA.summary.capped && unit === 'tokens' ? ' Of the tokens that were resolved.' : ''}`));
  };
  choice('unit-errors', 'Count', [['tokens', 'tokens'], ['positions', 'positions'], ['cases', 'schemas']], draw);
  const rows = ENGINES.flatMap((engine) => KIND_ORDER.flatMap((kind) => CLASS_ORDER.map((name) => ({ engine, kind, name, ...errorsOf(engine, kind, name) })))).filter((row) => row.tokens);
  fill('table-errors', table([
    ['engine', (row) => row.engine, { h: true }], ['kind', (row) => words(row.kind)], ['class', (row) => row.name],
    ['tokens', (row) => count(row.tokens), { n: true }], ['positions', (row) => count(row.positions), { n: true }], ['schemas', (row) => count(row.cases), { n: true }],
  ], rows, 'Proven errors of walks', 'cards'));
}

function instancesTable() {
  const rows = ENGINES.flatMap((engine) => {
    const found = engineOf(engine).instances;
    const main = [['false_acceptance', found.false_acceptances, found.tested_invalid, 'invalid'], ['false_rejection', found.false_rejections, found.tested_valid, 'valid']];
    const others = Object.entries(found.other_kinds).map(([kind, counts]) => [kind, counts, null, '']);
    return [...main, ...others].map(([kind, counts, of, sort]) => ({ engine, kind, counts, of, sort }));
  });
  fill('table-instances', table([
    ['engine', (row) => row.engine, { h: true }], ['kind', (row) => words(row.kind)],
    ['bugs', (row) => count(row.counts.bug), { n: true }], ['warned of', (row) => count(row.counts.warned), { n: true }],
    ['departures', (row) => count(row.counts.departure), { n: true }],
    ['of', (row) => row.of === null ? '' : `${count(row.of)} ${row.sort}`, { n: true }], ['schemas', (row) => count(row.counts.cases), { n: true }],
  ], rows, 'Proven errors on instances', 'cards'));
}

function rates() {
  const kinds = [['any', 'any bug', 'plain'], ['false_acceptance', 'false acceptances', 'acc'], ['false_rejection', 'false rejections', 'rej']];
  const rows = (key, shown, more) => ENGINES.flatMap((engine) => [{ head: engine, note: more(engineOf(engine)[key].any) }, ...kinds.map(([kind, label, style]) => {
    const one = engineOf(engine)[key][kind];
    const text = one.value === null ? 'not known' : `${shown(one.value)}${interval(one, shown) && `  (${interval(one, shown)})`}`;
    return { label, tone: style, text, marks: [{ value: one.value, low: one.low, high: one.high, style: 'full', title: `${engine}, ${label}: ${text}` }] };
  })]);
  plot('fig-shares', rows('share_with_bug', percent, (one) => `of ${plural(one.of, 'schema')}`), { tick: (value) => `${Math.round(100 * value)}%`, name: 'Share of schemas with a proven bug, by engine and kind; the table below holds the numbers' });
  plot('fig-millions', rows('per_million', digits, (one) => one.decisions ? `of ${large(one.decisions)} decisions` : ''), { logarithmic: true, tick: (value) => String(Number(value.toPrecision(1))), name: 'Wrong bits per million mask decisions, by engine and kind; the table below holds the numbers' });
  const how = DATA.summary.sampled ? 'Lines are 95% intervals (2,000 resamples of the schemas; the rule of three where a share is none or all).' : DATA.about.no_sample;
  byId('cap-shares').textContent = `Share of the schemas on which the engine was judged in a walk. Both kinds of evidence. ${how}`;
  byId('cap-millions').textContent = 'A mask decision is one bit of one engine’s mask at one position of a walk. Logarithmic scale. Walks only. ' + how
    + (DATA.summary.capped ? ' The sample that the cap left of each dispute stands for the whole of it.' : '');
  const flat = ENGINES.flatMap((engine) => [...kinds, ['other', 'dead ends, masks that lie', 'other']].map(([kind, label]) => ({ engine, kind, label, share: engineOf(engine).share_with_bug[kind], rate: engineOf(engine).per_million[kind] })));
  fill('table-rates', table([
    ['engine', (row) => row.engine, { h: true }], ['kind', (row) => row.label],
    ['schemas with a bug', (row) => `${count(row.share.cases)} of ${count(row.share.of)}`, { n: true }],
    ['share', (row) => row.share.value === null ? '–' : percent(row.share.value), { n: true }],
    ['by their worst', (row) => worst(row.share) || '–'],
    ['95% interval', (row) => row.share.value === null ? '–' : [interval(row.share, percent), el('small', {}, INTERVALS[row.share.interval] || '')], { n: true }],
    ['wrong bits per million', (row) => row.rate && row.rate.value !== null ? digits(row.rate.value) : '–', { n: true }],
    ['95% interval', (row) => row.rate ? interval(row.rate, digits) || '–' : '–', { n: true }],
  ], flat, 'Shares and rates', 'cards'));
}

// So that a cell and the list that it opens count the same.
const EVIDENCE_OF = { tokens: 'walk', instances: 'instance' };

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
  choice('unit-keywords', 'Count', [['cases', 'schemas'], ['tokens', 'tokens'], ['instances', 'instances']], (unit) => { state.unit = unit; draw(); });
  choice('class-keywords', 'of', classes, (name) => { state.name = name; draw(); });
}

function setsFigure() {
  if (!DATA.sets.length) return fill('fig-sets', el('p', {}, 'No token was disputed.'));
  const dot = (row, engine) => {
    if (row.accepters.includes(engine)) return el('span', { class: 'dot in', role: 'img', 'aria-label': 'accepts' });
    return row.rejecters.includes(engine) ? el('span', { class: 'dot', role: 'img', 'aria-label': 'rejects' }) : '';
  };
  const fate = (row) => {
    const open = Math.max(0, row.resolved - row.right - row.wrong);
    const parts = [
      [row.wrong_bug, 'acc f-full', 'invalid: a bug of those who accept'], [row.wrong - row.wrong_bug, 'acc f-open', 'invalid: warned of or documented'],
      [row.right_bug, 'rej f-full', 'valid: a bug of those who reject'], [row.right - row.right_bug, 'rej f-open', 'valid: warned of or documented'], [open, 'f-5', 'open'],
    ];
    const said = [[row.wrong, 'accepters wrong'], [row.right, 'rejecters wrong'], [open, 'open']].filter(([many]) => many).map(([many, what]) => `${percent(many / row.resolved)} ${what}`).join(', ');
    return [stacked(parts, Math.max(1, row.resolved)), el('small', {}, row.resolved ? said : 'none resolved')];
  };
  const head = el('tr', {}, ENGINES.map((engine) => el('th', { scope: 'col', class: 'e' }, engine)), ['disputed tokens', 'resolved', 'schemas'].map((name) => el('th', { scope: 'col', class: 'n' }, name)), el('th', { scope: 'col' }, 'of the resolved'));
  const body = DATA.sets.map((row) => el('tr', {},
    ENGINES.map((engine) => el('td', { class: 'e', 'data-label': engine }, dot(row, engine))),
    el('td', { class: 'n', 'data-label': 'disputed tokens' }, short(row.tokens)), el('td', { class: 'n', 'data-label': 'resolved' }, short(row.resolved)),
    el('td', { class: 'n', 'data-label': 'schemas' }, count(row.cases)), el('td', { class: 'who' }, fate(row))));
  fill('fig-sets', el('div', { class: 'scroll' }, el('table', { class: 'sets', 'aria-label': 'Sets of engines that accept together' }, el('thead', {}, head), el('tbody', {}, body))));
  fill('cap-sets', el('ul', { class: 'key' },
    el('li', {}, el('span', { class: 'swatch acc f-full' }), 'accepters wrong, a bug'), el('li', {}, el('span', { class: 'swatch rej f-full' }), 'rejecters wrong, a bug'),
    el('li', {}, el('span', { class: 'swatch rej f-open' }), 'the same, but warned of or documented'), el('li', {}, el('span', { class: 'swatch f-5' }), 'open')));
}

function severityFigure() {
  const order = ['on_path', 'common', 'rare', 'unranked'];
  const style = { on_path: 'f-full', common: 'f-half', rare: 'f-light', unranked: 'f-5' };
  const rows = ENGINES.flatMap((engine) => ['false_acceptance', 'false_rejection'].map((kind) => ({ engine, kind, found: engineOf(engine).severity[kind] })));
  fill('fig-severity', el('div', { class: 'bars' }, rows.flatMap(({ engine, kind, found }) => {
    const all = sum(Object.values(found));
    const said = order.filter((name) => found[name]).map((name, at) => [at ? ', ' : '', el('button', {
      type: 'button', class: 'link', on: { click: () => explore({ engine, kind, class: 'bug', evidence: 'walk', severity: name }) },
    }, `${count(found[name])} ${words(name)}`)]);
    return [el('div', { class: 'label' }, engine, el('small', {}, `${words(kind)}s`)), all ? stacked(order.map((name) => [found[name], `${tone(kind)} ${style[name]}`, words(name)]), all) : el('div', { class: 'note' }, 'none proven'),
      all ? el('div', { class: 'counts' }, said) : el('div', { class: 'counts' })];
  })), el('ul', { class: 'key plain' }, [['f-full', 'on path'], ['f-half', 'common'], ['f-light', 'rare']].map(([one, label]) => el('li', {}, el('span', { class: `swatch ${one}` }), label))));
}

function compileFigure() {
  const order = Object.keys(engineOf(ENGINES[0]).compile);
  fill('fig-compile', el('div', { class: 'bars' }, ENGINES.flatMap((engine) => {
    const found = engineOf(engine).compile;
    const said = order.filter((name) => found[name]).map((name) => `${count(found[name])} ${words(name)}`).join(', ');
    const later = Object.entries(engineOf(engine).failures).map(([name, many]) => `${words(name)} ${count(many)}`).join(', ');
    return [el('div', { class: 'label' }, engine), stacked(order.map((name, at) => [found[name], `f-${Math.min(5, at + 1)}`, words(name)]), Math.max(1, sum(Object.values(found)))),
      el('div', { class: 'counts' }, said + (later ? `; failed later: ${later}` : ''))];
  })), el('ul', { class: 'key' }, order.map((name, at) => el('li', {}, el('span', { class: `swatch f-${Math.min(5, at + 1)}` }), words(name)))));
}

function timesFigure() {
  const measures = [
    ['time_to_first_mask', 'Time to first mask', 'Compilation and the first mask, per schema that compiled; processor time of the engine’s process. A schema that once compiled within the limit is given more time later, so that times can exceed it.'],
    ['time_between_masks', 'Time between masks', 'To consume a token of a walk and write the next mask; wall time.'],
  ];
  const of = (name) => engineOf(name).timings;
  if (!ENGINES.some((name) => of(name) && measures.some(([key]) => of(name)[key] && of(name)[key].n))) return fill('fig-times', el('p', {}, 'This run holds no times.'));
  const points = ['p50', 'p90', 'p99', 'max'];
  fill('fig-times', measures.flatMap(([key, title, what]) => [el('h3', {}, title), el('div', { id: `plot-${key}`, class: 'chart' }), el('p', { class: 'note' }, `${what} Full mark: median; short lines: p90, p99 and the longest. Logarithmic scale.`)]),
    el('details', {}, el('summary', {}, 'Table of these figures'), measures.map(([key, title]) => [el('h4', {}, title), table([
      ['engine', (name) => name, { h: true }], ['n', (name) => count(of(name)[key].n), { n: true }],
      ...['mean', 'p50', 'p75', 'p90', 'p99', 'p99.9', 'max'].map((point) => [point, (name) => duration(of(name)[key][point]), { n: true }]),
    ], ENGINES, title, 'cards')]).flat()));
  for (const [key, title] of measures) {
    const rows = [{ head: '' }, ...ENGINES.map((name) => {
      const found = of(name)[key];
      const marks = found.n ? points.map((point) => ({ value: found[point], style: point === 'p50' ? 'full' : 'tick', title: `${name}, ${point}: ${duration(found[point])}` })) : [];
      if (marks.length) Object.assign(marks[0], { low: found.p50, high: found.max });
      return { label: name, tone: 'plain', marks, text: found.n ? `${duration(found.p50)}, p99 ${duration(found.p99)}` : 'none' };
    })];
    plot(`plot-${key}`, rows, { logarithmic: true, tick: roundDuration, name: `${title} by engine; the table below holds the numbers`, room: 62 });
  }
}

function leftOut() {
  const { summary } = DATA;
  const parts = [el('p', {}, 'Counts are lower bounds by construction: a complete text stands behind each, and two validators that say the same of it, or the parser where it is no JSON; what is open counts for nobody.')];
  const named = (counts) => Object.entries(counts).map(([name, many]) => `${words(name)} ${count(many)}`).join(', ') || 'none';
  parts.push(el('h3', {}, 'Disputed tokens that prove nothing'), table([
    ['engine', (name) => name, { h: true }], ['unresolved', (name) => named(engineOf(name).unresolved)],
    ['contested', (name) => named(engineOf(name).contested_by)],
  ], ENGINES, 'Unresolved and contested', 'cards'), el('p', { class: 'note' }, 'Unresolved: no completion came to an end. Contested: the validators differ, or the specification leaves it open.'));
  if (summary.capped) {
    const shown = (one) => one ? [short(one.tokens), el('small', {}, one.low === one.high ? '' : `${short(one.low)}–${short(one.high)}`)] : '–';
    parts.push(el('h3', {}, 'Estimates for all disputed tokens'), table([
      ['engine', (name) => name, { h: true }], ['false acceptances', (name) => shown(engineOf(name).false_acceptances.estimate), { n: true }], ['false rejections', (name) => shown(engineOf(name).false_rejections.estimate), { n: true }],
    ], ENGINES, 'Estimates', 'cards'), el('p', { class: 'note' }, 'Scaled from the sample that the cap left in each dispute, with 95% intervals; bugs, warned of and departures together, where rates are of bugs alone. Estimated, not proven.'));
  }
  parts.push(el('h3', {}, 'False acceptances that are not located'), el('p', {}, ENGINES.map((name) => `${name}: ${count(engineOf(name).false_acceptances.located)} of ${count(engineOf(name).false_acceptances.tokens)} are located`).join('; ') + '. Located: the error lies at the token itself in every attempt. Of the others it is proven that the engine errs at this token or at a later one.'));
  parts.push(el('h3', {}, 'False acceptances that rest on format'), el('p', {}, summary.formats === 'annotation' ? 'Formats are annotations in this run: no text is invalid for its format.' : ENGINES.map((name) => `${name}: ${plural(engineOf(name).false_acceptances.by_format, 'token')} of walks, ${plural(engineOf(name).instances.by_format, 'instance')}`).join('; ') + '. Their texts break the keyword format, which is an annotation by default since draft 2019-09; this run asserts it.'));
  const fates = DATA.fates.filter((row) => row.status !== 'walked');
  parts.push(el('h3', {}, 'Schemas that were not compared'));
  if (fates.length) {
    const reasons = [...new Set(fates.map((row) => JSON.stringify([row.status, row.reason])))].map((key) => JSON.parse(key));
    parts.push(table([
      ['what became of them', ([status, reason]) => words(reason || status), { h: true }],
      ['schemas', ([status, reason]) => count(sum(fates.filter((row) => row.status === status && row.reason === reason).map((row) => row.cases))), { n: true }],
      ['families', ([status, reason]) => fates.filter((row) => row.status === status && row.reason === reason).sort((a, b) => b.cases - a.cases).map((row) => `${safe(row.family)} ${row.cases}`).join(', ')],
    ], reasons, 'Schemas that were not compared', 'cards'));
    if (summary.not_compared.not_compiled_by_all) parts.push(el('p', { class: 'note' }, 'A schema is walked only where every engine compiled it, unless the run was made with --panel survivors.'));
  } else parts.push(el('p', {}, 'None.'));
  if (DATA.failures.length) {
    parts.push(el('details', {}, el('summary', {}, 'What engines said when they did not go along'), table([
      ['engine', (row) => row.engine, { h: true }], ['at', (row) => words(row.stage)], ['outcome', (row) => words(row.outcome)],
      ['message', (row) => el('code', {}, safe(row.message) || '–')], ['schemas', (row) => count(row.cases), { n: true }],
    ], DATA.failures, 'Failures', 'cards')));
  }
  fill('open', parts);
}

function departuresTable() {
  if (!DATA.catalogue.length) return fill('table-departures', el('p', {}, 'No verdict of this run is one.'));
  const counts = (id) => DATA.departures.filter((row) => row.departure === id);
  fill('table-departures', table([
    ['entry', (one) => [el('code', {}, one.id), el('small', {}, one.class)], { h: true }],
    ['what is declared', (one) => [one.says, el('small', {}, `from ${one.from}; `, el('a', { href: /^https:\/\//.test(one.source) ? one.source : null, rel: 'noreferrer noopener', target: '_blank' }, 'source'))]],
    ['counted', (one) => el('ul', {}, counts(one.id).map((row) => el('li', {}, `${row.engine}: ${words(row.kind)}, `, [row.tokens && plural(row.tokens, 'token'), row.instances && plural(row.instances, 'instance')].filter(Boolean).join(', '), ` in ${plural(row.cases, 'schema')}`)))],
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
    ['this page', `maskcourt ${about.maskcourt}, validators asked again: ${flat(about.validators)}; seed of its sample ${about.seed}`],
  ];
  fill('manifest', el('dl', { class: 'facts' }, rows.filter(([, value]) => value !== undefined && value !== null).flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, safe(flat(value)))])),
    el('details', {}, el('summary', {}, 'The manifest as it is'), el('pre', { class: 'text' }, JSON.stringify(manifest, null, 2))));
  byId('foot').textContent = `Made by maskcourt ${about.maskcourt} from ${safe(about.run)}. This file asks nothing of any network; links to sources open only when they are followed.`;
}
