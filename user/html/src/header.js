// SPDX-License-Identifier: GPL-2.0-or-later
// What was measured, where and when, whether the numbers are exact, and the answer in one sentence.
import { el } from './dom.js';
import * as format from './format.js';
import { containerName, VERDICTS } from './rows.js';
import { themeButton } from './theme.js';

export const figure = (label, value, note) =>
  el('div', { class: 'figure' }, el('dt', {}, label), el('dd', {}, value, note ? el('small', {}, note) : null));

export const verdictBadge = (verdict, title) =>
  verdict ? el('span', { class: `verdict is-${verdict}`, title }, verdict.replace('-', ' ')) : null;

function processTitle(processes) {
  const shown = processes.filter((process) => process.outstanding_bytes || processes.length === 1);
  if (shown.length === 1) return [shown[0].comm || `PID ${shown[0].pid}`, shown[0].pid ? el('span', { class: 'dim' }, ` PID ${shown[0].pid}`) : null];
  return [`${processes.length} processes`];
}

function where(model) {
  const { data, processes } = model;
  const parts = [];
  const containers = new Set(processes.filter((process) => process.container).map(containerName));
  if (processes.length === 1 && processes[0].exe) parts.push(processes[0].exe);
  if (containers.size === 1) parts.push(`container ${[...containers][0]}`);
  if (data.builds) parts.push(`on ${format.many(data.hosts.length, 'host')}`);
  else if (data.host) parts.push(`on ${data.host}`);
  return parts;
}

function when(model) {
  const from = model.times[0];
  const to = model.times[model.last];
  if (!model.evolves) return [format.dateTime(to)];
  const end = format.day(from) === format.day(to) ? format.clock(to) : format.dateTime(to);
  return [`${format.dateTime(from)} \u2013 ${end}`, format.duration(to - from), `${format.count(model.times.length)} snapshots`];
}

export function exactness(processes, sampled) {
  if (sampled) return el('span', { class: 'badge is-warning' }, 'Estimated from a sample');
  const inexact = processes.filter((process) => !process.exact).length;
  if (!inexact) return el('span', { class: 'badge is-good' }, '\u2713 Exact: the ledger balances');
  return el('a', { class: 'badge is-warning', href: '#ledger' }, '\u26a0 Inexact: see the losses');
}

// Of a call that comes by several stacks, what grows is their sum.
const rateOf = ({ trend }) => trend.merged?.bytes_per_s ?? trend.bytes_per_s;

function sentence(model) {
  const heap = model.sites.filter((site) => site.family === model.family);
  const judged = heap.filter((site) => site.trend && site.trend.verdict !== 'too-early');
  const leaks = judged.filter((site) => ['leaking', 'growing'].includes(site.trend.verdict))
    .sort((a, b) => VERDICTS.indexOf(a.trend.verdict) - VERDICTS.indexOf(b.trend.verdict) || rateOf(b) - rateOf(a));
  if (!judged.length) return null;
  if (!leaks.length)
    return el('p', { class: 'answer is-calm' }, `None of ${format.many(judged.length, 'call stack')} grows.`);
  const first = leaks[0];
  return el('p', { class: 'answer' },
    `${format.count(leaks.length)} of ${format.many(judged.length, 'call stack')} ${leaks.length === 1 ? 'grows' : 'grow'}` +
    `${leaks.length === 1 ? ': ' : ', most of all '}`,
    el('code', {}, first.title.name),
    first.title.source ? el('span', { class: 'dim' }, ` ${first.title.sourceShort}`) : null,
    `, ${format.rate(rateOf(first))}`,
    first.trend.merged ? ` in ${format.count(first.trend.merged.stacks)} call stacks through compiled code` : null,
    first.trend.survival === null ? '.' : `; ${format.percent(first.trend.survival)} of what it allocated is still there.`);
}

function figures(model) {
  const { data, processes } = model;
  const judged = model.sites.filter((site) => site.trend && site.trend.verdict !== 'too-early');
  const suspects = judged.filter((site) => ['leaking', 'growing'].includes(site.trend.verdict));
  const leaking = suspects.filter((site) => site.trend.verdict === 'leaking').length;
  const bytes = processes.reduce((sum, process) => sum + process.outstanding_bytes, 0);
  const blocks = processes.reduce((sum, process) => sum + process.outstanding_count, 0);
  const only = processes.length === 1 ? processes[0].trend : null;
  const growth = model.evolves && processes.every((process) => process.series)
    ? processes.reduce((sum, process) => sum + process.series.bytes[model.last] - process.series.bytes[0], 0) : null;
  return el('dl', { class: 'figures' },
    figure('Outstanding', format.bytes(bytes), format.many(blocks, 'block')),
    growth === null ? null : figure('Since the first snapshot', format.bytes(growth, true),
      only && only.verdict !== 'too-early' ? format.rate(only.bytes_per_s) : null),
    judged.length ? figure('Growing call stacks', format.count(suspects.length), suspects.length ? `${format.count(leaking)} leaking` : null) : null,
    figure('Call stacks', format.count(model.sites.filter((site) => site.held_count).length),
      processes.length > 1 ? format.many(processes.length, 'process').replace('processs', 'processes') : null),
    figure('Allocations', format.count(data.ledger.allocations), `${format.count(data.ledger.frees)} freed`));
}

