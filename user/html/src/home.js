// SPDX-License-Identifier: GPL-2.0-or-later
// A triage: what grows on this machine. Each row opens to its evidence and its call stacks, in the
// shape of `leakmon --format json`.
import { stackList } from './detail.js';
import { el } from './dom.js';
import * as format from './format.js';
import { brand, figure, verdictBadge } from './header.js';
import { keep, keptOf } from './live.js';
import { containerName, wordsOf } from './rows.js';
import { plainStack } from './threads.js';

const known = (value, words) => (value === null || value === undefined ? '\u2013' : words(value));
const perMinute = (bytes) => (bytes ? `${format.bytes(bytes * 60, true)}/min` : '');

function placeOf(entry) {
  if (entry.container) return containerName(entry);
  const name = entry.cgroup?.split('/').filter(Boolean).at(-1) ?? '';
  return /^[0-9a-f]{32,}$/.test(name) ? name.slice(0, 12) : name;
}

const nameOf = (entry) => entry.comm ?? (entry.container ? '(container)' : entry.cgroup ?? '(machine)');

function growthWords({ growth }) {
  if (growth.kind === 'heap' || growth.kind === 'charged') return perMinute(growth.bytes_per_s);
  return growth.per_s ? `${format.count(Math.round(growth.per_s * 60), true)} ${growth.kind}/min` : '';
}

// A call stack with what it explains of the growth.
function stackDetails(words, found) {
  const stack = plainStack(found.frames);
  const at = found.label_frame ?? 0;
  return el('details', { class: 'site' }, el('summary', {}, el('span', { class: 'number' }, words), el('code', {}, found.label ?? stack[at]?.name ?? '[no stack]'),
    stack[at]?.source ? el('span', { class: 'source' }, ` ${stack[at].source}`) : null), stackList(stack, at));
}

const explained = (share) => (share === null ? '' : `~${format.percent(share)}`);

function sampledParts({ sampled }) {
  if (!sampled) return [];
  return [
    sampled.refused ? el('p', { class: 'help' }, sampled.refused) : null,
    sampled.stacks.length ? el('p', { class: 'help' }, `${format.count(sampled.samples)} ${sampled.event} sampled in ${format.duration(sampled.window_s)}; share of what was added`) : null,
    sampled.stacks.map((one) => stackDetails(explained(one.explained), one)),
    sampled.files.length ? el('p', {}, `open files: ${sampled.files.map((file) => `${format.count(file.open)} ${file.kind} (${format.count(file.added, true)})`).join(', ')}`) : null,
    sampled.next ? el('p', {}, 'Next: ', el('code', {}, sampled.next)) : null,
  ];
}

// Where a goroutine waits in the program's own code, beyond the runtime's functions.
function goroutinePlace({ frames }) {
  const at = frames.findIndex(({ function: name }) => name && !/^(runtime\.|internal\/)|\.runtime_/.test(name));
  const found = plainStack(frames)[Math.max(at, 0)];
  return found ? [el('code', {}, found.name), found.source ? el('span', { class: 'source' }, ` ${found.source}`) : null] : ['an unknown place'];
}

function goroutineParts({ goroutines, pid }) {
  if (!goroutines) return null;
  const { count, first_count: first, since_ms: since, state, gone } = goroutines;
  return el('p', {}, `${format.many(count, 'goroutine')} (${format.count(count - first, true)} in ${format.duration(since / 1000)}) in ${state} at `, ...goroutinePlace(goroutines.waits_at),
    ', created by ', ...goroutinePlace(goroutines.created_by), gone ? `: ${format.count(gone)} of them ended` : ': none has ended', '. Next: ', el('code', {}, `leakmon threads -p ${pid} 10`));
}

function evidence(entry) {
  const { growth, managed, split } = entry;
  const parts = [
    el('p', { class: 'help' }, `${growth.points} readings in ${format.duration(growth.window_s ?? 0)}`,
      growth.low_per_s !== null && growth.kind === 'heap' ? `; 95 %: ${perMinute(growth.low_per_s) || '0'} to ${perMinute(growth.high_per_s) || '0'}` : '',
      growth.warming_up ? '; still warming up' : ''),
    growth.cause ? el('p', {}, growth.cause.text) : null,
    managed ? el('p', {}, `${managed.runtime} heap: ${format.bytes(managed.heap_bytes)}, ${format.bytes(managed.heap_growth_bytes, true)} of ${format.bytes(managed.growth_bytes, true)}. Next: `, el('code', {}, managed.next)) : null,
    goroutineParts(entry),
    split ? el('p', {}, split.parts.map((part) => `${part.part} ${format.bytes(part.bytes)} (${format.bytes(part.growth_bytes ?? 0, true)})`).join(', ')) : null,
    sampledParts(entry),
    (entry.sites ?? []).map((site, i) => stackDetails(explained(entry.escalation.explained[i]), site)),
    (entry.profile?.sites ?? []).map((site) => stackDetails(`${format.rate(site.growth_bytes_per_s)} ${site.verdict}`, site)),
    entry.pid && !entry.sampled?.next && ['leaking', 'growing'].includes(entry.verdict) ? el('p', {}, 'Next: ', el('code', {}, `leakmon diagnose -p ${entry.pid}`)) : null,
  ];
  return el('div', { class: 'evidence' }, parts.flat(3).filter(Boolean));
}

