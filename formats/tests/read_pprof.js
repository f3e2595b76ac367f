// SPDX-License-Identifier: Apache-2.0
//
// usage: node read_pprof.js PPROF-FORMAT FILE
//
// What npm's pprof-format finds in a profile, as JSON.
const fs = require('fs');
const zlib = require('zlib');
const { Profile } = require(process.argv[2]);

const profile = Profile.decode(zlib.gunzipSync(fs.readFileSync(process.argv[3])));
const string = (i) => profile.stringTable.strings[Number(i)];
const byId = (list) => new Map(list.map((x) => [String(x.id), x]));
const functions = byId(profile.function);
const locations = byId(profile.location);
const mappings = byId(profile.mapping);

function frame(id) {
	const location = locations.get(String(id));
	const mapping = mappings.get(String(location.mappingId));
	return {
		address: Number(location.address),
		mapping: mapping ? string(mapping.filename) : null,
		lines: location.line.map((l) => string(functions.get(String(l.functionId)).name)),
	};
}

console.log(JSON.stringify({
	types: profile.sampleType.map((t) => `${string(t.type)}/${string(t.unit)}`),
	comments: profile.comment.map(string),
	ids: [profile.location, profile.function, profile.mapping].map((l) => l.map((x) => Number(x.id))),
	samples: profile.sample.map((s) => ({
		values: s.value.map(Number),
		labels: Object.fromEntries(s.label.map((l) => [string(l.key), l.numUnit ? Number(l.num) : string(l.str)])),
		frames: s.locationId.map(frame),
	})),
}));
