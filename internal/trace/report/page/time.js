// The three charts over time: operations, rails, counters. They show the same part of
// the time and have a cursor in common.

const seconds = 1e-9;
const begin = data.Bins.Start * seconds;
const end = (data.Bins.Start + data.Bins.Width * data.Bins.Count) * seconds;
const rails = data.Rails.map((r, i) => ({ ...r, number: i, on: true })).filter((r) => r.Ops.length);
const timeCharts = ["operations", "shares", "counters"];
let shown = { min: begin, max: end };

// More bins than this at once are only noise: then several are taken together, so that
// zooming in shows more.
const mostBins = 256;
const together = () => ((shown.max - shown.min) / (data.Bins.Width * seconds) > mostBins ? data.Coarse : 1);
const binSeconds = () => together() * data.Bins.Width * seconds;

// middles answers the middles of the bins.
function middles() {
	const width = data.Bins.Width * together();
	return Array.from({ length: Math.ceil(data.Bins.Count / together()) }, (_, i) => (data.Bins.Start + width * (i + 0.5)) * seconds);
}

// means answers the mean of each bin's values, of those that there are.
function means(values) {
	const n = together();
	if (n === 1) return values;
	const all = [];
	for (let i = 0; i < values.length; i += n) {
		const known = values.slice(i, i + n).filter((v) => v !== null);
		all.push(known.length ? known.reduce((a, b) => a + b) / known.length : null);
	}
	return all;
}

// timeSeries shows in the legend which bin the values are of.
const timeSeries = { label: "time", value: (_, v) => (v === null ? "–" : times([v - binSeconds() / 2, v + binSeconds() / 2]).join(" – ")) };

const whole = () => shown.min <= begin && shown.max >= end;

function showRange(min, max) {
	min = Math.max(begin, min);
	max = Math.min(end, max);
	if (!(max - min > 1e-9) || (min === shown.min && max === shown.max)) return;
	const before = together();
	shown = { min, max };
	if (together() === before) for (const id of timeCharts) charts[id]?.setScale("x", shown);
	else drawTimeCharts();
	document.getElementById("reset").disabled = whole();
	document.getElementById("range").textContent = whole() ? "" : duration((max - min) / seconds) + " from " + duration((min - begin) / seconds);
}
document.getElementById("reset").addEventListener("click", () => showRange(begin, end));

