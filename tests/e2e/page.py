#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens pages of leakmon in headless Chromium and operates them as a reader would.

page.py REPORT DIFFERENCE RETAIN: pages of the runs that test_e2e_html.c makes, whose numbers it
knows, and what `leakmon retain --format json` said of the same process.
Prints a line per check; ends with 1 at the first that fails. Nothing is asserted about time, but
what a page of 1,000 call stacks and 500 snapshots takes is printed.
"""
import http.server
import json
import re
import sys
import threading
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

GOES = 16
GO_BYTES, GO_BLOCKS = 18288, 18  # tests/workloads/leak.c
HOSTILE = '<b>x\\u{202e}&"\''  # the process' name, as it must be shown


def browser():
    options = webdriver.ChromeOptions()
    # Root has no user namespace to put Chromium's sandbox into; the page is our own.
    for argument in ('--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--window-size=1400,1000'):
        options.add_argument(argument)
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
    options.set_capability('timeouts', {'script': 60000})
    return webdriver.Chrome(service=Service('/usr/bin/chromedriver'), options=options)


class Page:
    def __init__(self, driver, path, has_rows=True):
        self.driver = driver
        driver.get_log('performance')
        self.since = time.monotonic()
        driver.get(f'file://{path}')
        self.wait(lambda: self.text('#flame-status') and (self.rows() or not has_rows))
        self.opened_s = time.monotonic() - self.since

    def wait(self, condition, what='something'):
        WebDriverWait(self.driver, 20, 0.02).until(lambda _: condition(), f'waited in vain for {what}')

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.run('return document.querySelector(arguments[0])?.textContent ?? ""', selector)

    def rows(self):
        """The rows in sight: name, and every cell's text by its column's key."""
        return self.run('''
            const keys = [...document.querySelectorAll('.rows th')].map((head) => head.dataset.key);
            return [...document.querySelectorAll('.rows tr.row')].map((row) => Object.fromEntries(
                [...row.cells].map((cell, i) => [keys[i], i ? cell.textContent :
                    cell.querySelector('.first .function').textContent])));''')

    def names(self):
        return [row['name'] for row in self.rows()]

    def sort_by(self, key):
        self.run('document.querySelector(`th[data-key="${arguments[0]}"] button`).click()', key)
        return self.run('return document.querySelector(`th[data-key="${arguments[0]}"]`).getAttribute("aria-sort")', key)

    def search(self, query, rows):
        field = self.one('#search')
        field.clear()
        # clear() tells nobody.
        field.send_keys(query or 'x', *([] if query else [Keys.BACKSPACE]))
        self.wait(lambda: len(self.rows()) == rows, f'{rows} rows for "{query}"')

    def press(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def frame(self):
        """Lets the page draw."""
        self.driver.execute_async_script('requestAnimationFrame(() => requestAnimationFrame(arguments[0]))')

    def nothing_went_wrong(self):
        messages = [entry['message'] for entry in self.driver.get_log('browser')]
        expect(messages, [])
        requests = [json.loads(entry['message'])['message'] for entry in self.driver.get_log('performance')]
        asked = [message['params']['request']['url'] for message in requests if message['method'] == 'Network.requestWillBeSent']
        expect([url for url in asked if not url.startswith(('file://', 'data:'))], [])
        expect(self.run('return performance.getEntriesByType("resource").map(({ name }) => name)'), [])


def expect(actual, wanted):
    if actual != wanted:
        raise AssertionError(f'{actual!r} is not {wanted!r}')


def expect_in(part, whole):
    if part not in whole:
        raise AssertionError(f'{part!r} is not in {whole!r}')


def kib(number):
    """As the page writes a number of bytes."""
    if number < 1024:
        return f'{number} B'
    size, unit = (number / 1024, 'KiB') if number < 1023.5 * 1024 else (number / 1024 ** 2, 'MiB')
    return f'{size:.0f} {unit}' if size >= 100 or size == int(size) else f'{size:.1f} {unit}' if size >= 10 else f'{size:.2f} {unit}'


def the_header_says_what_was_measured(page):
    expect_in(HOSTILE, page.text('h1'))
    expect(page.run('return document.querySelectorAll("#page b, #page img").length'), 0)
    expect_in('Exact', page.text('header .badge'))
    expect_in(kib(GOES * GO_BYTES), page.text('.figures'))
    expect_in(f'{GOES * GO_BLOCKS} blocks', page.text('.figures'))
    expect_in('3 of 3 call stacks grow', page.text('.answer'))


def rows_are_exact_and_sorted(page):
    rows = {row['name']: row for row in page.rows()}
    expect(sorted(rows), ['leak_a', 'leak_b', 'leak_c'])
    for name, count, size in (('leak_a', 10, 100), ('leak_b', 5, 1000), ('leak_c', 3, 4096)):
        expect(rows[name]['bytes'], kib(GOES * count * size))
        expect(rows[name]['blocks'], str(GOES * count))
        expect(rows[name]['change'], '+' + kib((GOES - 1) * count * size))
        # The steps are equal; when they came, the machine decides.
        expect_in(rows[name]['verdict'], ('leaking', 'growing'))
    expect(page.sort_by('bytes'), 'descending')
    expect(page.names(), ['leak_c', 'leak_b', 'leak_a'])
    expect(page.sort_by('bytes'), 'ascending')
    expect(page.names(), ['leak_a', 'leak_b', 'leak_c'])
    expect(page.sort_by('blocks'), 'descending')
    expect(page.names(), ['leak_a', 'leak_b', 'leak_c'])
    for key in ('change', 'growth', 'integral', 'verdict'):
        expect(page.sort_by(key), 'descending')
        expect(page.names(), ['leak_c', 'leak_b', 'leak_a'])
    expect(page.sort_by('name'), 'ascending')
    expect(page.run('return document.querySelectorAll(".rows th[aria-sort=none]").length'), 6)


def the_search_narrows_everything(page):
    page.run('document.activeElement.blur()')
    page.press('/')
    expect(page.run('return document.activeElement.id'), 'search')
    page.search('LEAK_b', 1)
    expect(page.names(), ['leak_b'])
    expect_in('1 call stack,', page.text('#row-count'))
    expect_in(kib(GOES * 5000), page.text('#flame-status'))
    page.search('leak.c repeat', 3)
    page.search('no such thing', 0)
    expect_in('Nothing matches', page.text('.rows'))
    page.search('', 3)


def a_row_opens_and_moves_by_keyboard(page):
    page.run('document.querySelector(".expand[tabindex=\\"0\\"]").focus()')
    page.press(Keys.ENTER)
    page.frame()
    expect(page.run('return document.activeElement.getAttribute("aria-expanded")'), 'true')
    stack = page.text('tr.detail .stack')
    for part in ('leak_a', 'leak.c:', 'repeat', 'main'):
        expect_in(part, stack)
    expect_in('160 blocks', page.text('tr.detail dl'))
    page.press(Keys.ARROW_DOWN)
    expect(page.run('return document.activeElement.closest("tr").querySelector(".function").textContent'), 'leak_b')
    page.press(Keys.ARROW_UP, Keys.ENTER)
    page.frame()
    expect(len(page.all('tr.detail')), 0)
    expect(page.run('return document.activeElement.getAttribute("aria-expanded")'), 'false')


def whole_time(page):
    return page.run('return document.getElementById("whole").hidden')


def the_evolution_selects_a_time(page):
    expect_in(f'snapshot {GOES}', page.text('#readout'))
    expect_in(kib(GOES * GO_BYTES), page.text('#readout'))
    page.run('document.getElementById("plot").focus()')
    page.press(Keys.HOME)
    expect_in(kib(GO_BYTES), page.text('#readout'))
    page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    expect_in(f'snapshot 3  \u00b7  {kib(3 * GO_BYTES)}', page.text('#readout'))
    # From snapshot 3 to 7, by keyboard: the rows speak of these.
    ActionChains(page.driver).key_down(Keys.SHIFT).send_keys(Keys.ARROW_RIGHT * 4).key_up(Keys.SHIFT).send_keys(Keys.ENTER).perform()
    page.wait(lambda: not whole_time(page), 'the selection')
    page.wait(lambda: page.rows()[0]['change'] == '+' + kib(4 * 1000), 'the change between snapshots 3 and 7')
    expect(page.rows()[0]['bytes'], kib(7 * 1000))
    page.run('document.getElementById("plot").focus()')
    page.press(Keys.ESCAPE)
    page.wait(lambda: whole_time(page) and page.rows()[0]['bytes'] == kib(GOES * 1000), 'the whole time')
    # The same with the mouse.
    page.frame()
    page.run('scrollTo(0, 0)')
    over = page.one('#plot .u-over')
    width = over.size['width']
    ActionChains(page.driver).move_to_element_with_offset(over, -width // 4, 0).click_and_hold() \
        .move_by_offset(width // 3, 0).release().perform()
    page.wait(lambda: not whole_time(page), 'the selection by mouse')
    page.run('document.getElementById("whole").click()')
    page.wait(lambda: whole_time(page), 'the whole time again')
    page.frame()


def groups_and_measures_can_be_chosen(page):
    page.run('''const list = document.querySelector('.toolbar select');
        list.value = 'module';
        list.dispatchEvent(new Event('change'));''')
    page.wait(lambda: len(page.rows()) == 1, 'one module')
    expect_in('3 call stacks', page.text('.second'))
    expect(page.rows()[0]['bytes'], kib(GOES * GO_BYTES))
    page.run('''const list = document.querySelector('.toolbar select');
        list.value = 'site';
        list.dispatchEvent(new Event('change'));''')
    page.wait(lambda: len(page.rows()) == 3, 'three call stacks')
    page.run('document.querySelector(\'input[value="blocks"]\').click()')
    page.wait(lambda: page.text('#flame-status') == f'all: {GOES * GO_BLOCKS}, 100 % of all', 'blocks')
    page.run('document.querySelector(\'input[value="bytes"]\').click()')


def the_flame_graph_zooms(page):
    page.run('''document.getElementById('flame').scrollIntoView({ behavior: 'instant' });
        document.getElementById('flame-canvas').focus({ preventScroll: true })''')
    expect_in(f'all: {kib(GOES * GO_BYTES)}, 100 % of all', page.text('#flame-status'))
    for _ in range(12):  # down the widest branch, to its leaf
        page.press(Keys.ARROW_DOWN)
    expect_in(f'leak_c: {kib(GOES * 3 * 4096)}, 67 % of all', page.text('#flame-status'))
    expect_in('leak_c', page.run('return document.getElementById("flame-canvas").getAttribute("aria-label")'))
    page.press(Keys.ARROW_LEFT)
    expect_in('leak_b: ', page.text('#flame-status'))
    page.press(Keys.ENTER)
    page.frame()
    expect(page.run('return document.getElementById("flame-reset").hidden'), False)
    page.press(Keys.ESCAPE)
    page.frame()
    expect(page.run('return document.getElementById("flame-reset").hidden'), True)
    # The row in the middle of the graph's last line is leak_c's, by mouse.
    canvas = page.one('#flame-canvas')
    ActionChains(page.driver).move_to_element_with_offset(canvas, canvas.size['width'] // 4, canvas.size['height'] // 2 - 10).click().perform()
    page.frame()
    expect_in('leak_c: ', page.text('#flame-status'))
    page.run('document.getElementById("flame-reset").click()')
    page.run('document.querySelector(\'input[value="change"]\').click()')
    page.wait(lambda: page.text('#flame-status').startswith(f'all: +{kib((GOES - 1) * GO_BYTES)}'), 'the change')
    page.run('document.querySelector(\'input[value="retained"]\').click()')


def background(page):
    return [int(part) for part in re.findall(r'\d+', page.run('return getComputedStyle(document.documentElement).backgroundColor'))][:3]


def callers_and_callees_hold_what_their_stacks_hold(page):
    page.run('const list = document.querySelector("#calls select"); const found = [...list.options].find((one) => one.text.startsWith("repeat"));'
             'list.value = found.value; list.dispatchEvent(new Event("change"));')
    callers, callees = (page.run('return document.querySelectorAll(".calls > div")[arguments[0]].textContent', i) for i in (0, 1))
    expect_in('main', callers)
    for name, size in (('leak_c', 3 * 4096), ('leak_b', 5000), ('leak_a', 1000)):
        expect_in(f'{kib(GOES * size)}', callees)
        expect_in(name, callees)
    # A row leads there.
    page.run('document.querySelector(".rows tr.row .expand").click()')
    page.frame()
    page.run('[...document.querySelectorAll("tr.detail button")].find((one) => one.textContent === "Callers and callees").click()')
    page.frame()
    expect_in('leak_', page.run('return document.querySelector("#calls select").selectedOptions[0].text'))
    page.run('document.querySelector(".rows tr.row .expand").click()')
    page.run('scrollTo(0, 0)')
    page.frame()


def dark_and_light_both_work(page):
    for scheme, is_light in (('dark', False), ('light', True)):
        page.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {'features': [{'name': 'prefers-color-scheme', 'value': scheme}]})
        page.frame()
        expect(sum(background(page)) > 384, is_light)
    page.run('document.getElementById("theme").click()')
    page.frame()
    expect(sum(background(page)) > 384, False)
    expect_in('Light', page.text('#theme'))
    page.run('document.getElementById("theme").click()')


def the_ledger_balances(page):
    numbers = [int(text.replace(',', '')) for text in page.run(
        'return [...document.querySelectorAll("#ledger .term strong")].map(({ textContent }) => textContent)')]
    expect(numbers[0], sum(numbers[1:]))
    expect(numbers[2], GOES * GO_BLOCKS)
    expect_in('Nothing was lost', page.text('#ledger'))


def every_control_has_a_name(page):
    expect(re.findall(r'\[object|undefined|NaN', page.text('#page')), [])
    expect(page.run('''
        const named = (node) => node.getAttribute('aria-label') || node.textContent.trim() || node.labels?.length;
        return [...document.querySelectorAll('button, input, select, [tabindex], section')]
            .filter((node) => !named(node) && !node.getAttribute('aria-labelledby')).map((node) => node.outerHTML);'''), [])


def the_difference_shows_both_sides(page):
    expect_in('+' + kib(3 * GO_BYTES), page.text('.figures'))
    rows = {row['name']: row for row in page.rows()}
    expect(sorted(rows), ['leak_a', 'leak_b', 'leak_c'])
    expect((rows['leak_c']['state'], rows['leak_c']['change'], rows['leak_c']['change-blocks']), ('grown', '+' + kib(3 * 3 * 4096), '+9'))
    expect((rows['leak_a']['before'], rows['leak_a']['after']), (kib(1000), kib(4000)))
    expect(page.names()[0], 'leak_c')
    expect_in(f'all: +{kib(3 * GO_BYTES)} ({kib(GO_BYTES)} \u2192 {kib(4 * GO_BYTES)})', page.text('#flame-status'))


def without_history(data):
    """As a run of one report has it."""
    bare = lambda one: {key: value for key, value in one.items() if key not in ('first', 'bytes', 'counts', 'trend')}
    return {**data, 'times': [], 'sequences': [], 'labels': [], 'sites': [bare(site) for site in data['sites']],
            'processes': [bare(process) for process in data['processes']]}


def less_data_is_enough(driver, path):
    page = Page(driver, with_other_data(path, without_history)[0])
    expect(page.names(), ['leak_c', 'leak_b', 'leak_a'])
    expect(page.all('#evolution'), [])
    expect_in(f'all: {kib(GOES * GO_BYTES)}, 100 % of all', page.text('#flame-status'))
    page.nothing_went_wrong()
    # One site had no room in the history.
    page = Page(driver, with_other_data(path, lambda data: {**data, 'sites': [*data['sites'][:2], *without_history(data)['sites'][2:]]})[0])
    expect(sorted(row['trend'] for row in page.rows()), ['', '', 'not known'])
    page.nothing_went_wrong()
    page = Page(driver, with_other_data(path, lambda data: {**data, 'sites': []})[0], False)
    expect_in('Nothing matches', page.text('.rows'))
    page.nothing_went_wrong()


def large_data(data, sites=1000, columns=500):
    """The report's own data, with as many sites and snapshots: every row moves."""
    strings = [None] + [f'server::handlers::Request<{i}>::step(std::string const&)' for i in range(sites)] + ['/usr/bin/server', '/usr/src/handlers.cc']
    frames = [[i + 1, 16, sites + 1, f'{i:x}', sites + 2, i + 1, 0, 0, 0] for i in range(sites)]
    trend = dict(data['sites'][0]['trend'])
    made = [{
        **data['sites'][0], 'id': f'{i:016x}', 'held_bytes': 0, 'held_count': 0,
        'stack': [i] + [i >> depth for depth in range(1, 20)],
        'first': 0, 'bytes': [(i * 7919) % 100000] + [(i + j) % 97 for j in range(columns - 1)], 'counts': [1] + [1] * (columns - 1),
        'trend': {**trend, 'bytes_per_s': (i * 104729) % 5000, 'verdict': ['leaking', 'growing', 'plateau', 'churning', 'steady'][i % 5]},
    } for i in range(sites)]
    return {**data, 'strings': strings, 'frames': frames, 'sites': made,
            'times': [data['times'][0]] + [5000] * (columns - 1), 'sequences': [1] * columns}


