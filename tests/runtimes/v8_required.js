// SPDX-License-Identifier: GPL-2.0-or-later
// A module that only require.cache holds: none of its functions uses its variables.
'use strict';

class PlantedRequired {}

exports.kept = Array.from({length: 80}, () => new PlantedRequired());
