// SPDX-License-Identifier: GPL-2.0-or-later
// Which build of which program grows, on how many of its hosts, and where: of a recording that
// `leakmon merge` made.
import { el } from './dom.js';
import { stackList } from './detail.js';
import * as format from './format.js';
import { plainStack } from './threads.js';

const hostsOf = (one, all) =>
  one.growing_hosts ? `grows on ${format.count(one.growing_hosts)} of ${format.many(all, 'host')}` : `on ${format.count(one.hosts)} of ${format.many(all, 'host')}, grows on none`;

function site(found, build) {
  const stack = plainStack(found.frames);
  return el('details', {},
    el('summary', {}, el('code', {}, found.label ?? stack[found.label_frame ?? 0]?.name ?? '[no stack]'),
      el('span', { class: 'dim' }, ` \u00b7 ${hostsOf(found, build.hosts)} \u00b7 ${format.bytes(found.bytes)} in ${format.many(found.count, 'block')}`,
        found.growing_hosts ? ` \u00b7 ${format.rate(found.bytes_per_s)}` : '', ` \u00b7 site ${found.id}`)),
    stackList(stack));
}

function build(found) {
  const grows = found.growing_hosts > 0;
  const more = found.sites_total - found.sites.length;
  return el('details', { open: grows },
    el('summary', {}, el('strong', {}, found.comm), ' ', el('code', {}, found.build_id ? found.build_id.slice(0, 16) : 'build not known'), ' ',
      el('span', { class: `verdict ${grows ? 'is-growing' : 'is-steady'}` }, hostsOf(found, found.hosts)),
      el('span', { class: 'dim' }, ` \u00b7 ${format.bytes(found.bytes)}`, grows ? ` \u00b7 ${format.rate(found.bytes_per_s)} together` : '',
        found.since ? ` \u00b7 seen since ${format.dateTime(Date.parse(found.since) / 1000)}` : '')),
    el('div', { class: 'within' }, found.sites.map((one) => site(one, found)),
      more > 0 ? el('p', { class: 'help' }, `and ${format.many(more, 'more call stack')}`) : null));
}

export function fleet(data) {
  if (!data.builds) return null;
  return el('section', { id: 'fleet', 'aria-labelledby': 'fleet-title' },
    el('div', { class: 'title' }, el('h2', { id: 'fleet-title' }, `${format.many(data.hosts.length, 'host')}, by build`)), data.builds.map(build));
}
