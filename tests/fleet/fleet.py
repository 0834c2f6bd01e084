#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether the rules of scripts/deploy/alerts.yml find the build that leaks, and no other.

fleet.py HOSTS_PROGRAM DIRECTORY_OF_PROMETHEUS SEEDS

First SEEDS fleets of 200 simulated hosts each (tests/fleet/hosts.c), as blocks of Prometheus'
database, which the server then evaluates the rule on, every minute: the alert must fire for the
build that leaks, within ten minutes of the moment when the first host got it, and never for any
other. Prints precision and recall over all of them.

Then one more fleet as it is in life: the real server finds 200 targets and the rules themselves,
scrapes and evaluates. A simulated minute takes a second and a half.
"""
import concurrent.futures
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

import yaml

PROGRAM, TOOLS, SEEDS = sys.argv[1], sys.argv[2], int(sys.argv[3])
RULES = 'scripts/deploy/alerts.yml'
HOSTS, MINUTES, WITHIN = 200, 26, 10
BASE = 1700006400  # two hours, Prometheus' blocks, begin here
MINUTE_S = 1.5


def rules():
    with open(RULES, encoding='utf-8') as file:
        group = next(group for group in yaml.safe_load(file)['groups'] if group['name'] == 'leakmon-fleet')
    return group['rules']


def alert_expression():
    """With the recorded series spelt out: what is not recorded yet cannot be asked for."""
    records = {rule['record']: rule['expr'] for rule in rules() if 'record' in rule}
    alert = next(rule for rule in rules() if rule.get('alert') == 'BuildLeaks')
    expression = re.sub(r'leakmon:[a-z_]+:[a-z]+', lambda name: f'({records[name[0]]})', alert['expr'])
    return expression, int(re.fullmatch(r'(\d+)m', alert['for'])[1])


def simulate(seed):
    """What is true, how many series a host has at most, and lines by minute and host."""
    run = subprocess.run([PROGRAM, str(seed), str(HOSTS)], check=True, capture_output=True, text=True)
    lines = run.stdout.splitlines()
    scrapes, at = {}, None
    for line in lines[1:]:
        if line.startswith('# AT '):
            at = tuple(map(int, line.split()[2:]))
            scrapes[at] = []
        else:
            scrapes[at].append(line)
    return json.loads(lines[0].removeprefix('# TRUTH ')), int(run.stderr), scrapes


def backfill(seed, directory):
    truth, series, scrapes = simulate(seed)
    path = f'{directory}/{seed}.om'
    with open(path, 'w', encoding='utf-8') as out:
        for (minute, host), lines in scrapes.items():
            when = BASE + seed * 7200 + minute * 60
            out.writelines(line.replace('{', f'{{instance="host-{host}",', 1) + f' {when}\n' for line in lines)
        out.write('# EOF\n')
    subprocess.run([f'{TOOLS}/promtool', 'tsdb', 'create-blocks-from', 'openmetrics', path, f'{directory}/data'],
                   check=True, stdout=subprocess.DEVNULL)
    os.unlink(path)
    print('.', end='', flush=True)
    return seed, truth, series


class Server:
    def __init__(self, directory, config, *options):
        path = f'{directory}/prometheus.yml'
        with open(path, 'w', encoding='utf-8') as file:
            yaml.safe_dump(config, file)
        # The kernel chooses a free port. Another process may take it before Prometheus does, but hardly ever.
        with http.server.HTTPServer(('127.0.0.1', 0), None) as probe:
            self.port = probe.server_port
        with open(f'{directory}/prometheus.log', 'w', encoding='utf-8') as log:
            self.process = subprocess.Popen(
                [f'{TOOLS}/prometheus', f'--config.file={path}', f'--storage.tsdb.path={directory}/data',
                 '--storage.tsdb.retention.time=100y', f'--web.listen-address=127.0.0.1:{self.port}', *options],
                stdout=log, stderr=log)
        self.wait()

    def wait(self):
        for _ in range(600):
            try:
                urllib.request.urlopen(f'http://127.0.0.1:{self.port}/-/ready', timeout=5).close()
                return
            except OSError:
                assert self.process.poll() is None, 'Prometheus ended: see its log'
                time.sleep(0.2)
        raise TimeoutError('Prometheus does not get ready')

    def ask(self, path, **query):
        url = f'http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}'
        with urllib.request.urlopen(url, timeout=300) as answer:
            return json.load(answer)['data']

    def end(self):
        self.process.terminate()
        self.process.wait()


def fired(server, seed, expression, for_minutes):
    """(comm, build-id) -> the first minute at which the alert fires."""
    begin, found = BASE + seed * 7200, {}
    for series in server.ask('query_range', query=expression, start=begin, end=begin + MINUTES * 60, step=60)['result']:
        build, since, before = (series['metric']['comm'], series['metric']['build_id']), None, None
        for when, _ in series['values']:
            minute = (when - begin) / 60
            since = minute if before is None or minute != before + 1 else since
            before = minute
            if minute - since >= for_minutes:
                found.setdefault(build, minute)
    return found


def judge(truths, found):
    true_alerts, false_alerts, missed, late, delays = 0, [], [], [], []
    for seed, truth, _ in truths:
        build = (truth['comm'], truth['build_id'])
        for other, minute in found[seed].items():
            if truth['leaks'] and other == build:
                delays.append(minute - truth['minute'])
                late += [(seed, delays[-1])] if delays[-1] > WITHIN else []
                true_alerts += 1
            else:
                false_alerts.append((seed, other, minute))
        if truth['leaks'] and build not in found[seed]:
            missed.append((seed, truth['kib_per_s'], truth['hosts']))
    leaks = sum(truth['leaks'] for _, truth, _ in truths)
    in_time = true_alerts - len(late)
    print(f'\n{len(truths)} fleets of {HOSTS} hosts, {leaks} with a build that leaks')
    print(f'precision {true_alerts / max(true_alerts + len(false_alerts), 1):.3f} '
          f'({true_alerts} of {true_alerts + len(false_alerts)} alerts are for the build that leaks)')
    print(f'recall {in_time / max(leaks, 1):.3f} ({in_time} of {leaks} within {WITHIN} minutes); '
          f'after {min(delays, default=0):.0f} to {max(delays, default=0):.0f} minutes')
    print(f'series of a host: at most {max(series for _, _, series in truths)}')
    for name, list_ in (('false', false_alerts), ('missed', missed), ('late', late)):
        for one in list_:
            print(f'{name}: {one}')
    return not (false_alerts or missed or late)


def by_backfill(directory):
    expression, for_minutes = alert_expression()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        truths = list(pool.map(lambda seed: backfill(seed, directory), range(SEEDS)))
    server = Server(directory, {})
    try:
        return judge(truths, {seed: fired(server, seed, expression, for_minutes) for seed, _, _ in truths})
    finally:
        server.end()


class Targets(http.server.ThreadingHTTPServer):
    """All hosts; the path names one. The time is that of the simulation."""
    request_queue_size = 256
    daemon_threads = True

    def __init__(self, scrapes):
        self.texts = {at: ('\n'.join(lines) + '\n').encode() for at, lines in scrapes.items()}
        self.begin = time.monotonic()
        super().__init__(('127.0.0.1', 0), Target)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """Who scraped has gone: Prometheus ends before its targets do."""

    def minute(self):
        return (time.monotonic() - self.begin) / MINUTE_S


class Target(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        minute = min(int(self.server.minute()) // 2 * 2, MINUTES)
        text = self.server.texts[minute, int(self.path.split('/')[1])]
        self.send_response(200)
        self.send_header('Content-Type', 'text/plain; version=0.0.4')
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def in_life(directory):
    """The files that people deploy, but for the length of a minute."""
    truth, _, scrapes = simulate(SEEDS * 5 + 1)
    with open(RULES, encoding='utf-8') as file:
        text = re.sub(r'for: (\d+)m', lambda wait: f'for: {int(float(wait[1]) * MINUTE_S * 1000)}ms', file.read())
    with open(f'{directory}/alerts.yml', 'w', encoding='utf-8') as file:
        file.write(text)
    targets = Targets(scrapes)
    address = f'127.0.0.1:{targets.server_port}'
    server = Server(directory, {
        'global': {'scrape_interval': f'{int(2 * MINUTE_S)}s', 'evaluation_interval': '1s'},
        'rule_files': ['alerts.yml'],
        'scrape_configs': [{'job_name': 'leakmon', 'static_configs': [
            {'targets': [address], 'labels': {'__metrics_path__': f'/{host}/metrics', 'instance': f'host-{host}'}}
            for host in range(HOSTS)]}]}, f'--query.lookback-delta={int(5 * MINUTE_S)}s')
    found, summary = {}, ''
    targets.begin = time.monotonic()
    try:
        while targets.minute() < MINUTES:
            for alert in server.ask('alerts')['alerts']:
                if alert['labels']['alertname'] == 'BuildLeaks' and alert['state'] == 'firing':
                    found.setdefault((alert['labels']['comm'], alert['labels']['build_id']), targets.minute())
                    summary = alert['annotations']['summary'] + '. ' + alert['annotations']['description']
            time.sleep(0.2)
    finally:
        server.end()
    print(f'live: {truth["hosts"]} of {HOSTS} hosts got a build at minute {truth["minute"]} that '
          f'{"leaks" if truth["leaks"] else "does not leak"}; fired: {found or "nothing"}\n  {summary}')
    build = (truth['comm'], truth['build_id'])
    return list(found) == [build] and found[build] - truth['minute'] <= WITHIN


with tempfile.TemporaryDirectory(prefix='leakmon-fleet-') as one, tempfile.TemporaryDirectory(prefix='leakmon-fleet-') as two:
    live = in_life(two)
    sys.exit(0 if by_backfill(one) and live else 1)
