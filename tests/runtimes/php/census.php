<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// A workload (tests/workloads/workload.h) that knows its own objects: 1,000 of each holder, and 500 in
// cycles that nothing else holds. Each line of its input is a command.

gc_disable();

const COUNT = 1000;
const CYCLES = 250;

class ByGlobal {}
class ByStaticProperty {}
class ByStaticVariable {}
class ByMethodVariable {}
class ByUse {}
class ByThis {}
class ByPrivate {}
class ByDynamic {}
class ByLocal {}
class ByGenerator {}
class ByFiber {}
class ByStorage {}
class ByFixedArray {}
class ByWeakMap {}
class ByConstant {}
class ByReference {}
class ByIterated {}
class Weakly {}
class InCycle
{
	public $other;
}
enum Suit
{
	case Hearts;
	case Spades;
}

class Registry
{
	public static $instances = [];

	public static function add($object)
	{
		self::$instances[] = $object;
	}
}

class Base
{
	private $items = [];

	public function keep($item)
	{
		$this->items[] = $item;
	}
}

// Its parent's private property has the same name.
class Holder extends Base
{
	private $items = 'none';

	public function note($object)
	{
		static $notes = [];
		$notes[] = $object;
	}

	public function watcher($held)
	{
		$this->held = $held;
		return fn() => $this;
	}

	public $held;
}

class Named
{
	public const SUIT = Suit::Hearts;
}

function remember($object)
{
	static $seen = [];
	$seen[] = $object;
}

function planted($class)
{
	$made = [];
	for ($i = 0; $i < COUNT; $i++) {
		$made[] = new $class();
	}
	return $made;
}

function generate()
{
	$mine = planted('ByGenerator');
	yield 1;
	yield count($mine);
}

function plant_cycles()
{
	for ($i = 0; $i < CYCLES; $i++) {
		$one = new InCycle();
		$other = new InCycle();
		$one->other = $other;
		$other->other = $one;
	}
}

function plant_closure()
{
	$held = planted('ByUse');
	return function () use ($held) {
		return count($held);
	};
}

function answer($command)
{
	if ($command === 'truth') {
		echo json_encode([
			'version' => PHP_VERSION,
			'usage' => memory_get_usage(),
			'real_usage' => memory_get_usage(true),
			'instances' => count(Registry::$instances),
		]), "\n";
	} elseif ($command === 'more') {
		for ($i = 0; $i < 300; $i++) {
			Registry::add(new ByStaticProperty());
		}
		echo "done\n";
	} elseif ($command === 'collect') {
		gc_collect_cycles();
		echo "done\n";
	}
}

function main()
{
	$local = planted('ByLocal');
	// Held by a value in between only: the loop's own copy of the array.
	foreach (planted('ByIterated') as $one) {
		unset($one);
		echo "ready\n";
		while (($line = fgets(STDIN)) !== false && trim($line) !== 'quit') {
			answer(trim($line));
		}
		break;
	}
	return count($local);
}

foreach (planted('ByGlobal') as $i => $object) {
	$cache["address $i"] = $object;
}
foreach (planted('ByStaticProperty') as $object) {
	Registry::add($object);
}
foreach (planted('ByStaticVariable') as $object) {
	remember($object);
}
$holder = new Holder();
foreach (planted('ByMethodVariable') as $object) {
	$holder->note($object);
}
foreach (planted('ByPrivate') as $object) {
	$holder->keep($object);
}
$callback = plant_closure();
$watcher = (new Holder())->watcher(planted('ByThis'));
$settings = new stdClass();
foreach (planted('ByDynamic') as $i => $object) {
	$settings->{"option $i"} = $object;
}
$generator = generate();
$generator->current();
$fiber = new Fiber(function () {
	$kept = planted('ByFiber');
	Fiber::suspend();
	return count($kept);
});
$fiber->start();
$storage = new SplObjectStorage();
foreach (planted('ByStorage') as $object) {
	$storage->attach($object);
}
$fixed = SplFixedArray::fromArray(planted('ByFixedArray'));
$weak_map = new WeakMap();
$weak_keys = planted('Weakly');
foreach ($weak_keys as $object) {
	$weak_map[$object] = new ByWeakMap();
}
$weak_references = array_map(fn($object) => WeakReference::create($object), $weak_keys);
class Limits
{
	public const ALL = [Suit::Spades];
}
define('HELD', new ArrayObject(planted('ByConstant')));
$referred = planted('ByReference');
$reference = &$referred;
$suits = [Named::SUIT, Limits::ALL];
unset($object, $referred);
plant_cycles();
main();
