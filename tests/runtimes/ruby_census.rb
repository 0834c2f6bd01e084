# SPDX-License-Identifier: GPL-2.0-or-later
#
# ruby_census.rb [DUMP]
#
# A program that knows its own truth: 1,000 objects of a class for each way to hold them, 300 cycles
# that nothing holds, 40 threads that have ended, entries of weak tables. Prints one line once they
# stand, then waits. With DUMP, the interpreter's own dump of all its objects is in that file before.
require "objspace"
require "weakref"

%w[ByConst ByGlobal ByClassVariable ByClassIvar ByIvar ByStruct ByHash ByLocal ByClosure ByFiber
   ByThreadLocal ByThreadVariable ByFinalizer ByGeneric InCycle Weak ByBinding ByModule BySplit
   ByDefault ByNested ByMethod ByBigHash ByAnonymous Keyed ByEnumerator ByQueue].each do |name|
  Object.const_set(name, Class.new do
    attr_accessor :number, :other

    def initialize(number)
      @number = number
    end
  end)
end

def make(kind, count = 1000)
  Array.new(count) { |i| kind.new(i) }
end

class Store
  CACHE = { list: make(ByConst) }
  @@all = make(ByClassVariable)
  @registry = make(ByClassIvar)

  class << self
    attr_reader :registry
  end

  def self.all
    @@all
  end

  def initialize
    @items = make(ByIvar)
    @a = @b = @c = @d = nil
  end
end

module Library
  module Inner
    ITEMS = make(ByModule)
  end
end

Pair = Struct.new(:left, :right, :third, :fourth)

class Many
  20.times { |i| attr_accessor "field#{i}" }

  def initialize(held)
    20.times { |i| instance_variable_set("@field#{i}", i) }
    @last = held
  end
end

$store = Store.new
$list = make(ByGlobal)
$pairs = make(ByStruct).map { |held| Pair.new(nil, held, 3, 4) }
$small = Array.new(250) { |i| { id: i, held: ByHash.new(i) } }
$large = (0...750).to_h { |i| [i, ByHash.new(i)] }
$many = make(BySplit).map { |held| Many.new(held) }
$default = Hash.new(make(ByDefault))
$nested = make(ByNested).map { |held| [[held]] }
$method = make(ByMethod).map { |held| held.method(:number) }
$by_identity = {}.compare_by_identity
make(Keyed).each { |key| $by_identity[key] = true }
$queue = Queue.new
make(ByQueue).each { |held| $queue << held }
$enumerator = make(ByEnumerator).each_with_index
$anonymous = Class.new { const_set(:HELD, make(ByAnonymous, 1000)) }.new
$big = {}
make(ByBigHash).each_with_index { |held, i| $big["key #{i}".to_sym] = held }
$text = +"a string with variables"
$text.instance_variable_set(:@held, make(ByGeneric))

def closure
  held = make(ByClosure)
  -> { held.size }
end
$callbacks = { on_done: closure }

def bound
  kept = make(ByBinding)
  binding
end
$binding = bound

$fiber = Fiber.new do
  loc = make(ByFiber)
  Fiber.yield 1
  loc.size
end
$fiber.resume

def register(held)
  ObjectSpace.define_finalizer(held, proc { held })
end

def finalizable
  make(ByFinalizer, 300).each { |held| register(held) }
  nil
end
finalizable

def cycles
  300.times do
    one = InCycle.new(1)
    one.other = InCycle.new(2).tap { |two| two.other = one }
  end
end

$weak = ObjectSpace::WeakMap.new
$weak_refs = []
def weak
  200.times do |i|
    held = Weak.new(i)
    $weak[held] = Weak.new(-i)
    $weak_refs << WeakRef.new(held)
  end
end

$gate = Queue.new
$started = Queue.new

def work
  mine = make(ByLocal)
  Thread.current[:session] = make(ByThreadLocal)
  Thread.current.thread_variable_set(:kept, make(ByThreadVariable))
  $started << 1
  $gate.pop
  mine.size
end
$worker = Thread.new { work }
$started.pop
$ended = Array.new(40) { Thread.new { Thread.current[:job] = "done" } }
$ended.each(&:join)

# Words of calls that have ended are overwritten.
def deep(n, *rest)
  n.zero? ? 0 : deep(n - 1, *rest) + 1
end
Thread.new { weak; cycles }.join
deep(500, 1, 2, 3)
GC.start
GC.start
if ARGV[0]
  File.open(ARGV[0], "w") { |file| ObjectSpace.dump_all(output: file) }
end
puts "ready"
$stdout.flush
sleep