def with_other_data(path, change):
    """A page like that at `path`, its data changed: where it is, and how many MB of data it has."""
    page = open(path, encoding='utf-8').read()
    data = re.search(r'(<script type="application/json" id="data">)(.*?)(</script>)', page, re.S)
    changed = json.dumps(change(json.loads(data[2])), separators=(',', ':')).replace('<', '\\u003c')
    with open(f'{path}.other.html', 'w', encoding='utf-8') as out:
        out.write(page[:data.start(2)] + changed + page[data.end(2):])
    return f'{path}.other.html', len(changed) / 1e6


def frames(*names):
    return [{'function': name, 'offset': 1, 'module': '/bin/leak', 'build_id': None, 'address': 1, 'file': 'leak.c', 'line': 7, 'inlined': False}
            for name in names]


DEAD = {'alive': 2, 'dead': 5, 'dead_stack_bytes': 5 << 23, 'dead_resident_bytes': 5 << 13, 'dead_heap_bytes': 640, 'dead_heap_count': 5,
        'created': 9, 'joined': 3, 'detached': 0, 'groups': [{
            'id': '0' * 16, 'count': 5, 'before_attach': 1, 'oldest_ms': 4000, 'newest_ms': 10, 'stack_bytes': 5 << 23, 'resident_bytes': 5 << 13,
            'heap_bytes': 640, 'heap_count': 5, 'start_routine': {'frames': frames('<i>work')}, 'frames': frames('start_worker', 'main')}]}


