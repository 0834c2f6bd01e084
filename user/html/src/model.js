// SPDX-License-Identifier: GPL-2.0-or-later
// The page's data, unpacked: sites with their frames and with one number per column and measure.
//
// A report has one column per snapshot (or group of snapshots), a difference has two: before and
// after. All that is shown is made of these.
import { fileName } from './format.js';

const [FUNCTION, OFFSET, MODULE, PLACE, FILE, LINE, INLINED, WHY, BUILD_ID] = [0, 1, 2, 3, 4, 5, 6, 7, 8];

function frameOf(row, strings) {
  const module = strings[row[MODULE]];
  const place = `${module ? fileName(module) : ''}+0x${row[PLACE]}`;
  const file = strings[row[FILE]];
  const name = strings[row[FUNCTION]];
  return {
    name: name ?? (module ? place : `0x${row[PLACE]}`),
    named: Boolean(name),
    offset: row[OFFSET],
    module,
    moduleName: module ? fileName(module) : '',
    source: file ? `${file}:${row[LINE]}` : '',
    sourceShort: file ? `${fileName(file)}:${row[LINE]}` : '',
    inlined: Boolean(row[INLINED]),
    why: strings[row[WHY]],
    buildId: strings[row[BUILD_ID]],
    key: `${name ?? place}\n${module ?? ''}`,
  };
}

// The first value and then differences; what is not given does not change any more.
function unpack(first, packed, columns) {
  const values = new Float64Array(columns);
  let value = 0;
  for (let i = first ?? columns; i < columns; i++) {
    value += packed[i - first] ?? 0;
    values[i] = value;
  }
  return values;
}

function sums(packed) {
  let value = 0;
  return packed.map((step) => (value += step));
}

const LOST = (site) => ({
  name: site.lost ? `[no stack: ${site.lost}]` : '[no stack]',
  named: false, module: null, moduleName: '', source: '', sourceShort: '', key: site.lost ?? '',
});

function siteOf(site, data, frames, columns) {
  const stack = site.stack.length ? site.stack.map((number) => frames[number]) : [LOST(site)];
  // The frame and the name that every output calls the site by: symbol/site_label.h chose them.
  const at = stack[site.label_frame] ? site.label_frame : 0;
  const made = { ...site, stack, titleAt: at, title: { ...stack[at], name: data.strings?.[site.label] ?? stack[at].name } };
  if (data.kind === 'diff') {
    made.series = {
      bytes: Float64Array.of(site.before_bytes, site.held_bytes),
      blocks: Float64Array.of(site.before_count, site.held_count),
    };
  } else if (site.bytes) {
    made.series = { bytes: unpack(site.first, site.bytes, columns), blocks: unpack(site.first, site.counts, columns) };
  } else {
    // A site for which the history had no room: nobody knows how it came about.
    made.pastUnknown = columns > 1;
    made.series = {
      bytes: new Float64Array(columns).fill(site.held_bytes),
      blocks: new Float64Array(columns).fill(site.held_count),
    };
  }
  made.comm = site.comm ?? data.processes[site.process]?.comm ?? '';
  return made;
}

function timesOf(data) {
  if (data.kind === 'diff') return [data.before.time_ms, data.after.time_ms];
  return data.times.length ? sums(data.times) : [data.time_ms];
}

export function decode(data) {
  const frames = (data.frames ?? []).map((row) => frameOf(row, data.strings));
  const times = timesOf(data).map((ms) => ms / 1000);
  const sites = (data.sites ?? []).map((site) => siteOf(site, data, frames, times.length));
  const processes = (data.processes ?? []).map((process) => process.bytes ? {
    ...process,
    series: {
      bytes: unpack(process.first, process.bytes, times.length),
      blocks: unpack(process.first, process.counts, times.length),
    },
  } : process);
  // Of those that have sites; bytes of what overlaps hold the others'.
  const families = (data.families ?? []).filter(({ name }) => sites.some((site) => site.family === name));
  return {
    data, kind: data.kind, times, sites, processes, families,
    overlaps: (family) => families.some(({ name, overlaps }) => overlaps && name === family),
    sequences: data.kind === 'report' && data.times.length ? sums(data.sequences) : [data.sequence],
    labels: data.labels ?? [],
    evolves: data.kind === 'report' && times.length > 1,
    last: times.length - 1,
  };
}

// One side of a difference: what it held in sum, over the seconds since it began.
export function decodeSide(side) {
  const times = sums(side.times).map((ms) => ms / 1000);
  const total = { bytes: new Float64Array(times.length), blocks: new Float64Array(times.length) };
  for (const series of side.series) {
    const bytes = unpack(series.first, series.bytes, times.length);
    const blocks = unpack(series.first, series.counts, times.length);
    for (let i = 0; i < times.length; i++) {
      total.bytes[i] += bytes[i];
      total.blocks[i] += blocks[i];
    }
  }
  return { ...side, times, seconds: times.map((time) => time - times[0]), total };
}
