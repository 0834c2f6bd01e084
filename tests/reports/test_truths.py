#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What counts as right, partly, wrong, unknown, quiet and accused; and that each program's head can be read."""
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from truths import all_truths, judge, judge_command, share_of, truths_of  # noqa: E402

HEAD = '''/*
 * A program of the test.
 *
 * kind: native blocks
 * flags: -lm
 * leak held: held HOME
 *   part: native-blocks|live
 *   code: ^session_open$
 *   near: ^xmalloc$
 *   holder: sessions
 * leak garbage:
 *   verdict: leaks|no-leak
 *   part: live
 * healthy fixed: fixed
 *   lost: 2
 *   may: tmpfs
 * command ended: LEAKMON -- PROGRAM
 *   exit: 7
 *   says: blocks lost: 7
 */
'''


def answer(verdict='grows', part='native-blocks', frames=('session_open',), share=None, root='sessions', **more):
	code = {'frames': [{'function': name, 'file': None, 'line': None} for name in frames]}
	return dict({'verdict': verdict, 'part': part, 'code': code if frames else None, 'classes': [],
		     'holder': {'root': {'name': root}, 'steps': []}, 'share': share}, **more)


class Judged(unittest.TestCase):
	def setUp(self):
		with tempfile.NamedTemporaryFile('w', suffix='.c') as file:
			file.write(HEAD)
			file.flush()
			self.leak, self.garbage, self.healthy, self.command = truths_of(file.name)

	def test_head_is_read(self):
		self.assertEqual((self.leak.name, self.leak.what, self.leak.arguments), ('held', 'leak', ['held', 'HOME']))
		self.assertEqual((self.healthy.what, self.command.what), ('healthy', 'command'))
		self.assertEqual({truth.get('flags') for truth in (self.leak, self.healthy)}, {'-lm'})
		self.assertEqual(self.healthy.kind, 'native blocks')
		self.assertIsNone(self.healthy.get('part'))

	def test_answers_on_a_leak(self):
		wrapper = ('xmalloc',)
		for expected, given in (
			('right', answer()),
			('right', answer(frames=('xmalloc', 'session_open'))),
			('right', answer(part='live', verdict='leaks')),
			('right', answer(frames=(), classes=[{'name': 'session_open'}])),
			('partly', answer(root='last_error')),
			('partly', answer(frames=())),
			('partly', answer(frames=wrapper)),
			('partly', answer(frames=('event_make',), share=0.02)),
			('partly', answer(frames=('event_make',), share=2)),
			('wrong', answer(frames=('event_make',), share=0.6)),
			('wrong', answer(frames=('event_make',))),
			('wrong', answer(part='descriptors')),
			('wrong', answer(part='native-blocks-of-another')),
			('wrong', answer(verdict='no-leak', part='nothing')),
			('unknown', answer(verdict='unknown')),
		):
			self.assertEqual(judge(self.leak, given)[0], expected, given)

	def test_code_must_explain_half_of_the_growth(self):
		for expected, rate, lost, verdict, grown in (
			('right', 100 << 10, 0, 'grows', 10 << 20),
			('partly', 50 << 10, 0, 'grows', 10 << 20),
			('right', 50 << 10, 0, 'grows', 1000 << 10),
			('partly', 0, 8 << 20, 'grows', 10 << 20),
			('right', 0, 8 << 20, 'leaks', 10 << 20),
		):
			given = answer(verdict=verdict, seconds=60, rss_bytes={'difference': grown}, lost_bytes={'difference': lost})
			given['code']['growth_bytes_per_s'] = rate
			self.assertEqual(judge(self.leak, given)[0], expected, given)
		self.assertEqual(judge(self.leak, answer(share=0.4))[0], 'partly')
		self.assertEqual(judge(self.leak, answer(share=0.6))[0], 'right')

	def test_another_file_is_another_cause(self):
		self.assertEqual(judge(self.leak, answer(root='x', file={'path': '/dev/shm/of-another'}))[0], 'wrong')
		self.assertEqual(judge(self.leak, answer(root='x', share=0.1, file={'path': '/dev/shm/of-another'}))[0], 'partly')
		self.assertEqual(judge(self.leak, answer(root='x', file={'path': '/dev/shm/sessions'}))[0], 'right')

	def test_a_leak_may_have_verdicts_of_its_own(self):
		for expected, verdict in (('right', 'no-leak'), ('right', 'leaks'), ('wrong', 'grows'), ('unknown', 'unknown')):
			self.assertEqual(judge(self.garbage, answer(verdict=verdict, part='live'))[0], expected, verdict)

	def test_code_of_runners_up_does_not_count(self):
		given = answer(frames=('event_make',), others=[{'function': 'session_open'}])
		self.assertEqual(judge(self.leak, given)[0], 'wrong')

	def test_answers_on_a_healthy_program(self):
		for expected, given in (
			('quiet', answer(verdict='no-leak')),
			('quiet', answer(verdict='no-leak', lost_blocks={'after': 2})),
			('accused', answer(verdict='no-leak', lost_blocks={'after': 3})),
			('unknown', answer(verdict='unknown', lost_blocks=None)),
			('accused', answer(verdict='leaks')),
			('quiet', answer(part='tmpfs')),
			('accused', answer(part='tmpfs-and-more')),
			('accused', answer(verdict='grows')),
		):
			self.assertEqual(judge(self.healthy, given)[0], expected, given)

	def test_answers_of_a_command(self):
		self.assertEqual(judge_command(self.command, 7, 'blocks\n  lost: 7')[0], 'right')
		self.assertEqual(judge_command(self.command, 0, 'blocks lost: 7')[0], 'wrong')
		self.assertEqual(judge_command(self.command, 7, 'blocks lost: 8')[0], 'wrong')

	def test_share_is_a_fraction_or_per_cent(self):
		self.assertEqual([share_of({'share': share}) for share in (0.93, 93, None)], [0.93, 0.93, None])
		self.assertIsNone(share_of({}))

	def test_each_program_has_its_truth(self):
		truths = all_truths().values()
		leaks = [truth for truth in truths if truth.what == 'leak']
		self.assertGreaterEqual(len(leaks), 40)
		self.assertGreaterEqual(len({truth.kind for truth in leaks}), 10)
		self.assertGreaterEqual(sum(truth.what == 'healthy' for truth in truths), 40)


if __name__ == '__main__':
	unittest.main()