def memory_is_shown_by_its_parts(page):
    """Both snapshots and all between them were read; what leaks is live."""
    expect(page.text('#memory h2'), 'Where memory is')
    parts = page.run("""return [...document.querySelectorAll('#memory .parts tbody tr')].map((row) =>
        [row.querySelector('th').textContent, row.querySelector('.value').textContent]);""")
    expect_in('live blocks of malloc', [name for name, _ in parts])
    expect(all(re.fullmatch(r'[\d.]+ ([KM]i)?B', value) for _, value in parts), True)


def threads_and_retention_have_their_sections(driver, path, retain):
    """The shapes of user/schema/report.schema.json, and what retain really said."""
    said = json.load(open(retain, encoding='utf-8'))

    def change(data):
        data['processes'][0]['threads'] = DEAD
        return {**data, 'retention': [said]}

    page = Page(driver, with_other_data(path, change)[0])
    for part in ('5 dead and not joined', '9 created, 3 joined', '<i>work', '640 B of heap in 5 blocks', 'start_worker', '1 ended before the attach'):
        expect_in(part, page.text('#threads'))
    expect_in(kib(said['totals']['unreachable']['bytes']), page.text('#retention .figures'))
    expect_in(f'{said["totals"]["held"]["blocks"]:,} block', page.text('#retention .figures'))
    for title, key in (('Unreachable', 'leaks'), ('Roots', 'roots'), ('Classes', 'classes')):
        expect(any(head.startswith(title) for head in page.run('return [...document.querySelectorAll("#retention h3")].map((head) => head.textContent)')),
               bool(said[key]))
    for selector in ('#threads', '#retention'):
        expect(re.findall(r'\[object|undefined|NaN', page.text(selector)), [])
    page.nothing_went_wrong()


