// SPDX-License-Identifier: GPL-2.0-or-later
// What a site is called by: the rule of symbol/site_label.h, for every output the same.

const LIBRARY = /^(std::|__gnu_cxx::|operator new|alloc::|core::|__rust_|__rdl_|<alloc::|<core::|<std::|hashbrown::)/;
const RUNTIME = new RegExp('^(libc\\.so\\.|libc-2\\.|ld-linux|ld-musl|ld-2\\.|libgcc_s\\.|libstdc\\+\\+\\.so|'
  + 'libc\\+\\+\\.so|libc\\+\\+abi|libm\\.so\\.|libpthread)');
const WRAPPER = new RegExp('((malloc|calloc|realloc|zalloc|strdup|palloc|memdup|strndup|memalign)|'
  + '^(g_slice_alloc|ngx_alloc|AllocSetAlloc|MemoryContextAlloc|xalloc))[0-9_]*(_n)?$', 'i');

const lastPart = (name) => name.slice(0, (name.search(/[(<]/) + 1 || name.length + 1) - 1).replace(/^.*:/s, '');

const isTheUsers = ({ name, named, moduleName }) => !RUNTIME.test(moduleName ?? '')
  && (named === false || (!LIBRARY.test(name) && !WRAPPER.test(lastPart(name))));

// The place of the first frame that is the user's; where all are others', of the first with a name.
export function titleAtOf(stack) {
  const own = stack.findIndex(isTheUsers);
  return own >= 0 ? own : Math.max(0, stack.findIndex(({ named }) => named !== false));
}
