// SPDX-License-Identifier: GPL-2.0-or-later
// An ES module with what it exports.
class PlantedExported {}

export const exported = Array.from({length: 70}, () => new PlantedExported());