function row(entry) {
  const details = el('details', { class: 'entry', 'data-key': entry.pid ?? entry.cgroup ?? '' },
    el('summary', {},
      el('span', { class: 'number wide' }, entry.pid ?? format.many(entry.processes, 'process').replace('processs', 'processes')),
      el('strong', {}, nameOf(entry)), el('span', { class: 'place' }, placeOf(entry)),
      el('span', { class: 'number' }, known(entry.memory_bytes, format.bytes)), el('span', { class: 'number' }, growthWords(entry)),
      el('span', { class: 'number wide' }, known(entry.threads.alive, format.count)), el('span', { class: 'number wide' }, known(entry.file_count, format.count)),
      el('span', {}, verdictBadge(entry.verdict)),
      el('span', { class: 'number wide' }, entry.growth.confidence ? format.percent(entry.growth.confidence) : '')));
  // Thousands of rows: only those that somebody opens have evidence.
  details.addEventListener('toggle', () => details.open && details.children.length === 1 && details.append(evidence(entry)));
  details.haystack = [nameOf(entry), entry.pid, placeOf(entry), entry.verdict, entry.exe, entry.cgroup].filter(Boolean).join('\n').toLowerCase();
  return details;
}

function heads(first) {
  return el('div', { class: 'entry heads', 'aria-hidden': 'true' },
    [[first, 'number wide'], ['Name'], ['In', 'place'], ['Memory', 'number'], ['Growth', 'number'], ['Threads', 'number wide'], ['Files', 'number wide'], ['Verdict'], ['Sure', 'number wide']]
      .map(([label, style]) => el('span', { class: style }, label)));
}

function list(title, id, entries, total, first) {
  if (!entries.length) return null;
  const rows = entries.map(row);
  return el('section', { id, 'aria-labelledby': `${id}-title` },
    el('div', { class: 'title' }, el('h2', { id: `${id}-title` }, title),
      el('p', { class: 'help' }, total > entries.length ? `${format.count(entries.length)} of ${format.count(total)}` : format.count(total), '; a row opens to its evidence')),
    heads(first), el('div', { class: 'entries' }, rows));
}

function limits(data) {
  if (!data.limits.length) return null;
  return el('section', { id: 'limits' }, el('div', { class: 'title' }, el('h2', {}, 'Limits that are near')),
    data.limits.map((limit) => el('p', { class: 'answer' }, `${limit.kind} of ${limit.cgroup ?? 'the machine'}: ${format.bytes(limit.used_bytes)} of ${format.bytes(limit.limit_bytes)} used`,
      limit.seconds_left === null ? '' : `, reached in ${format.duration(limit.seconds_left)}`,
      limit.process[0] ? `; ${limit.process[0].comm} (PID ${limit.process[0].pid}) grows most` : '')));
}

function search() {
  const field = el('input', { type: 'search', id: 'search', placeholder: 'Name, PID, container, verdict \u2026', 'aria-label': 'Search', autocomplete: 'off', spellcheck: 'false', value: keptOf('home') ?? null });
  const apply = () => {
    const words = wordsOf(field.value.trim());
    for (const entry of document.querySelectorAll('details.entry')) entry.hidden = !words.every((word) => entry.haystack.includes(word));
  };
  field.addEventListener('input', apply);
  keep('home', () => field.value, apply);
  return el('div', { class: 'toolbar', role: 'search' }, el('div', { class: 'search' }, field));
}

// Since the start, as the text has it: what was saved up may be spent at once.
function cost({ cpu_s: cpu, running_s: running, used, limit }) {
  const share = running > 0 ? cpu / running : 0;
  const words = `limit ${format.percent(limit)}; ${format.percent(used)} now${used > limit ? ', saved up' : ''}`;
  return share > limit && running < 30 ? figure('Cost', `${cpu.toFixed(2)} s`, `of CPU time; ${words}`) : figure('Cost', format.percent(share), `of a core; ${words}`);
}

export function home(data) {
  const verdicts = (name) => data.processes.filter(({ verdict }) => verdict === name).length;
  const at = Date.parse(data.time) / 1000;
  document.title = 'This machine \u2013 leakmon';
  const worst = data.processes.find(({ verdict }) => verdict === 'leaking') ?? data.processes.find(({ verdict }) => verdict === 'growing');
  return [
    el('header', {}, brand(), el('h1', {}, 'This machine'), el('p', { class: 'where' }, format.dateTime(at)),
      el('p', { class: worst ? 'answer' : 'answer is-calm' }, worst
        ? ['First to look at: ', el('code', {}, worst.comm), ` (PID ${worst.pid}), ${worst.verdict}, ${growthWords(worst)}`]
        : 'Nothing that is shown grows for sure.'),
      el('dl', { class: 'figures' }, figure('Processes', format.count(data.processes_total)), figure('Leaking', format.count(verdicts('leaking')), 'of those shown'),
        figure('Growing', format.count(verdicts('growing')), 'of those shown'), cost(data.budget)),
      data.hidden ? el('p', { class: 'help' }, 'Processes of other users are hidden (hidepid) and not judged.') : null),
    search(), limits(data),
    list('Processes', 'processes', data.processes, data.processes_total, 'PID'),
    list('Containers and cgroups', 'groups', data.groups, data.groups_total, 'Processes'),
  ];
}
