// SPDX-License-Identifier: GPL-2.0-or-later
// The evolution: what the greatest rows hold over time, stacked. Dragging selects a stretch of time,
// and everything below speaks of that stretch.
import uPlot from 'uplot';
import { el, oncePerFrame, themeColour } from './dom.js';
import * as format from './format.js';
import { decodeSide } from './model.js';
import { onTheme } from './theme.js';

export const TOP = 7;
export const HEIGHT = 280;

const alpha = (colour, share) => colour + Math.round(share * 255).toString(16).padStart(2, '0');

// Ticks of a byte axis are round in powers of two, not of ten.
const BYTE_STEPS = Array.from({ length: 50 }, (_, i) => 2 ** i);
const COUNT_STEPS = [1, 2, 5].flatMap((step) => Array.from({ length: 13 }, (_, i) => step * 10 ** i)).sort((a, b) => a - b);

function axis(values, extra) {
  return {
    stroke: themeColour('dim'), font: '12px system-ui, sans-serif', values,
    grid: { stroke: themeColour('grid'), width: 1 }, ticks: { show: false }, ...extra,
  };
}

// A tick says the day where it begins.
export const timeAxis = () => axis((_, splits, __, ___, step) => splits.map((time) => {
  const clock = format.clock(time);
  if (step < 1) return `${clock}.${Math.round(time % 1 * 10)}`;
  return clock === '00:00:00' ? format.day(time) : step < 60 ? clock : clock.slice(0, 5);
}), { space: 90, size: 30 });

export const valueAxis = (measure) => axis((_, splits) => splits.map((value) => format.amount(value, measure)),
  { size: 76, gap: 8, incrs: measure === 'bytes' ? BYTE_STEPS : COUNT_STEPS });

// The stack's layers from the bottom up: the rest, then what grew least, what grew
// most, and above all what leaks: its rise is not shifted by what is below it.
function layersOf(rows, state) {
  const { measure, from, to } = state;
  const peak = (row) => {
    let most = 0;
    for (let i = from; i <= to; i++) most = Math.max(most, row.series[measure][i]);
    return most;
  };
  const ranked = rows.map((row) => [peak(row), row]).sort((a, b) => b[0] - a[0]);
  const top = ranked.slice(0, TOP).filter(([most]) => most > 0).map(([, row]) => row);
  const rest = ranked.slice(top.length).map(([, row]) => row);
  const growth = (row) => row.series[measure][to] - row.series[measure][from];
  const suspect = (row) => ['growing', 'leaking'].indexOf(row.trend?.verdict);
  top.sort((a, b) => suspect(b) - suspect(a) || growth(b) - growth(a));
  // Two of one name are told apart by the line.
  const name = (row) => (row.sites.length === 1 && top.some((other) => other !== row && other.title === row.title)
    ? `${row.title} ${row.sites[0].title.sourceShort}`.trim() : row.title);
  const layers = top.map((row, i) => ({ row, name: name(row), values: row.series[measure], colour: themeColour(`series-${i + 1}`) }));
  if (rest.length) {
    const values = new Float64Array(rows[0].series[measure].length);
    for (const row of rest)
      for (let i = 0; i < values.length; i++) values[i] += row.series[measure][i];
    layers.push({ name: `${format.many(rest.length, 'other')}`, values, colour: themeColour('series-rest') });
  }
  return layers.reverse();
}

// Highest sum first: each layer is painted over the one before.
export function stacked(layers, columns) {
  const sum = new Float64Array(columns);
  return layers.map((layer) => {
    for (let i = 0; i < columns; i++) sum[i] += layer.values[i];
    return Float64Array.from(sum);
  }).reverse();
}

