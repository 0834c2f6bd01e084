// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers as people read them. Bytes count in powers of 1024, as the terminal does.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
const MINUS = '\u2212';

const sign = (value, plus) => (value < 0 ? MINUS : plus && value > 0 ? '+' : '');

function digits(value) {
  if (value >= 100 || Number.isInteger(value)) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export function bytes(value, plus = false) {
  let size = Math.abs(value);
  let unit = 0;
  while (size >= 1023.5 && unit + 1 < UNITS.length) {
    size /= 1024;
    unit++;
  }
  return `${sign(value, plus)}${unit ? digits(size) : Math.round(size)} ${UNITS[unit]}`;
}

export const count = (value, plus = false) =>
  sign(value, plus) + Math.round(Math.abs(value)).toLocaleString('en-US');

// "1 block", "2 blocks".
export const many = (value, what) => `${count(value)} ${what}${value === 1 ? '' : 's'}`;

export const percent = (share) =>
  share > 0 && share < 0.001 ? '<0.1 %' : `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;

export const amount = (value, measure, plus) => (measure === 'bytes' ? bytes(value, plus) : count(value, plus));

export const rate = (bytesPerSecond) => {
  const per = [[1, 's'], [60, 'min'], [3600, 'h'], [86400, 'day']];
  const [seconds, unit] = per.find(([s]) => Math.abs(bytesPerSecond) * s >= 1024) ?? per[3];
  return bytesPerSecond ? `${bytes(bytesPerSecond * seconds, true)}/${unit}` : '0';
};

// Bytes times seconds.
export const integral = (byteSeconds) =>
  byteSeconds >= 3600 * 1024 ? `${bytes(byteSeconds / 3600)}·h` : `${bytes(byteSeconds)}·s`;

export function duration(seconds) {
  if (seconds < 60) return `${digits(seconds)} s`;
  const steps = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
  const at = steps.findIndex(([length]) => seconds >= length);
  const [length, unit] = steps[at];
  const rest = steps[at + 1] ? Math.floor((seconds % length) / steps[at + 1][0]) : 0;
  return `${Math.floor(seconds / length)} ${unit}${rest ? ` ${rest} ${steps[at + 1][1]}` : ''}`;
}

const two = (number) => String(number).padStart(2, '0');

export const clock = (seconds) => {
  const at = new Date(seconds * 1000);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
};

export const day = (seconds) => {
  const at = new Date(seconds * 1000);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
};

export const dateTime = (seconds) => `${day(seconds)} ${clock(seconds)}`;

export const fileName = (path) => path.slice(path.lastIndexOf('/') + 1) || path;
