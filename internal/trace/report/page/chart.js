// What all charts have in common.

const data = JSON.parse(document.getElementById("data").textContent);
const ink = "#5b6675", grid = { stroke: "#e9edf2", width: 1 };
const font = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', sans-serif";
const dashes = [undefined, [6, 3], [2, 3], [10, 3, 2, 3]];
const charts = {};

for (const i of document.querySelectorAll("i[data-colour]")) i.style.background = i.dataset.colour;

function element(name, text, parent) {
	const e = document.createElement(name);
	if (text) e.textContent = text;
	if (parent) parent.append(e);
	return e;
}

// place answers where the chart of a section goes, empty.
function place(id) {
	if (charts[id]) charts[id].destroy();
	delete charts[id];
	const where = document.querySelector("#" + id + " .plot");
	where.replaceChildren();
	hideTip();
	return where;
}

function nothing(id, text) {
	element("p", text, place(id)).className = "none";
}

// draw makes the chart of a section, which keeps the section's width.
function draw(id, options, columns) {
	const where = place(id);
	const chart = new uPlot({ width: Math.max(200, where.clientWidth), ...options }, columns, where);
	charts[id] = chart;
	return chart;
}

const resized = new ResizeObserver((entries) => {
	for (const e of entries) {
		const chart = charts[e.target.parentElement.id];
		const width = Math.max(200, Math.floor(e.contentRect.width));
		if (chart && !chart.square && chart.width !== width) chart.setSize({ width, height: chart.height });
	}
});
for (const p of document.querySelectorAll(".plot")) resized.observe(p);

function axis(more) {
	return { stroke: ink, grid, ticks: grid, font, labelFont: font, labelSize: 18, ...more };
}

// binary are the steps of an axis of bytes.
const binary = Array.from({ length: 60 }, (_, i) => 2 ** i);

// powers are where a logarithmic axis has lines: at powers of ten, and at 2 and 5 times
// them if there are few.
function powers(_u, _axis, min, max) {
	const first = Math.floor(Math.log10(min)), last = Math.ceil(Math.log10(max)), all = [];
	for (let k = first; k <= last; k++) {
		for (const m of last - first > 4 ? [1] : [1, 2, 5]) all.push(m * 10 ** k);
	}
	return all.filter((v) => v >= min * 0.999 && v <= max * 1.001);
}

// powersOfTwo is the same for bytes.
function powersOfTwo(_u, _axis, min, max) {
	const first = Math.floor(Math.log2(min)), last = Math.ceil(Math.log2(max)), step = Math.ceil((last - first) / 8), all = [];
	for (let k = first; k <= last; k += step) all.push(2 ** k);
	return all.filter((v) => v >= min && v <= max);
}

const logarithmic = { splits: powers, filter: (_, splits) => splits };

// colour answers a colour of the page with a transparency.
function colour(hex, alpha) {
	return hex + Math.round(255 * alpha).toString(16).padStart(2, "0");
}

// The tip tells about what is under the pointer; of lines, the first is a heading.
const tip = document.getElementById("tip");

function showTip(event, lines) {
	tip.replaceChildren();
	element("b", lines[0], tip);
	tip.append(lines.slice(1).filter(Boolean).join("\n"));
	tip.hidden = false;
	const x = event.clientX + 14, y = event.clientY + 14;
	tip.style.left = Math.max(4, x + tip.offsetWidth > innerWidth ? event.clientX - tip.offsetWidth - 14 : x) + "px";
	tip.style.top = Math.max(4, y + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 14 : y) + "px";
}

function hideTip() {
	tip.hidden = true;
}
addEventListener("scroll", hideTip);

function whenChanged(selector, f) {
	for (const e of document.querySelectorAll(selector)) e.addEventListener("change", f);
}
