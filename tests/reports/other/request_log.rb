# SPDX-License-Identifier: GPL-2.0-or-later
# A constant array that each request is added to. `bounded`: the oldest goes at 2,000.
#
# kind: objects of interpreters without a reader
# leak ruby-array: leak
#   part: native-blocks|managed.*|other|live
#   code: rb_|ruby|str_|ary_|heap_page|aligned_malloc|remember
# healthy ruby-array-bounded: bounded
#   warm: 25
REQUESTS = []
BOUNDED = ARGV[0] == 'bounded'

def remember(number)
  REQUESTS << "request #{number} " * 60
  REQUESTS.shift if BOUNDED && REQUESTS.size > 2000
end

number = 0
loop do
  10.times { remember(number += 1) }
  sleep 0.02
end
