// SPDX-License-Identifier: GPL-2.0-or-later
// What is known of a row, below it.
import { el } from './dom.js';
import * as format from './format.js';
import { held, change } from './rows.js';

export function stackList(stack, titleAt = -1) {
  return el('ol', { class: 'stack' }, stack.map((frame, i) => el('li', { class: i === titleAt ? 'is-title' : null },
    el('span', { class: frame.named ? 'function' : 'function dim' }, frame.name),
    frame.inlined ? el('span', { class: 'note' }, 'inlined') : null,
    !frame.named && frame.why ? el('span', { class: 'note' }, frame.why) : null,
    frame.source ? el('span', { class: 'source' }, frame.source) : null,
    frame.module ? el('span', { class: 'module', title: frame.module }, frame.moduleName) : null)));
}

const fact = (label, ...value) => (value.some((part) => part) ? [el('dt', {}, label), el('dd', {}, value)] : []);

function ages(trend) {
  return trend.older_share.filter(({ share }) => share > 0)
    .map(({ seconds, share }) => `${format.percent(share)} over ${format.duration(seconds)}`).join(', ');
}

function trendFacts(trend) {
  return [
    ...fact('Growth', `${format.rate(trend.bytes_per_s)}`,
      el('span', { class: 'dim' }, ` (95 %: ${format.rate(trend.bytes_per_s_low)} to ${format.rate(trend.bytes_per_s_high)}), R\u00b2 ${trend.r_squared.toFixed(2)}`)),
    ...fact('Survival', trend.survival === null ? '' : `${format.percent(trend.survival)} of what it allocated since the first snapshot is still there`),
    ...fact('Turnover', trend.turnover > 0 ? `${format.count(trend.turnover)} blocks freed per block held` : ''),
    ...fact('Ages', ages(trend)),
    ...fact('Judged', trend.merged ? `together with the others of ${format.count(trend.merged.stacks)} call stacks that differ only in compiled code: ` +
      `${format.bytes(trend.merged.bytes)}, ${format.rate(trend.merged.bytes_per_s)}` : ''),
  ];
}

export function siteDetail(site, model, state, view) {
  const end = site.end ? el('p', { class: 'note' }, `The stack ends early: ${site.end.replaceAll('_', ' ')}`) : null;
  return el('div', { class: 'facts' },
    el('div', {}, stackList(site.stack, site.titleAt), end),
    el('dl', {},
      ...fact('Held', `${format.bytes(site.series.bytes[state.to])} in ${format.many(site.series.blocks[state.to], 'block')}`),
      ...(site.allocated_count === undefined ? [] : fact('Allocated', `${format.many(site.allocated_count, 'block')}, ${format.bytes(site.allocated_bytes)}`)),
      ...(site.freed_count === undefined ? [] : fact('Freed', `${format.many(site.freed_count, 'block')}, ${format.bytes(site.freed_bytes)}`)),
      ...(site.oldest_ms ? fact('Oldest block', format.duration(site.oldest_ms / 1000)) : []),
      ...(site.trend ? trendFacts(site.trend) : []),
      ...fact('Process', site.comm),
      ...fact('Stack id', el('code', {}, site.id)),
      el('dt', {}, ''), el('dd', {}, el('button', { type: 'button', class: 'plain', onclick: () => view.focusFlame(site) }, 'Show in the flame graph'), ' ',
        view.showCalls ? el('button', { type: 'button', class: 'plain', onclick: () => view.showCalls(site) }, 'Callers and callees') : null)));
}

const GROUP_ROWS = 12;

export function groupDetail(row, model, state) {
  const sites = [...row.sites].sort((a, b) => held({ series: b.series }, state) - held({ series: a.series }, state));
  return el('div', { class: 'members' }, sites.slice(0, GROUP_ROWS).map((site) => el('details', {},
    el('summary', {}, el('span', { class: 'number' }, format.amount(site.series[state.measure][state.to], state.measure)),
      model.last ? el('span', { class: 'number dim' }, format.amount(change({ series: site.series }, state), state.measure, true)) : null,
      el('span', { class: 'function' }, site.title.name), el('span', { class: 'source' }, site.title.sourceShort),
      el('span', { class: 'dim' }, site.comm)),
    stackList(site.stack, site.titleAt))),
  sites.length > GROUP_ROWS ? el('p', { class: 'note' }, `and ${sites.length - GROUP_ROWS} more`) : null);
}