def site_class(line):
    stack = frames('cache_fill')
    stack[0]['line'] = line
    return {'kind': 'site', 'name': None, 'module': None, 'size': 0, 'site': {'id': '0' * 16, 'frames': stack}, 'count': line, 'bytes': line << 10,
            'unreachable': {'blocks': 0, 'bytes': 0}}


def held_root(name, led, alone):
    return {'kind': 'managed', 'name': name, 'module': 'cpython', 'address': 0, 'offset': 0, 'through_untracked': False, 'words': 1,
            'led_bytes': led, 'led_blocks': 9, 'retained_bytes': alone, 'retained_blocks': 1}


def retained(said):
    """A root that two lead to, and so holds nothing alone; a tree; two classes that differ by their lines."""
    node = {'kind': 'size', 'name': None, 'module': None, 'size': 104}
    first = held_root('module __main__ \u2192 session_registry_of_all_tenants', 9 << 20, 0)
    step = {'offset': 24, 'label': None, 'width': 3, 'address': 4096, 'size': 104, 'repeated': 1, 'class': node}
    tree = {**step, 'repeated': 19, 'branches': [{'offset': 24, 'label': None}, {'offset': 32, 'label': None}]}
    paths = [{'class': node, 'sharing': 300, 'sampled': 300, 'chain': 100000, 'chain_exact': True, 'tree': True, 'root': first, 'steps': [step, tree],
              'pile': {'many': 100000, 'chain': False, 'tree': True, 'classes': [{'class': node}]}},
             {'class': node, 'also': True, 'sharing': 1, 'sampled': 1, 'root': first, 'steps': [step]}]
    return {**said, 'roots': [held_root('module small', 2 << 20, 2 << 20), first], 'paths': paths, 'classes': [site_class(3), site_class(8)]}