function drawLabels(model) {
  return (u) => {
    const { ctx } = u;
    ctx.save();
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.fillStyle = ctx.strokeStyle = themeColour('text');
    for (const [column, text] of model.labels) {
      const x = Math.round(u.valToPos(model.times[column], 'x', true));
      if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
      ctx.setLineDash([4, 4]);
      ctx.beginPath();
      ctx.moveTo(x, u.bbox.top);
      ctx.lineTo(x, u.bbox.top + u.bbox.height);
      ctx.stroke();
      ctx.fillText(text.slice(0, 24), x + 4, u.bbox.top + 12 * devicePixelRatio);
    }
    ctx.restore();
  };
}

export function evolution(model, state, view) {
  const plot = el('div', { class: 'plot', id: 'plot', tabindex: '0', role: 'group', 'aria-describedby': 'plot-help',
    'aria-label': 'Evolution of what is held, over time' });
  const readout = el('p', { class: 'readout', id: 'readout', 'aria-live': 'polite' });
  const legend = el('ul', { class: 'legend' });
  const reset = el('button', { type: 'button', class: 'plain', id: 'whole', onclick: () => select(0, model.last) }, 'Show the whole time');
  let chart;
  let layers = [];
  let cursor = null; // a column
  let anchor = null; // where a selection by keyboard began

  function select(from, to) {
    if (to <= from) return;
    anchor = null;
    state.set({ from, to });
  }

  function say() {
    const at = cursor ?? state.to;
    const values = layers.map((layer) => layer.values[at]);
    const total = values.reduce((sum, value) => sum + value, 0);
    readout.textContent = `${format.dateTime(model.times[at])}  \u00b7  snapshot ${model.sequences[at]}  \u00b7  ` +
      `${format.amount(total, state.measure)}${anchor === null || anchor === at ? '' :
        `  \u00b7  selecting ${format.duration(Math.abs(model.times[at] - model.times[anchor]))}, Enter shows it`}`;
    [...legend.children].forEach((item, i) => {
      item.querySelector('.value').textContent = format.amount(layers[layers.length - 1 - i].values[at], state.measure);
    });
  }

  function drawLegend() {
    legend.replaceChildren(...[...layers].reverse().map((layer, i) => {
      const swatch = el('span', { class: 'swatch' });
      swatch.style.background = layer.colour;
      const name = layer.row
        ? el('button', { type: 'button', class: 'link', onclick: () => view.reveal(layer.row) }, layer.name)
        : el('span', { class: 'dim' }, layer.name);
      const item = el('li', {}, swatch, name, el('span', { class: 'value' }));
      item.addEventListener('pointerenter', () => chart.setSeries(i + 1, { focus: true }));
      item.addEventListener('pointerleave', () => chart.setSeries(null, { focus: true }));
      return item;
    }));
  }

  function moveCursor(column) {
    cursor = Math.min(Math.max(column, state.from), state.to);
    chart.setCursor({ left: chart.valToPos(model.times[cursor], 'x'), top: 10 }, false);
    say();
  }

  const keys = {
    ArrowLeft: (event) => moveCursor((cursor ?? state.to) - (event.ctrlKey ? 10 : 1)),
    ArrowRight: (event) => moveCursor((cursor ?? state.from) + (event.ctrlKey ? 10 : 1)),
    Home: () => moveCursor(state.from),
    End: () => moveCursor(state.to),
    Enter: () => anchor !== null && cursor !== null && select(Math.min(anchor, cursor), Math.max(anchor, cursor)),
    Escape: () => select(0, model.last),
  };
  plot.addEventListener('keydown', (event) => {
    if (!keys[event.key]) return;
    if (event.shiftKey && event.key.startsWith('Arrow') && anchor === null) anchor = cursor ?? state.to;
    else if (!event.shiftKey && event.key.startsWith('Arrow')) anchor = null;
    event.preventDefault();
    keys[event.key](event);
  });
  plot.addEventListener('dblclick', () => select(0, model.last));

  // The column nearest to a place in the plot.
  const columnAt = (left) => chart.valToIdx(chart.posToVal(left, 'x'));

  function options(width) {
    return {
      width, height: HEIGHT,
      padding: [12, 24, 0, 0],
      legend: { show: false },
      focus: { alpha: 0.35 },
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      scales: { x: { time: true }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
      axes: [timeAxis(), valueAxis(state.measure)],
      series: [{}, ...[...layers].reverse().map((layer) => ({
        label: layer.name, stroke: layer.colour, width: 1.5, fill: layer.colour,
        points: { show: false },
      }))],
      hooks: {
        draw: [drawLabels(model)],
        setCursor: [(u) => {
          if (u.cursor.event) {
            cursor = u.cursor.idx ?? null;
            say();
          }
        }],
        setSelect: [(u) => {
          if (u.select.width < 4) return;
          select(columnAt(u.select.left), columnAt(u.select.left + u.select.width));
          u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        }],
      },
    };
  }

  function draw() {
    chart?.destroy();
    layers = layersOf(view.rows, state);
    plot.hidden = !layers.length;
    reset.hidden = state.from === 0 && state.to === model.last;
    if (!layers.length) return;
    chart = new uPlot(options(plot.clientWidth), [model.times, ...stacked(layers, model.times.length)], plot);
    chart.setScale('x', { min: model.times[state.from], max: model.times[state.to] });
    cursor = null;
    drawLegend();
    say();
  }

  const redraw = oncePerFrame(draw);
  new ResizeObserver(() => chart && chart.width !== plot.clientWidth && redraw()).observe(plot);
  onTheme(redraw);
  state.listen((changed) => !(changed.size === 1 && changed.has('flame')) && redraw());
  requestAnimationFrame(draw);
  return el('section', { id: 'evolution', 'aria-labelledby': 'evolution-title' },
    el('div', { class: 'title' }, el('h2', { id: 'evolution-title' }, 'Evolution'), reset,
      el('p', { class: 'help', id: 'plot-help' },
        'Drag to select a time; everything below then speaks of it. Keys: \u2190 \u2192 move, Shift extends, Enter selects, Esc shows all.')),
    readout, el('div', { class: 'chart' }, plot, legend));
}

// Two runs on one clock: seconds since each began.
export function comparison(model, state) {
  const sides = [decodeSide(model.data.before), decodeSide(model.data.after)];
  const plot = el('div', { class: 'plot', id: 'plot', role: 'img', 'aria-label': 'What both runs held, over the time since each began' });
  const sameRun = model.data.same_run;
  const shown = sameRun ? [sides[1]] : sides;
  if (shown.every((side) => side.times.length < 2)) return null;
  let chart;

  function draw() {
    const joined = uPlot.join(shown.map((side) => [side.seconds, side.total[state.measure]]));
    const colours = shown.map((_, i) => themeColour(sameRun || i ? 'after' : 'before'));
    chart?.destroy();
    chart = new uPlot({
      width: plot.clientWidth, height: HEIGHT, padding: [12, 16, 0, 0], legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false } },
      scales: { x: { time: false }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
      axes: [axis((_, splits) => splits.map((value) => format.duration(value)), { space: 90, size: 30 }), valueAxis(state.measure)],
      series: [{}, ...shown.map((_, i) => ({
        stroke: colours[i], width: 2, fill: alpha(colours[i], 0.12), spanGaps: true, points: { show: false },
      }))],
    }, joined, plot);
  }

  const redraw = oncePerFrame(draw);
  new ResizeObserver(() => chart && chart.width !== plot.clientWidth && redraw()).observe(plot);
  onTheme(redraw);
  state.listen((changed) => changed.has('measure') && redraw());
  requestAnimationFrame(draw);
  return el('section', { id: 'evolution', 'aria-labelledby': 'evolution-title' },
    el('div', { class: 'title' }, el('h2', { id: 'evolution-title' }, sameRun ? 'Evolution' : 'Both runs, since each began')), plot);
}
