// SPDX-License-Identifier: Apache-2.0
// What a flame graph does in a browser: zoom, search and reset, as flamegraph.pl's. Without scripts
// the picture is whole. Sizes are PICTURE_MARGIN and _CHARACTER of picture.h.
(() => {
"use strict";
const svg = document.currentScript.closest("svg"), html = "http://www.w3.org/1999/xhtml";
const margin = 10, whole = svg.viewBox.baseVal.width - 2 * margin, character = 6.7, rounding = 0.011;

const boxes = [...svg.querySelectorAll("g")].map(g => {
	const rect = g.querySelector("rect"), number = name => Number(rect.getAttribute(name));
	// The title's first characters are the function's name.
	const name = Array.from(g.querySelector("title").textContent).slice(0, g.dataset.n);
	return { g, rect, name, text: g.querySelector("text"), fill: rect.getAttribute("fill"),
		 x: number("x"), y: number("y"), width: number("width") };
});
const bottom = Math.max(...boxes.map(box => box.y));
const all = boxes.filter(box => box.y === bottom);
const total = all.reduce((sum, box) => sum + box.width, 0);

function element(name, style, properties) {
	const made = Object.assign(document.createElementNS(html, name), properties);
	made.setAttribute("style", style);
	return made;
}

function write(box, x, width) {
	const room = width > 6 ? Math.floor((width - 6) / character) : 0;

	box.rect.setAttribute("x", x.toFixed(2));
	box.rect.setAttribute("width", width.toFixed(2));
	if (room < 3) {
		if (box.text)
			box.text.style.display = "none";
		return;
	}
	if (!box.text) {
		box.text = document.createElementNS(svg.namespaceURI, "text");
		box.text.setAttribute("y", box.y + 12);
		box.g.append(box.text);
	}
	box.text.style.display = "";
	box.text.setAttribute("x", (x + 3).toFixed(2));
	box.text.textContent = box.name.length > room ? box.name.slice(0, room - 2).join("") + ".." : box.name.join("");
}

function contains(outer, inner) {
	return outer.x <= inner.x + rounding && inner.x + inner.width <= outer.x + outer.width + rounding;
}

// The box is as wide as the picture, as are those that it is in; null: all is as it was.
function zoom(to) {
	for (const box of boxes) {
		const within = !to || (box.y <= to.y && contains(to, box));
		const around = to && box.y > to.y && contains(box, to);
		box.g.style.display = within || around ? "" : "none";
		box.g.style.opacity = around ? 0.5 : 1;
		if (around)
			write(box, margin, whole);
		else if (within)
			write(box, to ? margin + (box.x - to.x) * whole / to.width : box.x,
			      to ? box.width * whole / to.width : box.width);
	}
	unzoom.style.display = to ? "" : "none";
}

function pattern(text) {
	try {
		return new RegExp(text);
	} catch {
		return new RegExp(text.replace(/[^\w\s]/g, "\\$&")); // not finished yet, perhaps
	}
}

// What is inside of a box that was found is part of its share.
function search() {
	const sought = input.value && pattern(input.value), found = [];
	let sum = 0;

	for (const box of boxes) {
		const is = sought && sought.test(box.name.join(""));
		box.rect.setAttribute("fill", is ? "#e600e6" : box.fill);
		if (is)
			found.push(box);
	}
	found.sort((a, b) => b.y - a.y);
	found.forEach((box, i) => {
		if (!found.slice(0, i).some(other => other.y > box.y && contains(other, box)))
			sum += box.width;
	});
	matched.textContent = sought ? (100 * sum / total).toFixed(1) + " %" : "";
}

const place = document.createElementNS(svg.namespaceURI, "foreignObject");
const row = element("div", "display:flex;gap:8px;align-items:center;justify-content:flex-end;font-size:11px");
const unzoom = element("button", "font-size:11px;display:none", { textContent: "Reset zoom", onclick: () => zoom(null) });
const matched = element("span", "min-width:50px;text-align:right", { className: "matched" });
const input = element("input", "width:150px;font-size:11px", { placeholder: "search (Ctrl-F)", oninput: search });
for (const [key, value] of Object.entries({ x: whole + margin - 320, y: 24, width: 320, height: 24 }))
	place.setAttribute(key, value);
row.append(unzoom, matched, input);
place.append(row);
svg.append(place);
for (const box of boxes) {
	box.g.style.cursor = "pointer";
	box.g.onclick = () => zoom(box);
}
addEventListener("keydown", event => {
	if (event.key === "f" && (event.ctrlKey || event.metaKey)) {
		event.preventDefault();
		input.focus();
	} else if (event.key === "Escape") {
		input.value = "";
		search();
		zoom(null);
	}
});
})();
