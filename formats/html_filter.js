// SPDX-License-Identifier: Apache-2.0
// Gives speedscope a profile of one process or thread, or of one type of exceptions only. What there is to
// choose is known by the names of the threads' profiles (timeline_thread_name()), and by the frames of labels.
(function () {
"use strict";
const packed = document.getElementById("profile").textContent.trim();
const picker = document.getElementById("picker"), select = picker.querySelector("select");
const output = picker.querySelector("output");

function load(text) {
	window.speedscope.loadFileFromBase64("dwarfprof.speedscope.json", text);
}

async function unpack() {
	const bytes = Uint8Array.from(atob(packed), c => c.charCodeAt(0));
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
	return JSON.parse(await new Response(stream).text());
}

function encode(profile) {
	let text = "";
	for (const byte of new TextEncoder().encode(JSON.stringify(profile)))
		text += String.fromCharCode(byte);
	return btoa(text);
}

// One thread after the other: their order in time is in none of them.
function join(threads, name) {
	const joined = Object.assign({}, threads[0], { name, startValue: 0, samples: [], weights: [] });
	for (const thread of threads) {
		for (const sample of thread.samples)
			joined.samples.push(sample);
		for (const weight of thread.weights)
			joined.weights.push(weight);
	}
	joined.endValue = joined.weights.reduce((sum, weight) => sum + weight, 0);
	return joined;
}

function add(parent, text, threads) {
	const option = document.createElement("option");
	option.textContent = text;
	option.threads = threads;
	parent.append(option);
}

// Those of the stacks with a frame.
function restrict(all, frame, name) {
	const profile = Object.assign({}, all, { name, startValue: 0, samples: [], weights: [] });
	all.samples.forEach((sample, i) => {
		if (!sample.includes(frame))
			return;
		profile.samples.push(sample);
		profile.weights.push(all.weights[i]);
	});
	profile.endValue = profile.weights.reduce((sum, weight) => sum + weight, 0);
	return profile;
}

// A view for each type, the most frequent first. all: the profile of all threads.
function offerExceptions(file, all) {
	const group = document.createElement("optgroup"), types = [];
	file.shared.frames.forEach((frame, i) => {
		const found = !frame.kind && /^\[exception\.type=(.*)\]$/s.exec(frame.name);
		if (found)
			types.push(restrict(all, i, `exception ${found[1]}`));
	});
	types.sort((a, b) => b.endValue - a.endValue);
	group.label = "exceptions";
	for (const type of types)
		add(group, `${type.name}: ${type.endValue}`, [type]);
	for (const option of group.children)
		option.total = all.endValue;
	if (types.length)
		select.append(group);
}

function offer(file) {
	const processes = new Map(), totals = new Map(); // totals: by event, of which "" is the only one
	for (const thread of file.profiles) {
		const found = / \(PID (\d+)(?:, TID \d+)?\)$/.exec(thread.name);
		if (!found) {
			const event = /^(.*), all threads: /.exec(thread.name);
			totals.set(event ? event[1] : "", thread.endValue);
			continue;
		}
		const event = [...totals.keys()].find(name => name && thread.name.includes(`, ${name} (PID `)) || "";
		const key = `${found[1]} ${event}`;
		if (!processes.has(key))
			processes.set(key, { pid: found[1], event, own: [] });
		processes.get(key).own.push(thread);
	}
	add(select, "all threads of all processes", null);
	for (const { pid, event, own } of processes.values()) {
		const group = document.createElement("optgroup");
		const main = own.find(thread => thread.name.endsWith(` (PID ${pid})`));
		group.label = main ? main.name : event ? `${event} (PID ${pid})` : `PID ${pid}`;
		if (own.length > 1 || processes.size > 1)
			add(group, `process ${group.label}: ${own.length} ${own.length > 1 ? "threads" : "thread"}`, own);
		if (own.length > 1)
			for (const thread of own)
				add(group, "thread " + thread.name, [thread]);
		for (const option of group.children)
			option.total = totals.get(event);
		select.append(group);
	}
	if (totals.has(""))
		offerExceptions(file, file.profiles[0]);
	select.onchange = () => {
		const option = select.selectedOptions[0], own = option.threads;
		if (!own) {
			output.textContent = "";
			return load(packed);
		}
		const shown = own.length > 1 ? [join(own, option.textContent), ...own] : own;
		const share = shown[0].endValue / option.total;
		output.textContent = `${(100 * share).toFixed(1)} % of all`;
		load(encode(Object.assign({}, file, { profiles: shown, activeProfileIndex: 0 })));
	};
	picker.hidden = select.options.length < 3;
}

unpack().then(offer);
})();