def retention_says_who_holds_it(driver, path, retain):
    said = json.load(open(retain, encoding='utf-8'))
    page = Page(driver, with_other_data(path, lambda data: {**data, 'retention': [retained(said)]})[0])
    shown = page.run('return document.getElementById("retention").textContent')
    roots = page.run('return [...document.querySelectorAll("#retention td[data-head=Root]")].map((cell) => cell.textContent)')
    expect(roots[0].startswith('module __main__ \u2192 session_registry_of_all_tenants [cpython]'), True)
    expect(roots[1:], ['module small [cpython]'])
    # Whole in the picture, over some lines.
    picture = page.run('return [...document.querySelectorAll("#retention .graph .is-root text")].map((line) => line.textContent).join("")')
    expect_in('session_registry_of_all_tenants', picture)
    for part in ('Piles up in a tree of 100,000: blocks of 104 bytes', '+0x18 or +0x20', '19 levels of a tree of 100,000', 'nearly as short, to blocks of 104 bytes'):
        expect_in(part, shown)
    names = page.run('return [...document.querySelectorAll("#retention td[data-head=Class]")].map((cell) => cell.textContent)')
    expect(names, ['blocks of cache_fill leak.c:3', 'blocks of cache_fill leak.c:8'])
    page.nothing_went_wrong()


