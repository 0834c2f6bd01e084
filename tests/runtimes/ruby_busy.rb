# SPDX-License-Identifier: GPL-2.0-or-later
#
# ruby_busy.rb [compact]: 3,000 sessions live among others that come and go, all the time. With
# "compact" each full collection moves objects.
class Session
  def initialize(number)
    @number = number
    @data = "session #{number}"
    @list = [number, @data]
  end
end

GC.auto_compact = true if ARGV[0] == "compact"
$sessions = (0...3000).to_h { |i| [i, Session.new(i)] }
puts "ready"
$stdout.flush
i = 3000
loop do
  passing = Array.new(50) { Session.new(i += 1) }
  i = 3000 if i > 1_000_000
  passing.clear
  GC.start if i % 20_000 == 0
end
