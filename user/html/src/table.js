// SPDX-License-Identifier: GPL-2.0-or-later
// The rows, sorted. Only those in sight are elements, so that thousands of them scroll at once.
import { el, oncePerFrame } from './dom.js';
import * as format from './format.js';
import { verdictBadge } from './header.js';
import { change, held, stateName, VERDICTS } from './rows.js';
import { siteDetail, groupDetail } from './detail.js';
import { keep } from './live.js';
import { sparkline } from './spark.js';

const ROW = 46;
const OVERSCAN = 8;
const PAGE = 10;

// Every stack comes from there.
const START_UP = new Set(['_start', '__libc_start_main', '__libc_start_call_main', 'start_thread', 'clone', 'clone3', '__clone3']);

function stackCell(row, model) {
  const [site] = row.sites;
  const several = row.sites.length > 1;
  const callers = several ? '' : site.stack.slice(site.titleAt + 1, site.titleAt + 8)
    .filter((frame) => !START_UP.has(frame.name)).map((frame) => frame.name.replace(/\(.*/s, '')).join(' \u2190 ');
  const second = several ? format.many(row.sites.length, 'call stack') : callers && `\u2190 ${callers}`;
  return [
    el('span', { class: 'first' }, el('span', { class: 'function', title: row.title }, row.title),
      !several && site.title.source ? el('span', { class: 'source', title: site.title.source }, site.title.sourceShort) : null),
    el('span', { class: 'second' },
      model.processes.length > 1 && site.comm ? el('span', { class: 'comm' }, site.comm) : null,
      site.kind ? el('span', { class: 'comm' }, site.kind) : null, second),
  ];
}

function signed(value, measure) {
  const kind = value > 0 ? 'more' : value < 0 ? 'less' : 'dim';
  return el('span', { class: kind }, value ? format.amount(value, measure, true) : '0');
}

const NUMBER = { number: true };

function reportColumns(model, state) {
  const evolution = [
    { key: 'trend', label: 'Trend', width: 132, 
      cell: (row) => (row.sites.some((site) => site.pastUnknown) ? el('span', { class: 'dim' }, 'not known')
        : sparkline(row.series.bytes, 116, 30, state.from, state.to)) },
    { key: 'change', label: 'Change', hint: 'over the selected time', width: 104, ...NUMBER,
      value: (row) => change(row, state), cell: (row) => signed(change(row, state), state.measure) },
    { key: 'growth', label: 'Growth', hint: 'median slope (Theil\u2013Sen) of the whole time', width: 124, ...NUMBER,
      value: (row) => row.trend?.bytes_per_s ?? 0, cell: (row) => (row.trend ? format.rate(row.trend.bytes_per_s) : '') },
    { key: 'integral', label: 'Integral', hint: 'bytes held, times how long', width: 104, ...NUMBER,
      value: (row) => row.trend?.integral_byte_s ?? 0, cell: (row) => (row.trend ? format.integral(row.trend.integral_byte_s) : '') },
    { key: 'verdict', label: 'Verdict', width: 116,
      value: (row) => (VERDICTS.length - VERDICTS.indexOf(row.trend?.verdict ?? 'too-early')) * 1e15 +
        (row.trend?.bytes_per_s ?? 0), cell: (row) => verdictBadge(row.trend?.verdict, row.trend?.evidence) },
  ];
  const [trend, ...rest] = evolution;
  return [
    { key: 'name', label: 'Call stack', value: (row) => row.title.toLowerCase(), ascending: true, cell: (row) => stackCell(row, model) },
    ...(model.evolves ? [trend] : []),
    { key: 'bytes', label: 'Bytes', width: 98, ...NUMBER, value: (row) => row.series.bytes[state.to],
      cell: (row) => format.bytes(row.series.bytes[state.to]), share: (row, totals) => held(row, state) / totals[state.measure] },
    { key: 'blocks', label: 'Blocks', width: 84, ...NUMBER, value: (row) => row.series.blocks[state.to],
      cell: (row) => format.count(row.series.blocks[state.to]) },
    ...(model.evolves ? rest : []),
  ];
}

const STATES = ['new', 'grown', 'gone', 'shrunk', 'same'];

function diffColumns(model, state) {
  const difference = (measure) => ({
    key: measure === 'bytes' ? 'change' : 'change-blocks', label: measure === 'bytes' ? '\u0394 bytes' : '\u0394 blocks',
    width: 112, ...NUMBER, value: (row) => change(row, state, measure), cell: (row) => signed(change(row, state, measure), measure),
  });
  const at = (key, label, column) => ({
    key, label, width: 108, ...NUMBER, value: (row) => row.series[state.measure][column],
    cell: (row) => format.amount(row.series[state.measure][column], state.measure),
  });
  const verdict = (key, label, trendOf) => ({
    key, label, width: 112, value: (row) => -VERDICTS.indexOf(trendOf(row)?.verdict ?? 'too-early'),
    cell: (row) => verdictBadge(trendOf(row)?.verdict, trendOf(row)?.evidence),
  });
  const judged = model.sites.some((site) => site.trend_before) && model.sites.some((site) => site.trend);
  return [
    { key: 'name', label: 'Call stack', value: (row) => row.title.toLowerCase(), ascending: true, cell: (row) => stackCell(row, model) },
    { key: 'state', label: 'State', width: 92, value: (row) => -STATES.indexOf(stateName(row, state)),
      cell: (row) => el('span', { class: `verdict is-${stateName(row, state)}` }, stateName(row, state)) },
    difference('bytes'), difference('blocks'), at('before', 'Before', 0), at('after', 'After', 1),
    ...(judged ? [verdict('was', 'Was', (row) => row.sites.length === 1 && row.sites[0].trend_before),
      verdict('is', 'Is', (row) => row.sites.length === 1 && row.sites[0].trend)] : []),
  ];
}

// After a fix, what shrank comes first.
const shrinks = (model) => model.sites.reduce((sum, site) => sum + site.series.bytes[1] - site.series.bytes[0], 0) < 0;

export function table(model, state, view) {
  const columns = model.kind === 'diff' ? diffColumns(model, state) : reportColumns(model, state);
  const suspect = model.sites.some((site) => ['leaking', 'growing'].includes(site.trend?.verdict));
  const sort = model.kind === 'diff' ? { key: 'change', down: !shrinks(model) } : { key: suspect ? 'verdict' : 'bytes', down: true };
  const expanded = new Map(); // row key -> height of its detail, 0 until it was measured
  let rows = [];
  let cells = new Map(); // row key -> elements
  let totals = {};
  let active = 0;

  const head = el('tr', {}, columns.map((column) => {
    const cell = el('th', { scope: 'col', class: column.number ? 'number' : null, 'data-key': column.key, 'data-column': column.key });
    if (column.width) cell.style.width = `${column.width}px`;
    cell.append(column.value
      ? el('button', { type: 'button', title: column.hint ?? `Sort by ${column.label}`, onclick: () => sortBy(column) },
        column.label, el('span', { class: 'arrow', 'aria-hidden': 'true' }))
      : el('span', {}, column.label));
    return cell;
  }));
  const body = el('tbody');
  const grid = el('table', { class: 'rows', 'aria-label': 'Call stacks' }, el('thead', {}, head), body);
  const scroll = el('div', { class: 'scroll', id: 'rows' }, grid);
  const status = el('p', { class: 'help', id: 'row-count', 'aria-live': 'polite' });
  const [above, below] = ['above', 'below'].map(() => el('tr', { class: 'spacer', 'aria-hidden': 'true' }, el('td', { colspan: String(columns.length) })));

  function sortBy(column) {
    if (sort.key === column.key) sort.down = !sort.down;
    else Object.assign(sort, { key: column.key, down: !column.ascending });
    arrange();
  }

  function arrange() {
    const column = columns.find(({ key }) => key === sort.key);
    const keyed = view.rows.filter((row) => model.kind === 'diff' || row.series[state.measure][state.to] || state.from || state.group !== 'site' ||
      row.peak).map((row) => [column.value(row), row.series.bytes[state.to], row]);
    const order = sort.down ? -1 : 1;
    keyed.sort(([a, heldA], [b, heldB]) => (a < b ? -order : a > b ? order : heldB - heldA));
    rows = keyed.map(([, , row]) => row);
    totals = { bytes: 0, blocks: 0 };
    for (const row of rows) {
      totals.bytes += row.series.bytes[state.to];
      totals.blocks += row.series.blocks[state.to];
    }
    columns.forEach((shown, i) => shown.value &&
      head.children[i].setAttribute('aria-sort', shown === column ? (sort.down ? 'descending' : 'ascending') : 'none'));
    grid.setAttribute('aria-rowcount', String(rows.length + 1));
    const noun = { site: 'call stack', file: 'place' }[state.group] ?? state.group;
    status.textContent = `${format.many(rows.length, noun).replace('processs', 'processes')}, ${format.bytes(totals.bytes)} in ${format.many(totals.blocks, 'block')}`;
    cells = new Map();
    active = 0;
    scroll.scrollTop = 0;
    render();
  }

  function rowElements(row) {
    const known = cells.get(row.key);
    if (known) return known;
    const open = expanded.has(row.key);
    const line = el('tr', { class: open ? 'row is-open' : 'row' }, columns.map((column, i) => {
      const cell = el('td', { class: column.number ? 'number' : null, 'data-column': column.key }, i ? column.cell(row) : null);
      if (!i) {
        cell.append(el('button', { type: 'button', class: 'expand', 'aria-expanded': String(open), 'data-key': row.key, onclick: () => toggle(row) },
          el('span', { class: 'mark', 'aria-hidden': 'true' }), el('span', { class: 'lines' }, column.cell(row))));
      }
      const share = column.share?.(row, totals);
      if (share > 0.02) {
        const bar = el('span', { class: 'bar', 'aria-hidden': 'true' });
        bar.style.width = `${Math.min(share, 1) * 100}%`;
        cell.append(bar);
      }
      return cell;
    }));
    line.addEventListener('click', (event) => !event.target.closest('button') && !String(getSelection()) && toggle(row));
    const made = [line];
    if (open) {
      const detail = row.sites.length === 1 ? siteDetail(row.sites[0], model, state, view) : groupDetail(row, model, state);
      made.push(el('tr', { class: 'detail' }, el('td', { colspan: String(columns.length) }, detail)));
    }
    cells.set(row.key, made);
    return made;
  }

  const heightOf = (row) => ROW + (expanded.get(row.key) ?? 0);

  // First and last row in sight, and how much is above and below them.
  function sight() {
    const top = scroll.scrollTop - OVERSCAN * ROW;
    const bottom = scroll.scrollTop + scroll.clientHeight + OVERSCAN * ROW;
    let y = 0, first = 0, before = 0;
    while (first < rows.length && y + heightOf(rows[first]) < top) y += heightOf(rows[first++]);
    before = y;
    let last = first;
    while (last < rows.length && y < bottom) y += heightOf(rows[last++]);
    let after = 0;
    for (let i = last; i < rows.length; i++) after += heightOf(rows[i]);
    return { first, last, before, after };
  }

  let showsAll = false; // on paper

  function render() {
    const { first, last, before, after } = showsAll ? { first: 0, last: Math.min(rows.length, 100), before: 0, after: 0 } : sight();
    const focused = document.activeElement?.closest?.('.expand')?.dataset.key;
    above.firstChild.style.height = `${before}px`;
    below.firstChild.style.height = `${after}px`;
    const seen = rows.slice(first, last).flatMap((row, i) => {
      const elements = rowElements(row);
      elements[0].setAttribute('aria-rowindex', String(first + i + 2));
      elements[0].classList.toggle('is-odd', (first + i) % 2 === 1);
      elements[0].querySelector('.expand').tabIndex = first + i === active ? 0 : -1;
      return elements;
    });
    body.replaceChildren(above, ...seen, below);
    if (!rows.length) body.replaceChildren(el('tr', {}, el('td', { class: 'nothing', colspan: String(columns.length) }, 'Nothing matches.')));
    if (focused) body.querySelector(`.expand[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    measure();
  }

  function measure() {
    let moved = false;
    for (const detail of body.querySelectorAll('tr.detail')) {
      const { key } = detail.previousSibling.querySelector('.expand').dataset;
      const { height } = detail.getBoundingClientRect();
      moved ||= expanded.get(key) !== height;
      expanded.set(key, height);
    }
    if (moved && !showsAll) later();
  }

  function toggle(row) {
    if (!expanded.delete(row.key)) expanded.set(row.key, 0);
    cells.delete(row.key);
    active = rows.indexOf(row);
    const button = () => body.querySelector(`.expand[data-key="${CSS.escape(row.key)}"]`);
    const had = button() === document.activeElement;
    render();
    if (had) button()?.focus({ preventScroll: true });
  }

  function moveTo(index) {
    active = Math.min(Math.max(index, 0), rows.length - 1);
    let y = 0;
    for (let i = 0; i < active; i++) y += heightOf(rows[i]);
    const header = head.getBoundingClientRect().height;
    if (y < scroll.scrollTop) scroll.scrollTop = y;
    else if (y + ROW > scroll.scrollTop + scroll.clientHeight - header) scroll.scrollTop = y + ROW - scroll.clientHeight + header;
    render();
    body.querySelector('.expand[tabindex="0"]')?.focus({ preventScroll: true });
  }

  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: PAGE, PageUp: -PAGE, Home: -Infinity, End: Infinity };
  body.addEventListener('keydown', (event) => {
    if (!(event.key in steps) || !event.target.closest('.expand')) return;
    event.preventDefault();
    moveTo(active + steps[event.key]);
  });

  const later = oncePerFrame(render);
  scroll.addEventListener('scroll', later, { passive: true });
  addEventListener('resize', later);
  addEventListener('beforeprint', () => {
    showsAll = true;
    render();
  });
  addEventListener('afterprint', () => {
    showsAll = false;
    render();
  });
  view.reveal = (row) => {
    const index = rows.findIndex(({ key }) => key === row.key);
    if (index < 0) return;
    if (!expanded.has(row.key)) {
      expanded.set(row.key, 0);
      cells.delete(row.key);
    }
    document.getElementById('sites').scrollIntoView({ block: 'start' });
    moveTo(index);
  };
  keep('table', () => ({ sort, open: [...expanded], top: scroll.scrollTop, active: rows[active]?.key }), (kept) => {
    if (columns.some(({ key }) => key === kept.sort.key)) Object.assign(sort, kept.sort);
    for (const [key, height] of kept.open) expanded.set(key, height);
    arrange();
    active = Math.max(rows.findIndex(({ key }) => key === kept.active), 0);
    scroll.scrollTop = kept.top;
    render();
  });
  state.listen((changed) => !(changed.size === 1 && (changed.has('flame') || changed.has('calls'))) && arrange());
  requestAnimationFrame(arrange);
  return el('section', { id: 'sites', 'aria-labelledby': 'sites-title' },
    el('div', { class: 'title' }, el('h2', { id: 'sites-title' }, 'Call stacks'), status), scroll);
}
