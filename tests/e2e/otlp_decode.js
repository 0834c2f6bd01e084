// SPDX-License-Identifier: GPL-2.0-or-later
//
// otlp_decode.js RUNTIMES metrics|logs FILE...: decodes requests of OTLP/HTTP by the collector's own
// schema, as OpenTelemetry's exporter for JavaScript has it compiled, and prints one JSON object a
// line. A field that the schema does not know fails: it would be lost there, too.
'use strict';
const fs = require('fs');
const Module = require('module');

const [runtimes, signal, ...files] = process.argv.slice(2);
const resolve = Module._resolveFilename;
Module._resolveFilename = (name, ...rest) => name === 'protobufjs/minimal' ?
	`${runtimes}/protobufjs/dist/minimal/protobuf.js` : resolve(name, ...rest);

const proto = require(`${runtimes}/otlp/build/src/generated/root.js`).opentelemetry.proto.collector;
const service = signal === 'metrics' ? proto.metrics.v1.ExportMetricsServiceRequest
	: proto.logs.v1.ExportLogsServiceRequest;

for (const file of files) {
	const body = fs.readFileSync(file);
	const message = service.decode(body);
	const again = service.encode(message).finish();
	if (again.length !== body.length)
		throw new Error(`${file}: ${body.length} bytes, of which the schema knows ${again.length}`);
	console.log(JSON.stringify(service.toObject(message, {longs: String, enums: String})));
}
