// SPDX-License-Identifier: Apache-2.0
// Which colours functions have in speedscope, whose script embed_viewer.py changes to ask for them: with
// functions of a language, those of each kind have a part of its circle of hues, and the page's head says
// which. Without, all of it is theirs, in order of their files, as speedscope has it.
(function () {
"use strict";
const legend = document.getElementById("kinds");
// speedscope leaves out the end of the circle; a quarter of each part stays free.
const CIRCLE = 324, USED = 0.75;

function show(kinds) {
	legend.replaceChildren(...kinds.map((kind, i) => {
		const item = document.createElement("span"), colour = document.createElement("i");
		colour.style.background = `hsl(${CIRCLE * (i + USED / 2) / kinds.length} 50% 70%)`;
		item.append(colour, kind);
		return item;
	}));
}

// functions: in order of their files; set: tells the number of a function's colour, up to 255.
window.dwarfprofColours = (functions, set) => {
	const of = new Map();
	for (const f of functions) {
		const kind = f.kind || "native"; // processes and labels have none
		if (!of.has(kind))
			of.set(kind, []);
		of.get(kind).push(f);
	}
	const kinds = [...of.keys()].sort(), isMixed = kinds.some(kind => kind !== "native" && kind !== "kernel");
	show(isMixed ? kinds : []);
	if (!isMixed)
		return functions.forEach((f, i) => set(f, Math.floor(255 * i / functions.length)));
	kinds.forEach((kind, i) => of.get(kind).forEach((f, j, own) =>
		set(f, Math.floor(255 * (i + USED * j / own.length) / kinds.length))));
};
})();
