#!/usr/bin/php
<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// Makes objects, cycles and arrays until it is killed, beside 3,000 objects that it keeps.

class Kept
{
	public function __construct(public string $name)
	{
	}
}

class Gone
{
	public $other;
}

function churn()
{
	$made = [];
	for ($i = 0; $i < 200; $i++) {
		$one = new Gone();
		$other = new Gone();
		$one->other = $other;
		$other->other = $one;
		$made["key $i"] = [$i, "text $i", $one];
	}
	return count($made);
}

for ($i = 0; $i < 3000; $i++) {
	$kept[] = new Kept("number $i");
}
echo "ready\n";
while (true) {
	churn();
}
