// SPDX-License-Identifier: Apache-2.0
// Usage: node filter_html.js SCRIPT PROFILE
// Runs the filter of an HTML report on its packed profile, without a browser, and chooses each of its
// options. Prints as JSON what it shows, and the profiles that speedscope gets.
"use strict";
const fs = require("fs");

class Element {
	children = [];
	append(child) { this.children.push(child); }
	get options() { return this.children.flatMap(child => child.children.length ? child.children : [child]); }
}

const select = new Element(), output = {}, picker = { querySelector: name => name === "select" ? select : output };
const loaded = [];
globalThis.document = {
	createElement: () => new Element(),
	getElementById: id => id === "picker" ? picker : { textContent: fs.readFileSync(process.argv[3], "ascii") },
};
globalThis.window = { speedscope: { loadFileFromBase64: (name, text) => loaded.push(text) } };

function choose(option) {
	select.selectedOptions = [option];
	select.onchange();
	const file = option.threads && JSON.parse(Buffer.from(loaded.pop(), "base64"));
	return { option: option.textContent, output: output.textContent,
		 profiles: file ? file.profiles.map(p => [p.name, p.weights.reduce((a, b) => a + b, 0)]) : [] };
}

(0, eval)(fs.readFileSync(process.argv[2], "utf8"));
process.once("beforeExit", () => console.log(JSON.stringify(select.options.map(choose))));
