// SPDX-License-Identifier: GPL-2.0-or-later
// A profile: call stacks by what they surely grow by, and how their blocks survive, in the shape of
// `leakmon profile --format json`.
import { stackList } from './detail.js';
import { el, svg } from './dom.js';
import * as format from './format.js';
import { brand, figure, verdictBadge } from './header.js';
import { plainStack } from './threads.js';

const SHOWN = 50;
const WIDTH = 420, HEIGHT = 130, LEFT = 42, RIGHT = 10, TOP = 8, BOTTOM = 18;
const AGES = [1, 10, 60, 600, 3600, 21600, 86400];

function survival({ survival: points }) {
  if (!points.length) return null;
  const span = Math.max(Math.log10(points.at(-1).age_s), 1);
  const x = (age) => (LEFT + (WIDTH - LEFT - RIGHT) * Math.log10(Math.max(age, 1)) / span).toFixed(1);
  const y = (share) => (TOP + (HEIGHT - TOP - BOTTOM) * (1 - Math.min(Math.max(share ?? 0, 0), 1))).toFixed(1);
  const line = (list, value) => list.map((point, i) => `${i ? 'L' : 'M'}${x(point.age_s)} ${y(value(point))}`).join('');
  const area = `${line(points, ({ high }) => high)}L${line([...points].reverse(), ({ low }) => low).slice(1)}Z`;
  return el('figure', {},
    svg('svg', { class: 'survival', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': 'Share of its blocks that nothing has touched, by age' },
      [0, 0.5, 1].map((share) => [svg('path', { class: 'grid', d: `M${LEFT} ${y(share)}H${WIDTH - RIGHT}` }), svg('text', { x: 2, y: Number(y(share)) + 3 }, `${share * 100} %`)]),
      AGES.filter((age) => Math.log10(age) <= span).map((age) => [svg('path', { class: 'grid', d: `M${x(age)} ${TOP}V${HEIGHT - BOTTOM}` }),
        svg('text', { x: x(age), y: HEIGHT - 5, 'text-anchor': 'middle' }, format.duration(age))]),
      svg('path', { class: 'area', d: area }),
      svg('path', { class: 'undead', d: line(points, ({ not_known_dead }) => not_known_dead) }),
      svg('path', { class: 'curve', d: line(points, ({ share }) => share) }),
      points.map((point) => svg('circle', { class: 'point', cx: x(point.age_s), cy: y(point.share), r: 2.2 },
        svg('title', {}, `after ${format.duration(point.age_s)}: ${format.percent(point.share)} untouched (${format.percent(point.low)} to ${format.percent(point.high)})`)))),
    el('figcaption', { class: 'help' }, 'Its blocks by age: untouched (line, with 95 % limits), not known to be dead (dashes)'));
}

function site(found) {
  const stack = plainStack(found.frames);
  const at = found.label_frame ?? 0;
  const per = (value) => (value === null ? '?' : format.rate(value));
  return el('article', { class: `card is-${found.verdict}` },
    el('div', { class: 'told' },
      el('h3', {}, el('code', {}, found.label ?? stack[at]?.name ?? '[no stack]'), ' ', verdictBadge(found.verdict)),
      el('p', {}, el('strong', {}, per(found.growth_bytes_per_s)), el('span', { class: 'dim' }, ` (95 %: ${per(found.low)} to ${per(found.high)})`)),
      el('p', {}, found.why ?? '', found.ready_s > 0 ? ` (more in ${format.duration(found.ready_s)})` : ''),
      el('p', { class: 'help' }, `${found.births_per_s >= 10 ? format.count(Math.round(found.births_per_s)) : Number(found.births_per_s).toPrecision(2)} blocks/s allocated`),
      stackList(stack, at)),
    survival(found));
}

function process(found) {
  const shown = found.sites.slice(0, SHOWN);
  const memory = found.memory?.bytes ?? found.memory_bytes;
  const explained = found.memory?.explained ?? found.explained;
  return el('section', { id: `process-${found.pid}` },
    el('div', { class: 'title' }, el('h2', {}, found.comm, el('span', { class: 'dim' }, ` PID ${found.pid}${found.exited ? ', ended' : ''}`)),
      el('p', { class: 'help' }, `${format.many(found.windows, 'window')}, ${Number(found.tracked_s).toFixed(2)} s tracked, ${format.count(found.samples)} blocks followed, ${(100 * found.spent).toFixed(2)} % of its CPU time`)),
    memory >= 0 ? el('p', {}, `Memory: ${format.bytes(memory)}`, explained >= 0 ? `; these call stacks explain ${format.percent(explained)} of its growth` : '') : null,
    shown.length ? shown.map(site) : el('p', {}, 'No call stack yet: windows come as the overhead limit allows.'),
    found.sites_total > shown.length ? el('p', { class: 'help' }, `${format.count(found.sites_total - shown.length)} more call stacks are not shown`) : null);
}

export function profile(data) {
  const time = Date.parse(data.time) / 1000;
  const leaking = data.processes.flatMap((one) => one.sites.filter(({ verdict }) => verdict === 'leaking').map((found) => [one, found]));
  document.title = 'Profile \u2013 leakmon';
  return [
    el('header', {}, brand(), el('h1', {}, 'Profile'), el('p', { class: 'where' }, format.dateTime(time)),
      el('p', { class: leaking.length ? 'answer' : 'answer is-calm' }, leaking.length
        ? `${format.many(leaking.length, 'call stack')} ${leaking.length === 1 ? 'leaks' : 'leak'}: blocks come, live, and nothing ever touches them.`
        : 'No call stack is known to leak so far. A leak is confirmed after about 13 minutes.'),
      el('dl', { class: 'figures' }, figure('Windows', format.count(data.windows), `${Number(data.tracked_s).toFixed(2)} s tracked`),
        figure('Blocks followed', format.count(data.samples)),
        figure('Spent', `${(100 * data.overhead.spent).toFixed(2)} %`, `of the processes\u2019 CPU time; limit ${format.percent(data.overhead.limit)}`)),
      data.overhead.measured ? null : el('p', { class: 'help' }, 'What a trap costs could not be measured: it is a guess.'),
      el('details', {}, el('summary', {}, 'How to read this page'),
        el('p', { class: 'help' }, 'Allocations are sampled in short windows, and each sampled block is looked at again at growing ages. ' +
          'Growth is what comes and stays untouched, with its 95 % limits; call stacks are ordered by the lower limit, what surely grows. ' +
          'A curve that stays high is a leak, one that falls a cache or work in progress: leaking, retained (blocks live, but are used or die slowly), churning (they die), too early.'))),
    ...data.processes.map(process),
  ];
}
