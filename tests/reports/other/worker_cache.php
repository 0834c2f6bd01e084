<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// A worker that runs for long with a static cache. Its memory is mappings of PHP's own allocator. `bounded`: the
// oldest goes at 2,000.
//
// kind: PHP objects
// leak php-static-cache: leak
//   part: managed-objects
//   code: string
//   holder: static \$cache in remember
// healthy php-cache-bounded: bounded
//   warm: 25
ini_set('memory_limit', '2G');

function remember(int $number, bool $bounded): void
{
	static $cache = [];
	$cache["key $number"] = str_repeat("value $number ", 60);
	if ($bounded && count($cache) > 2000)
		array_shift($cache);
}

for ($number = 0;; $number++) {
	remember($number, ($argv[1] ?? '') === 'bounded');
	if ($number % 10 == 0)
		usleep(20000);
}