CHANGED = {'pid': 7, 'comm': 'shop', 'processes': {'before': 1, 'after': 1}, 'rss_bytes': {'before': 1 << 20, 'after': 3 << 20, 'difference': 2 << 20},
           'groups': {'live': {'difference': 2 << 20}}, 'conclusion': {'verdict': 'leaking', 'text': 'ask `leakmon retain -p 7`'}}


def a_phone_shows_what_grew(driver, path):
    """All of it within the width, and no mark-up as it is written."""
    driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', {'width': 390, 'height': 844, 'deviceScaleFactor': 1, 'mobile': True})
    try:
        driver.get(f'file://{with_other_data(path, lambda data: {**data, "memory": [CHANGED]})[0]}')
        cells = driver.execute_script("""return [...document.querySelectorAll('#memory td')].map((cell) => {
            const { left, right, height } = cell.getBoundingClientRect(); return [cell.textContent, left >= 0 && right <= 390 && height > 0]; })""")
        expect([inside for _, inside in cells], [True] * 5)
        expect_in('live blocks +2 MiB', cells[-1][0])
        expect_in('ask leakmon retain -p 7', cells[-1][0])
        expect('`' in driver.execute_script('return document.getElementById("page").innerText'), False)
    finally:
        driver.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})


def task_group(state, count, first, names):
    return {'count': count, 'state': state, 'verdict': 'leaking' if first else None, 'first_count': first, 'since_ms': 60000, 'come': count, 'gone': 0,
            'longest_wait_ms': None, 'shortest_wait_ms': None, 'waits_at': {'frames': frames(*names)}, 'created_by': {'frames': []}}


# user/schema/threads.schema.json
THREADS = {'schema': 1, 'kind': 'threads', 'version': '0', 'time': '2026-11-25T18:00:00.000Z', 'since': None, 'processes': [{
    'pid': 7, 'comm': '<i>java', 'threads': {'dead': None, 'live': []},
    'java_threads': {'version': '21.0.1', 'cannot_tell': None, 'count': 13, 'daemons': 1, 'ended': 300, 'gone_local_values': 60,
                     'gone_locals': [{'class': 'shop.Session', 'thread': 'worker-#', 'virtual': False, 'count': 60}],
                     'groups': [{'name': 'worker-#', 'group': '<i>workers', 'state': 'parked', 'daemon': False, 'count': 12,
                                 'frames': frames('java.lang.Object.wait', 'shop.Cart.serve')},
                                {'name': 'C# CompilerThread#', 'group': None, 'state': 'runnable', 'daemon': True, 'count': 1, 'frames': []}]},
    'virtual_threads': {'version': '21.0.1', 'cannot_tell': None, 'count': 40, 'system': 0, 'ended': 0, 'unread': 2, 'moved': True, 'stack_bytes': 4096,
                        'groups': [task_group('parked', 40, 4, ('java.lang.VirtualThread.park', 'shop.Feed.await'))]},
    'python': {'version': '3.11.7', 'cannot_tell': None, 'threads': 5, 'interpreters': 1,
               'groups': [{'id': '0' * 16, 'count': 5, 'tids': [1], 'frames': frames('wait_for_work')}]}}]}


