// SPDX-License-Identifier: GPL-2.0-or-later
// From sites to rows: those that the reader's choices leave, grouped as he wants them.

export const VERDICTS = ['leaking', 'growing', 'churning', 'plateau', 'one-off', 'steady', 'too-early'];

export const GROUPS = [
  ['site', 'call stack'],
  ['function', 'function'],
  ['file', 'file:line'],
  ['module', 'module'],
  ['process', 'process'],
  ['container', 'container'],
  ['host', 'host'],
];

export const processName = (process) => `${process.comm} (${process.pid})${process.host ? ` on ${process.host}` : ''}`;

export function containerName(process) {
  const container = process?.container;
  if (!container) return '(no container)';
  if (!container.pod) return container.name ?? container.id;
  return `${container.namespace ?? '?'}/${container.pod}/${container.name ?? '?'}`;
}

const nameOf = {
  function: (site) => site.stack[site.titleAt].name,
  file: (site) => site.title.source || site.title.name,
  module: (site) => site.title.module ?? '(unknown)',
  process: (site, model) => {
    const process = model.processes[site.process];
    return process ? processName(process) : site.comm;
  },
  container: (site, model) => containerName(model.processes[site.process]),
  host: (site, model) => model.processes[site.process]?.host ?? '(no longer there)',
};

const haystackOf = (site) => (site.haystack ??= [
  site.comm, site.id, site.trend?.verdict, site.kind,
  ...site.stack.flatMap((frame) => [frame.name, frame.source, frame.module]),
].filter(Boolean).join('\n').toLowerCase());

export const wordsOf = (query) => query.toLowerCase().split(/\s+/).filter(Boolean);

export function visibleSites(model, state) {
  const words = wordsOf(state.query);
  return model.sites.filter((site) =>
    site.family === state.family &&
    (state.process === '' || String(site.process) === state.process) &&
    words.every((word) => haystackOf(site).includes(word)));
}

const add = (sum, values) => {
  for (let i = 0; i < sum.length; i++) sum[i] += values[i];
  return sum;
};

function trendOf(sites) {
  if (sites.length === 1 || !sites[0].trend) return sites[0].trend ?? null;
  const trends = sites.map((site) => site.trend).filter(Boolean);
  const worst = Math.min(...trends.map((trend) => VERDICTS.indexOf(trend.verdict)));
  return {
    verdict: VERDICTS[worst],
    bytes_per_s: trends.reduce((sum, trend) => sum + trend.bytes_per_s, 0),
    integral_byte_s: trends.reduce((sum, trend) => sum + trend.integral_byte_s, 0),
    evidence: '',
  };
}

function rowOf(key, title, sites) {
  const series = sites.length === 1 ? sites[0].series : {
    bytes: sites.reduce((sum, site) => add(sum, site.series.bytes), new Float64Array(sites[0].series.bytes.length)),
    blocks: sites.reduce((sum, site) => add(sum, site.series.blocks), new Float64Array(sites[0].series.bytes.length)),
  };
  return { key, title, sites, series, trend: trendOf(sites), peak: Math.max(...series.bytes) };
}

// The same in the next report of a run.
function keyOf(site, model) {
  const key = `${model.processes[site.process]?.pid ?? site.comm}/${site.id}/${site.kind ?? ''}`;
  model.keys ??= new Map();
  model.keys.set(key, (model.keys.get(key) ?? 0) + 1);
  return `${key}/${model.keys.get(key)}`;
}

export function makeRows(model, state, sites) {
  if (state.group === 'site')
    return sites.map((site) => (site.row ??= rowOf(keyOf(site, model), site.title.name, [site])));
  const groups = new Map();
  for (const site of sites) {
    const name = nameOf[state.group](site, model);
    if (groups.has(name)) groups.get(name).push(site);
    else groups.set(name, [site]);
  }
  return [...groups].map(([name, members]) => rowOf(name, state.group === 'function' ? members[0].title.name : name, members));
}

export const held = (row, state) => row.series[state.measure][state.to];
export const change = (row, state, measure = state.measure) => row.series[measure][state.to] - row.series[measure][state.from];

export function stateName(row, state) {
  const before = row.series.bytes[state.from] + row.series.blocks[state.from];
  const after = row.series.bytes[state.to] + row.series.blocks[state.to];
  if (!before && !after) return 'same';
  if (!before) return 'new';
  if (!after) return 'gone';
  const difference = change(row, state, 'bytes') || change(row, state, 'blocks');
  return difference > 0 ? 'grown' : difference < 0 ? 'shrunk' : 'same';
}
