// SPDX-License-Identifier: GPL-2.0-or-later
// Stacks merged from their roots on: each node holds what all stacks through it hold, before and
// after. A node is as wide as the greater of the two, so that what is gone is still seen.

const node = (name, parent, frame) => ({ name, parent, frame, depth: parent ? parent.depth + 1 : 0, before: 0, after: 0, children: new Map() });

function put(from, key, name, frame) {
  let child = from.children.get(key);
  if (!child) from.children.set(key, child = node(name, from, frame));
  return child;
}

function finish(at) {
  at.list = [...at.children.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  at.height = 1 + at.list.reduce((most, child) => Math.max(most, finish(child)), 0);
  at.width = Math.max(at.list.reduce((sum, child) => sum + child.width, 0), at.own ?? 0);
  at.change = at.after - at.before;
  return at.height;
}

export function buildTree(sites, { measure, from, to, retained, severalProcesses }) {
  const root = node('all', null, null);
  for (const site of sites) {
    const values = site.series[measure];
    const before = retained ? 0 : values[from];
    const after = values[to];
    if (!before && !after) continue;
    let at = root;
    const count = (to_) => {
      to_.before += before;
      to_.after += after;
    };
    count(at);
    if (severalProcesses) count(at = put(at, `process ${site.process ?? site.comm}`, site.comm, null));
    for (let i = site.stack.length - 1; i >= 0; i--) count(at = put(at, site.stack[i].key, site.stack[i].name, site.stack[i]));
    at.own = (at.own ?? 0) + Math.max(before, after);
  }
  finish(root);
  return root;
}

// The node where a stack ends.
export function leafOf(root, site, severalProcesses) {
  let at = root;
  if (severalProcesses) at = at?.children.get(`process ${site.process ?? site.comm}`);
  for (let i = site.stack.length - 1; at && i >= 0; i--) at = at.children.get(site.stack[i].key);
  return at;
}
