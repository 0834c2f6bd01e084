# SPDX-License-Identifier: GPL-2.0-or-later
# A constant array that each request is added to. `bounded`: the oldest goes at 2,000.
#
# kind: Ruby objects
# leak ruby-array: leak
#   part: managed-objects
#   code: String
#   holder: REQUESTS
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
