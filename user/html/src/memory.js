// SPDX-License-Identifier: GPL-2.0-or-later
// Where the memory of a process is, over time: the parts that `leakmon memory` tells apart, stacked.
import uPlot from 'uplot';
import { HEIGHT, stacked, timeAxis, TOP, valueAxis } from './chart.js';
import { el, oncePerFrame, select, themeColour, prose } from './dom.js';
import * as format from './format.js';
import { brand } from './header.js';
import { processName } from './rows.js';
import { onTheme } from './theme.js';

// The greatest parts, in the order of the report, and the sum of the others above them.
function layersOf({ parts, times }) {
  const top = [...parts].sort((a, b) => Math.max(...b.bytes) - Math.max(...a.bytes)).slice(0, parts.length > TOP + 1 ? TOP : TOP + 1);
  const layers = parts.filter((part) => top.includes(part))
    .map((part, i) => ({ name: part.name, values: part.bytes, colour: themeColour(i < TOP ? `series-${i + 1}` : 'series-rest') }));
  const rest = parts.filter((part) => !top.includes(part));
  if (rest.length) {
    layers.push({
      name: `${rest.length} others`, colour: themeColour('series-rest'),
      values: times.map((_, i) => rest.reduce((sum, part) => sum + part.bytes[i], 0)),
    });
  }
  return layers;
}

const growthOf = (layer) => layer.values[layer.values.length - 1] - layer.values[0];

// A row for every layer, the uppermost first: colour, name, bytes at the cursor, growth.
function drawLegend(legend, layers, evolves) {
  legend.replaceChildren(...[...layers].reverse().map((layer) => {
    const swatch = el('span', { class: 'swatch' });
    swatch.style.background = layer.colour;
    const grown = growthOf(layer);
    return el('tr', {}, el('td', {}, swatch), el('th', { scope: 'row' }, layer.name), el('td', { class: 'number value' }),
      evolves ? el('td', { class: 'number dim' }, grown ? format.bytes(grown, true) : '') : null);
  }));
}