export const brand = () => el('div', { class: 'brand' }, el('strong', {}, 'leakmon'), themeButton());

const dotted = (parts) => parts.flatMap((part, i) => (i ? [el('span', { class: 'dot' }, '\u00b7'), part] : [part]));

export function reportHeader(model) {
  const place = where(model);
  document.title = `${processTitle(model.processes)[0]} \u2013 leakmon`;
  return el('header', {}, brand(),
    el('h1', {}, processTitle(model.processes)),
    place.length ? el('p', { class: 'where' }, dotted(place)) : null,
    el('p', { class: 'where' }, dotted([...when(model), exactness(model.processes, model.data.sampled)])),
    sentence(model), figures(model));
}

const grows = (trend) => trend && ['leaking', 'growing'].includes(trend.verdict);

function listed(sites) {
  const names = [...new Set(sites.map((site) => site.title.name))];
  return names.slice(0, 3).flatMap((name, i) => [i ? ', ' : '', el('code', {}, name)])
    .concat(names.length > 3 ? [` and ${names.length - 3} more`] : []);
}

// What a repair has come to: who grew, and still grows.
function diffSentence(model) {
  const before = model.sites.filter((site) => grows(site.trend_before));
  const now = model.sites.filter((site) => grows(site.trend));
  const mended = before.filter((site) => !grows(site.trend));
  if (model.data.same_run || (!before.length && !now.length)) return null;
  if (!now.length)
    return el('p', { class: 'answer is-calm' }, listed(mended), ` grew before. Of ${format.many(model.sites.length, 'call stack')}, none grows now.`);
  return el('p', { class: 'answer' }, listed(now), ` ${now.length === 1 ? 'grows' : 'grow'} now`,
    mended.length ? ['; ', listed(mended), ` grew before, and no ${mended.length === 1 ? 'longer does' : 'longer do'}.`] : '.');
}

const sideName = (side) => format.fileName(side.recording ?? 'the recording');

function sideLine(name, side) {
  return el('p', { class: `side is-${name}` },
    el('span', { class: 'swatch' }), el('strong', {}, sideName(side)),
    el('span', { class: 'dim' }, ` snapshot ${side.sequence}, ${format.dateTime(side.time_ms / 1000)}`,
      side.label ? ` \u201c${side.label}\u201d` : '', side.host ? ` on ${side.host}` : ''));
}

export function diffHeader(model) {
  const { before, after, same_run: sameRun, unrelated } = model.data;
  const heap = model.sites.filter((site) => !model.overlaps(site.family));
  const sum = (series, column) => heap.reduce((total, site) => total + site.series[series][column], 0);
  const bytes = [sum('bytes', 0), sum('bytes', 1)];
  const blocks = [sum('blocks', 0), sum('blocks', 1)];
  const seconds = (after.time_ms - before.time_ms) / 1000;
  const title = sameRun ? `${sideName(after)}: what changed` : `${sideName(before)} \u2192 ${sideName(after)}`;
  document.title = `${title} \u2013 leakmon`;
  return el('header', {}, brand(), el('h1', {}, title),
    sideLine('before', before), sideLine('after', after),
    unrelated ? el('p', { class: 'badge is-warning' },
      '\u26a0 They have no call stack in common: these look like two different programs.') : null,
    el('p', { class: 'where' }, exactness([...before.processes, ...after.processes], before.sampled || after.sampled)),
    diffSentence(model),
    el('dl', { class: 'figures' },
      figure('Difference', format.bytes(bytes[1] - bytes[0], true), `${format.count(blocks[1] - blocks[0], true)} blocks`),
      figure('Before', format.bytes(bytes[0]), format.many(blocks[0], 'block')),
      figure('After', format.bytes(bytes[1]), format.many(blocks[1], 'block')),
      sameRun && seconds > 0 ? figure('Between them', format.duration(seconds), format.rate((bytes[1] - bytes[0]) / seconds)) : null));
}
