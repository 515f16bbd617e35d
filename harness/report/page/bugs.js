// The bugs behind the verdicts, by engine.

const BUGS_SHOWN = 8;

function bugsSection() {
  const { bugs, about, summary } = DATA;
  if (!bugs) {
    fill('about-bugs', summary.finished ? 'Nobody has looked for them yet. This finds the few bugs behind the verdicts, each shrunk to its smallest case; then make this page again: ' : 'They are looked for when the run is finished.', summary.finished ? el('code', {}, about.searched) : '');
    return;
  }
  fill('about-bugs', `Many verdicts are one error of one engine. ${plural(bugs.list.length, 'bug')} ${bugs.list.length === 1 ? 'explains' : 'explain'} ${bugs.explained} of ${plural(bugs.verdicts, 'verdict')} that ${bugs.verdicts === 1 ? 'is' : 'are'} a bug, spellings and unclear ones left out. Each is shrunk to the smallest schema and text that still show it. The numbers say in how many schemas it occurs; open it for its case, and for a script that needs the engine alone.`);
  fill('list-bugs', ENGINES.map(bugsOf));
  const open = Object.entries(bugs.unexplained);
  fill('note-bugs', open.length ? `Not explained: ${open.map(([reason, many]) => `${plural(many, 'verdict')} (${reason})`).join('; ')}. ` : '', el('code', {}, about.searched), ' prints all, goes on where it stopped, and writes the scripts with --write.');
}

function bugsOf(engine) {
  const mine = DATA.bugs.list.filter((one) => one.engine === engine);
  const { loss, leak } = engineOf(engine);
  const share = loss.of ? `Cannot write a valid value in ${count(loss.schemas)} of ${plural(loss.of, 'schema')} (${count(loss.real)} with a value of the data set); lets an invalid one through in ${count(leak.schemas)} (${count(leak.real)}).` : 'Judged on no schema.';
  const rest = mine.slice(BUGS_SHOWN);
  return el('div', {}, el('h3', {}, engine), el('p', { class: 'note' }, share, mine.length ? '' : Object.keys(DATA.bugs.unexplained).length ? ' No bug is shown so far.' : ' No bug was found.'),
    mine.slice(0, BUGS_SHOWN).map(bugBlock),
    rest.length ? el('details', {}, el('summary', {}, `${plural(rest.length, 'more bug')} of ${engine}`), rest.map(bugBlock)) : '');
}

// A title with what stands between backticks as code.
const titleOf = (one) => one.title.split('`').map((part, at) => at % 2 ? el('code', {}, safe(part)) : safe(part));

// In how many schemas what shows it, the worst first.
const shownBy = (one) => Object.entries(one.severities).filter(([, many]) => many).map(([name, many]) => `${count(many)} ${name}`).join(', ');

function bugBlock(one) {
  const head = el('summary', {}, el('span', { class: 'in' }, `${count(one.cases)} of ${count(one.judged)}`), ' ', el('span', {}, titleOf(one), ' ', el('small', {}, [words(one.kind), shownBy(one), one.upstream ? `reported, ${one.upstream.state}` : ''].filter(Boolean).join(' · '))));
  const block = el('details', { class: `bug ${tone(one.kind)}` }, head);
  block.addEventListener('toggle', () => { if (block.childNodes.length === 1) block.append(...bugDetail(one)); });
  return block;
}

function bugDetail(one) {
  const [before, there, behind] = one.text;
  const script = one.script.map((at) => DATA.bugs.lines[at]);
  const facts = [['bug', one.id], ['in', `${count(one.cases)} of ${plural(one.judged, 'schema')}${one.share.low === null ? '' : `, ${percent(one.share.low).replace('%', '')}–${percent(one.share.high)}`}`], ['shown by', shownBy(one)], ['verdicts', count(one.verdicts)], ['upstream', upstreamOf(one.upstream)]];
  if (one.also_in) facts.push(['also in', safe(one.also_in)]);
  const versions = Object.entries(one.versions);
  if (versions.length > 1) facts.push(['versions', versions.map(([version, met]) => `${version} ${met ? 'yes' : 'no'}`).join(', ')]);
  return [
    el('dl', { class: 'facts' }, facts.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)])),
    el('h4', {}, 'The smallest case'),
    el('pre', { class: 'text', tabindex: '0', 'aria-label': 'The smallest schema' }, visible(one.schema)),
    el('div', { class: 'text', tabindex: '0', role: 'group', 'aria-label': 'The smallest text' }, visible(before), el('mark', { class: 'tok' }, there ? visible(there) : 'the end'), visible(behind)),
    el('p', { class: 'note' }, `Boxed: ${one.token ? 'the token' : 'the byte'} at which ${one.kind === 'false_acceptance' ? 'the text became invalid' : 'the error is'}.`),
    el('h4', {}, 'One verdict of it'),
    el('p', {}, `Verdict ${one.verdict}, about ${safe(one.case)} `, DATA.verdicts.some((other) => other.id === one.verdict) ? el('button', { type: 'button', class: 'link', 'aria-label': `Show verdict ${one.verdict}`, on: { click: () => openVerdict(one.verdict) } }, 'show') : ''),
    commandBlock(`${DATA.about.replayed} ${one.verdict}`),
    el('h4', {}, 'Script'),
    script.length ? copyBlock(script.join('\n'), el('pre', { class: 'text', tabindex: '0', 'aria-label': 'A script that shows the bug' }, script.map(safe).join('\n'))) : el('p', { class: 'note' }, `None: ${one.no_script}.`),
  ];
}

function upstreamOf(found) {
  if (!found) return 'not yet reported, as far as is known';
  return [`${found.status}: `, el('a', { href: /^https:\/\//.test(found.thread) ? found.thread : null, rel: 'noreferrer noopener', target: '_blank' }, found.thread), el('small', {}, ` ${found.says}`)];
}