def threads_of_runtimes_are_grouped(driver, path):
    driver.get(f'file://{with_other_data(path, lambda _: THREADS)[0]}')
    run = driver.execute_script
    shown = run('return document.getElementById("page").textContent')
    for part in ('Java threads of <i>java', '13 threads in 2 groups, 1 of them daemons; 300 have ended since the start', '60 of class shop.Session, of thread worker-#',
                 '12 threads worker-# [parked] of group <i>workers at shop.Cart.serve', '1 thread C# CompilerThread# [runnable, daemon]',
                 'Virtual threads of <i>java', '40 virtual threads [parked] at shop.Feed.await', '+36 in 1 min', 'leaking',
                 '2 virtual threads could not be read', 'some may be missing', '5 threads at wait_for_work'):
        expect_in(part, shown)
    expect(re.findall(r'\[object|undefined|NaN|null', shown), [])


MEASURE = '''
    const [act, done] = arguments, start = performance.now();
    const actions = {
        sort: () => document.querySelector('th[data-key="growth"] button').click(),
        search: () => { const field = document.getElementById('search'); field.value = 'Request<99'; field.dispatchEvent(new Event('input')); },
        clear: () => { const field = document.getElementById('search'); field.value = ''; field.dispatchEvent(new Event('input')); },
        scroll: () => { document.getElementById('rows').scrollTop += 12000; },
        blocks: () => document.querySelector('input[value="blocks"]').click(),
    };
    actions[act]();
    const wait = act === 'search' || act === 'clear' ? 80 : 0;
    setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start - wait))), wait);'''


def a_large_page_stays_quick(driver, path):
    large, megabytes = with_other_data(path, large_data)
    page = Page(driver, large)
    expect_in('1,000 call stacks', page.text('#row-count'))
    expect(len(page.rows()) < 60, True)  # of 1,000, those in sight
    times = {act: driver.execute_async_script(MEASURE, act) for act in ('sort', 'scroll', 'blocks', 'search', 'clear')}
    page.wait(lambda: '1,000 call stacks' in page.text('#row-count'), 'all rows')
    # Rows keep coming, down to the last one.
    page.run('document.getElementById("rows").scrollTop = 1e9')
    page.frame()
    expect(page.run('return Math.max(...[...document.querySelectorAll("tr.row")].map((row) => Number(row.getAttribute("aria-rowindex"))))'), 1001)
    page.nothing_went_wrong()
    print(f'1,000 call stacks x 500 snapshots, {megabytes:.1f} MB of data: opened in {page.opened_s * 1e3:.0f} ms; two frames after '
          + ', '.join(f'{act} {time:.0f} ms' for act, time in times.items()))


