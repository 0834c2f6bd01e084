# SPDX-License-Identifier: GPL-2.0-or-later
#
# A program under load that checks itself; what it reads and writes: see ../no_harm.py.
require "json"
require "socket"

Thread.report_on_exception = false
$counts, $wrong = Hash.new(0), Hash.new(0)
$latencies = { "alone" => Hash.new(0), "looked" => Hash.new(0) }
$kept = (0...1000).to_h { |i| ["key #{i}", [i, i.to_s]] }
$phase = "alone"

class Node
  attr_reader :number, :following

  def initialize(number, following)
    @number, @following, @ring = number, following, self
  end
end

def expect(name, right)
  $wrong[name] += 1 unless right
end

# Cycles, which only the collector frees; code compiled again and again; compaction.
def allocate
  loop do
    head = (0...2000).reduce(nil) { |rest, i| Node.new(i, rest) }
    sum, node = 0, head
    while node
      sum += node.number
      node = node.following
    end
    expect("new objects", sum == 1_999_000)
    round = $counts["rounds"] += 1
    expect("new code", eval("->(n) { n * #{round} }").call(3) == 3 * round)
    expect("planted objects", $kept.all? { |key, (i, text)| key == "key #{i}" && text == i.to_s })
    $counts["checks"] += 1
    GC.start if round % 5 == 0
    GC.compact if round % 50 == 0
    $counts["collections"] = GC.count
    sleep 0.002
  end
end

BYTES = ((0..255).to_a.pack("C*") * 16).freeze

def exchange(socket)
  (0..).each do |number|
    expect("write", socket.write(BYTES[0, number * 37 % 4000 + 1]) == number * 37 % 4000 + 1)
    sleep 0.01 if number % 50 == 49
  end
end

def receive(socket)
  (0..).each do |number|
    expect("select", IO.select([socket], nil, nil, 60))
    size = number * 37 % 4000 + 1
    expect("received bytes", socket.read(size) == BYTES[0, size])
    $counts["received"] += 1
  end
end

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

# Limits of time are kept, and are what ends a call.
def wait
  quiet, = IO.pipe
  mutex, condition = Mutex.new, ConditionVariable.new
  loop do
    began = now
    expect("select in vain", IO.select([quiet], nil, nil, 0.007).nil?)
    sleep 0.007
    mutex.synchronize { condition.wait(mutex, 0.007) }
    expect("waited too short", now - began >= 0.02)
    $counts["waits"] += 1
  end
end

def hand(queue)
  (0..).each do |number|
    queue << number
    sleep 0.001
  end
end

def take(queue)
  (0..).each do |wanted|
    expect("items in order", queue.pop == wanted)
    $counts["handed"] += 1
  end
end

# A fiber that is resumed again and again keeps its variables.
def resume
  fiber = Fiber.new do
    mine = 0
    loop { Fiber.yield(mine += 1) }
  end
  (1..).each do |wanted|
    expect("a fiber's variable", fiber.resume == wanted)
    $counts["resumed"] += 1
    sleep 0.001
  end
end

def start(name, *arguments)
  Thread.new do
    send(name, *arguments)
  rescue Exception => error # rubocop:disable Lint/RescueException
    $wrong["#{name}: #{error.class}: #{error.message}"] += 1
  end
end

def beat
  before = now
  loop do
    if IO.select([$stdin], nil, nil, 0.001)
      command = $stdin.gets or return
      command.strip!
      if command == "truth"
        $stdout.write(JSON.dump({ counts: $counts, wrong: $wrong, **$latencies.transform_keys(&:to_sym) }) + "\n")
      else
        $phase, before = command, now
      end
    end
    at = now
    $latencies[$phase][((at - before) * 1e5).to_i] += 1
    before = at
    $counts["beats"] += 1
  end
end

left, right = UNIXSocket.pair
queue = Queue.new
$stdin.sync = $stdout.sync = true
trap("USR1") do
  $counts["signals"] += 1
  $stdout.write("s\n")
end
%i[allocate wait resume].each { |name| start(name) }
start(:exchange, left)
start(:receive, right)
start(:hand, queue)
start(:take, queue)
$stdout.write("ready\n")
beat