// drawOverTime makes a chart over time.
function drawOverTime(id, options, columns) {
	const chart = draw(id, {
		height: 300,
		...options,
		cursor: {
			drag: { x: true, y: false, setScale: false },
			// Only where the pointer is; zooming is told by showRange.
			sync: { key: "time", filters: { pub: (type) => type === "mousemove" || type === "mouseleave" } },
			bind: { dblclick: () => () => { showRange(begin, end); return null; } },
			points: { size: 6 },
			...options.cursor,
		},
		scales: { x: { time: false, range: () => [shown.min, shown.max] }, ...options.scales },
		axes: [axis({ values: (_, splits) => times(splits), space: 90, size: 36 }), ...options.axes],
		hooks: {
			...options.hooks,
			setSelect: [(u) => {
				if (u.select.width < 2) return;
				showRange(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
				u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
			}],
		},
	}, columns);
	// Turning the wheel with Ctrl zooms around the pointer.
	chart.over.addEventListener("wheel", (e) => {
		if (!e.ctrlKey) return;
		e.preventDefault();
		const at = chart.posToVal(e.offsetX, "x"), by = e.deltaY < 0 ? 0.7 : 1 / 0.7;
		showRange(at - (at - shown.min) * by, at + (shown.max - at) * by);
	}, { passive: false });
	return chart;
}

// The operations: points in a scale that the percentiles share.

const points = (() => {
	const p = data.Points, n = p.Start ? p.Start.length : 0;
	const start = new Float64Array(n);
	let t = 0;
	for (let i = 0; i < n; i++) start[i] = (t += p.Start[i]) * seconds;
	return { ...p, n, start, railOf: data.Rails.map((_, i) => rails.find((r) => r.number === i)) };
})();

const checked = (id) => document.getElementById(id).checked;
const onRail = (i) => { const r = points.railOf[points.Rail[i]]; return r && r.on; };

const percentiles = (r) => (together() === 1 ? r.Fine : r.Coarse);

// durationRange answers the shortest and the longest duration of what is shown.
function durationRange() {
	let low = Infinity, high = 0;
	const see = (v) => { if (v !== null) { low = Math.min(low, v); high = Math.max(high, v); } };
	for (let i = 0; i < points.n; i++) {
		if (onRail(i) && points.start[i] <= shown.max && points.start[i] + points.Duration[i] * seconds >= shown.min) see(Math.max(1, points.Duration[i]));
	}
	middles().forEach((t, b) => {
		if (t < shown.min || t > shown.max) return;
		for (const r of rails) if (r.on) { see(percentiles(r).P50[b]); see(percentiles(r).P99[b]); }
	});
	return low > high ? [1, 1e3] : [Math.max(0.8, low * 0.8), high * 1.3];
}

function drawMarks(u) {
	if (!checked("show-marks")) return;
	const ctx = u.ctx, { left, top, width, height } = u.bbox, mark = 2.5 * devicePixelRatio;
	ctx.save();
	ctx.beginPath();
	ctx.rect(left, top, width, height);
	ctx.clip();
	const perSecond = width / (shown.max - shown.min);
	for (const r of rails) {
		if (!r.on) continue;
		ctx.fillStyle = colour(r.Colour, 0.45);
		for (let i = 0; i < points.n; i++) {
			if (points.Rail[i] !== r.number || points.Errors[i]) continue;
			const x = left + (points.start[i] - shown.min) * perSecond, long = points.Duration[i] * seconds * perSecond;
			if (x + long < left || x > left + width) continue;
			const y = u.valToPos(Math.max(1, points.Duration[i]), "y", true);
			ctx.fillRect(x, y - mark / 2, Math.max(mark, long), mark);
		}
	}
	ctx.lineWidth = 2 * devicePixelRatio;
	ctx.strokeStyle = "#b3261e";
	ctx.beginPath();
	for (const i of Object.keys(points.Errors)) {
		if (!onRail(i)) continue;
		const x = left + (points.start[i] - shown.min) * perSecond, y = u.valToPos(Math.max(1, points.Duration[i]), "y", true), s = 2 * mark;
		ctx.moveTo(x - s, y - s); ctx.lineTo(x + s, y + s);
		ctx.moveTo(x - s, y + s); ctx.lineTo(x + s, y - s);
	}
	ctx.stroke();
	ctx.restore();
}

// nearest answers the operation under the pointer, or -1.
function nearest(u, x, y) {
	const perSecond = u.over.clientWidth / (shown.max - shown.min), reach = 8;
	let best = -1, least = reach * reach;
	for (let i = 0; i < points.n; i++) {
		const from = (points.start[i] - shown.min) * perSecond, to = from + points.Duration[i] * seconds * perSecond;
		if (from > x + reach || to < x - reach || !onRail(i)) continue;
		const dx = x < from ? from - x : x > to ? x - to : 0, dy = u.valToPos(Math.max(1, points.Duration[i]), "y") - y;
		if (dx * dx + dy * dy < least) { least = dx * dx + dy * dy; best = i; }
	}
	return best;
}

function operationTip(i) {
	const link = data.Links[points.Link[i]], peer = link.Peer < 0 ? "an unknown rank" : "rank " + link.Peer;
	return [
		data.Ops[points.Op[i]] + ", " + bytes(points.Bytes[i]) + ", " + duration(points.Duration[i]),
		"rank " + link.Rank + " with " + peer,
		link.Rail + ": " + link.Name,
		"began at " + (points.start[i] * 1e3).toFixed(6) + " ms, tag 0x" + points.Tag[i],
		points.Errors[i] && "failed: " + points.Errors[i],
	];
}

function drawOperations() {
	const series = [timeSeries];
	const columns = [middles()];
	for (const r of rails) {
		const { P50, P99 } = percentiles(r);
		for (const [name, values, box, dash] of [["p50", P50, "show-p50", undefined], ["p99", P99, "show-p99", [5, 3]]]) {
			if (!r.on || !checked(box)) continue;
			series.push({
				label: r.Name + " " + name, stroke: r.Colour, width: 1.5, dash, spanGaps: true, points: { show: false },
				value: (_, v) => (v === null ? "–" : duration(v)),
			});
			columns.push(values);
		}
	}
	const chart = drawOverTime("operations", {
		height: 380, series,
		scales: { y: { distr: 3, range: durationRange } },
		axes: [axis({ ...logarithmic, label: "duration", size: 80, values: (_, splits) => splits.map((v) => (v === null ? "" : duration(v))) })],
		hooks: { drawAxes: [drawMarks] },
	}, columns);
	chart.over.addEventListener("mousemove", (e) => {
		const i = checked("show-marks") ? nearest(chart, e.offsetX, e.offsetY) : -1;
		if (i < 0) hideTip();
		else showTip(e, operationTip(i));
	});
	chart.over.addEventListener("mouseleave", hideTip);
}

// The rails, stacked.

const shareViews = {
	bytes: { of: (r) => means(r.Bytes).map((v) => v / data.Bins.Width / seconds), label: "bytes per second", text: (v) => bytes(v) + "/s", incrs: binary },
	ops: { of: (r) => means(r.Ops).map((v) => v / data.Bins.Width / seconds), label: "operations per second", text: count },
	share: { of: (r) => means(r.Bytes), label: "share of bytes", text: percent, sum: 1 },
};

function drawShares() {
	const view = shareViews[document.getElementById("shares-view").value];
	const on = rails.filter((r) => r.on);
	let layers = on.map(view.of);
	if (view.sum) {
		const sums = middles().map((_, b) => layers.reduce((sum, l) => sum + l[b], 0));
		layers = layers.map((l) => l.map((v, b) => (sums[b] > 0 ? v / sums[b] : null)));
	}
	const tops = []; // each with all layers below it
	layers.forEach((l, i) => tops.push(l.map((v, b) => (v === null ? null : v + (i > 0 ? tops[i - 1][b] : 0)))));
	const series = [timeSeries];
	const columns = [middles()];
	for (let i = on.length - 1; i >= 0; i--) { // what is drawn later covers what is above it
		series.push({
			label: on[i].Name, stroke: on[i].Colour, fill: on[i].Colour, width: 0, points: { show: false },
			paths: uPlot.paths.stepped({ align: 0 }),
			value: (_u, _v, _s, b) => (b === null || layers[i][b] === null ? "–" : view.text(layers[i][b])),
		});
		columns.push(tops[i]);
	}
	drawOverTime("shares", {
		height: 260, series,
		scales: { y: { range: (_u, _min, max) => [0, view.sum || (max > 0 ? max * 1.05 : 1)] } },
		axes: [axis({ label: view.label, size: 80, incrs: view.incrs, values: (_, splits) => splits.map(view.text) })],
	}, columns);
}

// The counters.

const counters = (data.Counters || []).map((c) => ({ ...c, on: false }));
const isBytes = (c) => /byte|octet/i.test(c.Name);

function chooseCounters() {
	const most = 8, byTotal = [...counters].sort((a, b) => isBytes(b) - isBytes(a) || b.Total - a.Total);
	for (const c of byTotal.slice(0, most)) c.on = isBytes(c) || !isBytes(byTotal[0]);
	const spare = ["#7b4fa3", "#8c6d31", "#17becf", "#a50f15", "#4d9221", "#3f007d", "#5b6675"];
	const seen = {};
	let next = 0;
	const ofDevice = {};
	for (const c of counters) {
		const rail = rails.find((r) => (r.Devices || []).includes(c.Device));
		c.Colour = rail ? rail.Colour : ofDevice[c.Device] || (ofDevice[c.Device] = spare[next++ % spare.length]);
		seen[c.Colour] = (seen[c.Colour] || 0) + 1;
	}
	const list = document.querySelector("#counters-choice .list");
	for (const c of counters) {
		const label = element("label", "", list), box = element("input", "", label);
		box.type = "checkbox";
		box.checked = c.on;
		label.append(" " + c.Name);
		box.addEventListener("change", () => { c.on = box.checked; drawCounters(); });
	}
}

function drawCounters() {
	const on = counters.filter((c) => c.on);
	document.querySelector("#counters-choice summary").textContent = on.length + " of " + counters.length + " counters";
	if (!counters.length) return nothing("counters", "No counters were recorded, or none changed.");
	const allBytes = on.every(isBytes), log = checked("counters-log");
	const text = (v) => (v === null ? "–" : allBytes ? bytes(v) + "/s" : count(v));
	const series = [timeSeries];
	const used = {};
	for (const c of on) {
		const dash = dashes[(used[c.Colour] = (used[c.Colour] ?? -1) + 1) % dashes.length];
		series.push({ label: c.Name, stroke: c.Colour, width: 1.5, dash, points: { show: false }, value: (_, v) => text(v) });
	}
	drawOverTime("counters", {
		height: 260, series,
		scales: { y: log ? { distr: 3 } : { range: (_u, _min, max) => [0, max > 0 ? max * 1.05 : 1] } },
		axes: [axis({ label: allBytes ? "bytes per second" : "growth per second", size: 80, ...(log ? { ...logarithmic, splits: allBytes ? powersOfTwo : powers } : { incrs: allBytes ? binary : undefined }), values: (_, splits) => splits.map((v) => (v === null ? "" : text(v))) })],
	}, [middles(), ...on.map((c) => means(c.Rate).map((v) => (log && !(v > 0) ? null : v)))]);
}

for (const b of document.querySelectorAll("button.rail")) {
	b.addEventListener("click", () => {
		const r = rails.find((r) => r.Name === b.dataset.rail);
		r.on = !r.on;
		b.setAttribute("aria-pressed", r.on);
		drawOperations();
		drawShares();
	});
}
whenChanged("#operations .controls input", drawOperations);
whenChanged("#shares-view", drawShares);
whenChanged("#counters-log", drawCounters);
function drawTimeCharts() {
	drawOperations();
	drawShares();
	drawCounters();
}

if (data.Bins.Count) {
	chooseCounters();
	drawTimeCharts();
}