function plotOf(memory) {
  const plot = el('div', { class: 'plot', role: 'img', 'aria-label': 'Where memory is, over time' });
  const legend = el('tbody', {});
  const readout = el('p', { class: 'readout' });
  const times = memory.times.map((ms) => ms / 1000);
  const evolves = times.length > 1;
  let chart;
  let layers;

  function say(at) {
    const column = at ?? times.length - 1;
    const values = layers.map((layer) => layer.values[column]);
    readout.textContent = `${format.dateTime(times[column])}  \u00b7  ${format.bytes(values.reduce((sum, value) => sum + value, 0))} resident`;
    [...legend.children].forEach((row, i) => {
      row.querySelector('.value').textContent = format.bytes(values[values.length - 1 - i]);
    });
  }

  function draw() {
    chart?.destroy();
    layers = layersOf(memory);
    drawLegend(legend, layers, evolves);
    plot.hidden = !evolves;
    if (evolves) {
      chart = new uPlot({
        width: plot.clientWidth, height: HEIGHT, padding: [12, 24, 0, 0], legend: { show: false },
        cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
        scales: { x: { time: true }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
        axes: [timeAxis(), valueAxis('bytes')],
        series: [{}, ...[...layers].reverse().map((layer) => ({ label: layer.name, stroke: layer.colour, width: 1, fill: layer.colour, points: { show: false } }))],
        hooks: { setCursor: [(u) => say(u.cursor.idx)] },
      }, [times, ...stacked(layers, times.length)], plot);
    }
    say();
  }

  const redraw = oncePerFrame(draw);
  new ResizeObserver(() => chart && chart.width !== plot.clientWidth && redraw()).observe(plot);
  onTheme(redraw);
  requestAnimationFrame(draw);
  return [readout, el('div', { class: evolves ? 'chart' : '' }, plot,
    el('table', { class: 'parts' }, el('thead', { class: 'unseen' }, el('tr', {}, ['', 'Part', 'Bytes', evolves ? 'Growth' : null]
      .filter((head) => head !== null).map((head) => el('th', { scope: 'col' }, head)))), legend))];
}

// Growth of what the program holds, or of what nobody knows, may be a leak.
const CALM = ['steady', 'retained', 'fragmentation', 'arenas', 'thread-caches', 'huge-pages', 'files'];

const isCalm = ({ verdict, growth }) => CALM.includes(verdict) && growth.live < 1 << 20;

function processParts({ memory }) {
  const { conclusion } = memory;
  return [
    conclusion ? el('p', { class: `answer${isCalm(conclusion) ? ' is-calm' : ''}` }, prose(conclusion.text)) : null,
    memory.not_known ? el('p', { class: 'help' }, `Not known: ${memory.not_known}.`) : null,
    ...plotOf(memory),
    el('p', { class: 'help' }, [
      `${format.bytes(memory.rss_bytes)} resident`, `${format.bytes(memory.pss_bytes)} proportional`, `${format.bytes(memory.swap_bytes)} in swap`,
      memory.allocator, memory.trimmable_bytes ? `${format.bytes(memory.trimmable_bytes)} of what is free could be given back` : null,
    ].filter(Boolean).join('  \u00b7  ')),
  ];
}

export function memorySection(data) {
  const found = (data.processes ?? []).filter((process) => process.memory)
    .sort((a, b) => b.memory.rss_bytes - a.memory.rss_bytes);
  if (!found.length) return null;
  const body = el('div', {});
  const show = (number) => body.replaceChildren(...processParts(found[number]).filter(Boolean));
  show(0);
  return el('section', { id: 'memory', 'aria-labelledby': 'memory-title' },
    el('div', { class: 'title' }, el('h2', { id: 'memory-title' }, 'Where memory is'),
      found.length > 1 ? select('Process', found.map((process, i) => [i, `${processName(process)}, ${format.bytes(process.memory.rss_bytes)}`]), 0, (number) => show(Number(number))) : null),
    body);
}

const GROUPS = { live: 'live blocks', free: 'free inside malloc', malloc: 'malloc\u2019s records', files: 'mapped files', shared: 'shared memory',
  managed: 'garbage-collected heap', other: 'other anonymous memory' };

function changedRow(change) {
  const processes = change.pid !== null ? ` (${change.pid})` : change.processes.before === 1 && change.processes.after === 1 ? '' : ` (${change.processes.before} \u2192 ${change.processes.after} processes)`;
  const grown = Object.entries(change.groups).map(([name, { difference }]) => [GROUPS[name] ?? name, difference])
    .filter(([, difference]) => difference).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  return el('tr', {}, el('td', { 'data-head': 'Process' }, `${change.comm}${processes}`),
    el('td', { class: 'number', 'data-head': 'Before' }, format.bytes(change.rss_bytes.before)), el('td', { class: 'number', 'data-head': 'After' }, format.bytes(change.rss_bytes.after)),
    el('td', { class: `number ${change.rss_bytes.difference > 0 ? 'more' : 'less'}`, 'data-head': 'Difference' }, format.bytes(change.rss_bytes.difference, true)),
    el('td', { class: 'late', 'data-head': 'What grew' }, grown.map(([name, difference]) => `${name} ${format.bytes(difference, true)}`).join(', '),
      change.conclusion && change.conclusion.verdict !== 'steady' ? el('div', { class: 'help' }, prose(change.conclusion.text)) : null));
}

// Of a difference: user/schema/diff.schema.json.
export function changedMemory(data) {
  if (!data.memory?.length) return null;
  return el('section', { id: 'memory', 'aria-labelledby': 'memory-title' },
    el('div', { class: 'title' }, el('h2', { id: 'memory-title' }, 'Where memory is')),
    el('table', { class: 'plain-table' }, el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'Process'),
      ['Before', 'After', 'Difference'].map((head) => el('th', { scope: 'col', class: 'number' }, head)), el('th', { scope: 'col' }, 'What grew'))),
    el('tbody', {}, data.memory.map(changedRow))));
}

export function memoryHeader(data) {
  const [first] = data.processes;
  const title = data.processes.length === 1 ? first.comm || `PID ${first.pid}` : `${data.processes.length} processes`;
  document.title = `${title}: where memory is \u2013 leakmon`;
  return el('header', {}, brand(), el('h1', {}, title, data.processes.length === 1 ? el('span', { class: 'dim' }, ` PID ${first.pid}`) : null),
    el('p', { class: 'where' }, format.dateTime(data.time_ms / 1000)));
}
