// SPDX-License-Identifier: GPL-2.0-or-later
// Makes report.html: one script and one style, each let in by its hash, and nothing else.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

async function bundle(entry) {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    charset: 'ascii',
    target: ['chrome100', 'firefox100', 'safari15'],
    format: entry.endsWith('.js') ? 'iife' : undefined,
    legalComments: 'none',
    write: false,
  });
  return outputFiles[0].text.trim();
}

const script = await bundle('src/main.js');
const style = await bundle('src/style.css');
if (/<\/(script|style)|<!--/i.test(script + style)) throw new Error('the bundle would end its own element');
// A test compares this with the sources: the bundle must be theirs.
const sources = createHash('sha256');
for (const name of readdirSync('src').sort()) sources.update(readFileSync(`src/${name}`));
const licence = readFileSync('node_modules/uplot/LICENSE', 'utf8').trim();
const parts = {
  LICENCES: `leakmon: GPL-2.0-or-later.\n\nuPlot 1.6.32, https://github.com/leeoniya/uPlot:\n\n${licence}`,
  POLICY: `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:; connect-src 'self'; ` +
    `base-uri 'none'; form-action 'none'`,
  SOURCES: sources.digest('hex'),
  STYLE: style,
  SCRIPT: script,
};
const page = readFileSync('src/page.html', 'utf8').replace(/@(LICENCES|POLICY|SOURCES|STYLE|SCRIPT)@/g, (_, name) => parts[name]);
if (page.split('LEAKMON_DATA').length !== 2) throw new Error('the page must have one place for its data');
writeFileSync('report.html', page);
console.log(`report.html: ${(page.length / 1024).toFixed(0)} KiB`);