def served(pages, interval_ms=1000):
    """A server as --listen has one: a page after the other, then the last one; its port."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = pages[0]
            self.send_response(200)
            self.send_header('Content-Type', 'text/html; charset=utf-8')
            self.send_header('Content-Length', str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass
    mark = f'<meta name="leakmon-interval" content="{interval_ms}">\n'.encode()
    pages[:] = [page + mark for page in pages]
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def a_served_page_follows_and_stays_where_it_is(driver, path):
    def later(data):
        sites = [{**site, 'id': site['id']} for site in data['sites']]
        return {**data, 'sites': sites[::-1], 'host': 'another host'}
    pages = [open(path, 'rb').read(), open(with_other_data(path, later)[0], 'rb').read()]
    server = served(pages)
    driver.set_window_size(1400, 600)
    page = Page(driver, path)
    driver.get(f'http://127.0.0.1:{server.server_port}/')
    page.wait(lambda: page.rows(), 'rows')
    page.search('leak', 3)
    name = page.run('const row = document.querySelectorAll(".rows tr.row .expand")[1]; row.click();'
                    'return row.closest("tr").querySelector(".function").textContent')
    page.run('document.querySelector("#search").focus({ preventScroll: true }); scrollTo({ top: 300, behavior: "instant" }); window.before = true')
    page.wait(lambda: page.text('.live') == 'live', 'the first look')
    expect(page.run('return window.before'), True)  # nothing is new
    pages.pop(0)
    page.wait(lambda: page.run('return !window.before && document.readyState === "complete"'), 'the next report')
    page.wait(lambda: page.run('return scrollY') == 300, 'the place')
    expect_in('another host', page.text('header'))
    expect(page.run('return document.querySelector("#search").value'), 'leak')
    page.wait(lambda: page.run('return document.activeElement.id') == 'search', 'the focus')
    expect(page.run('return [...document.querySelectorAll("tr.row.is-open .function")].map((one) => one.textContent)'), [name])
    # The last report stays when leakmon is gone.
    server.shutdown()
    server.server_close()
    page.wait(lambda: 'has ended' in page.text('.live'), 'the end')
    expect(page.run('return document.querySelector("#search").value'), 'leak')
    driver.set_window_size(1400, 1000)
    driver.get_log('browser')  # that the server is gone


def entry(number):
    return {'pid': number, 'comm': f'server{number}', 'exe': None, 'cgroup': f'/shop/{number}', 'container': None, 'verdict': 'growing' if number % 7 else 'leaking',
            'memory_bytes': number << 20, 'threads': {'alive': 3}, 'file_count': 9, 'mapping_count': 50,
            'growth': {'kind': 'heap', 'bytes_per_s': 1000, 'confidence': 0.9, 'verdict': 'growing', 'per_s': 1000, 'low_per_s': 900,
                       'high_per_s': 1100, 'window_s': 100, 'points': 30, 'warming_up': False}}


def home_has_thousands_of_rows_that_open(driver, path):
    data = {'schema': 1, 'kind': 'triage', 'version': '0', 'time': '2026-11-25T18:00:00.000Z', 'budget': {'limit': 0.01, 'used': 0.02, 'cpu_s': 3.2, 'running_s': 400},
            'hidden': False, 'limits': [], 'processes_total': 2000, 'processes': [entry(i) for i in range(1, 2001)], 'groups_total': 0, 'groups': []}
    home, _ = with_other_data(path, lambda _: data)
    since = time.monotonic()
    driver.get(f'file://{home}')
    run = driver.execute_script
    expect(run('return document.querySelectorAll("details.entry").length'), 2000)
    opened = time.monotonic() - since
    # Since the start; what was saved up may be spent at once.
    expect('0.8 %of a core; limit 1.0 %; 2.0 % now, saved up' in run('return document.querySelector("dl.figures").textContent'), True)
    run('const field = document.getElementById("search"); field.value = "server1999"; field.dispatchEvent(new Event("input"))')
    expect(run('return [...document.querySelectorAll("details.entry:not([hidden]) strong")].map((one) => one.textContent)'), ['server1999'])
    driver.find_element(By.CSS_SELECTOR, 'details.entry:not([hidden]) summary').click()
    WebDriverWait(driver, 20, 0.02).until(lambda _: 'leakmon diagnose -p 1999' in run('return document.querySelector("details[open]").textContent'))
    for width in (390, 1400):
        driver.set_window_size(width, 1000)
        expect(run('return document.documentElement.scrollWidth <= innerWidth'), True)
    print(f'2,000 processes: opened in {opened * 1e3:.0f} ms')


REPORT = (the_header_says_what_was_measured, rows_are_exact_and_sorted, the_search_narrows_everything,
          a_row_opens_and_moves_by_keyboard, the_evolution_selects_a_time, groups_and_measures_can_be_chosen,
          the_flame_graph_zooms, callers_and_callees_hold_what_their_stacks_hold, dark_and_light_both_work, memory_is_shown_by_its_parts, the_ledger_balances,
          every_control_has_a_name)


def main(report, difference, retain):
    driver = browser()
    try:
        page = Page(driver, report)
        for check in REPORT:
            check(page)
            print(f'ok {check.__name__}', flush=True)
        page.nothing_went_wrong()
        page = Page(driver, difference)
        the_difference_shows_both_sides(page)
        every_control_has_a_name(page)
        page.nothing_went_wrong()
        print('ok the_difference_shows_both_sides', flush=True)
        threads_and_retention_have_their_sections(driver, report, retain)
        print('ok threads_and_retention_have_their_sections', flush=True)
        retention_says_who_holds_it(driver, report, retain)
        print('ok retention_says_who_holds_it', flush=True)
        a_phone_shows_what_grew(driver, difference)
        print('ok a_phone_shows_what_grew', flush=True)
        threads_of_runtimes_are_grouped(driver, report)
        print('ok threads_of_runtimes_are_grouped', flush=True)
        less_data_is_enough(driver, report)
        print('ok less_data_is_enough', flush=True)
        a_served_page_follows_and_stays_where_it_is(driver, report)
        print('ok a_served_page_follows_and_stays_where_it_is', flush=True)
        home_has_thousands_of_rows_that_open(driver, report)
        print('ok home_has_thousands_of_rows_that_open', flush=True)
        a_large_page_stays_quick(driver, report)
        print('ok a_large_page_stays_quick')
    finally:
        driver.quit()


if __name__ == '__main__':
    main(*sys.argv[1:])
