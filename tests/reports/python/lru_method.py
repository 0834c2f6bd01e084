# SPDX-License-Identifier: GPL-2.0-or-later
# Report: PyCQA/flake8#1573, geldata/gel#5377. lru_cache on a method keeps every self. `fixed`: no cache.
# `bounded`: maxsize=500, which is full soon. `fills`: maxsize=12000, which is full after two minutes.
# `beside`: that cache, and a list that keeps as many objects of another class.
#
# kind: Python objects
# leak lru-method: leak
#   part: managed-objects
#   code: Document
#   holder: lru_cache|words
# healthy lru-none: fixed
# healthy lru-maxsize: bounded
#   warm: 20
# healthy lru-fills: fills
# leak lru-beside: beside
#   part: managed-objects
#   code: Answer
#   holder: answers
import functools
import sys
import time

mode = (sys.argv[1:] or ['leak'])[0]


class Document:
    def __init__(self, n):
        self.n, self.lines = n, ['line %d of %d' % (i, n) for i in range(20)]

    @functools.lru_cache(maxsize=None)
    def words(self):
        return sum(len(line.split()) for line in self.lines)

    @functools.lru_cache(maxsize=500)
    def words_bounded(self):
        return sum(len(line.split()) for line in self.lines)

    @functools.lru_cache(maxsize=12000)
    def words_filling(self):
        return sum(len(line.split()) for line in self.lines)

    def words_plain(self):
        return sum(len(line.split()) for line in self.lines)


class Answer:
    def __init__(self, words):
        self.words, self.sent = words, False


answers = []


def handle(n):
    document = Document(n)
    if mode == 'beside':
        answers.append(Answer(document.words_filling()))
        return answers[-1].words
    if mode == 'fills':
        return document.words_filling()
    if mode == 'fixed':
        return document.words_plain()
    return document.words_bounded() if mode == 'bounded' else document.words()


number = 0
while True:
    for _ in range(5):
        handle(number)
        number += 1
    time.sleep(0.05)
