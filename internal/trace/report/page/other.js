// The charts over the whole trace: how long operations took, and who sent to whom.

function drawLatency() {
	const d = data.Latency, op = document.getElementById("latency-op").value;
	const tail = document.getElementById("latency-view").value === "tail";
	const paths = new Map(); // each path's counts, of the operations that are asked for
	for (const s of d.Series || []) {
		if (op && s.Op !== op) continue;
		const p = paths.get(s.Path) || { Colour: s.Colour, counts: new Array(d.Steps).fill(0) };
		s.Counts.forEach((n, k) => { p.counts[k] += n; });
		paths.set(s.Path, p);
	}
	if (!paths.size) return nothing("latency", "No operations.");
	const step = (k) => 10 ** ((d.First + k) / d.PerDecade);
	const x = [step(-0.5), ...Array.from({ length: d.Steps }, (_, k) => step(k + 0.5)), step(d.Steps + 0.5)];
	const series = [{ label: "duration", value: (_, v) => (v === null ? "" : "≈ " + duration(v)) }];
	const columns = [x], used = {};
	for (const [name, p] of paths) {
		const sum = p.counts.reduce((a, b) => a + b, 0);
		let above = sum;
		// Of what took longer, the first point is all.
		const values = p.counts.map((n) => (tail ? (above -= n) / sum : n / sum));
		columns.push([tail ? 1 : 0, ...values, 0].map((v) => (tail && v <= 0 ? null : v)));
		const dash = dashes[(used[p.Colour] = (used[p.Colour] ?? -1) + 1) % dashes.length];
		series.push({
			label: name, stroke: p.Colour, dash, width: 1.8, points: { show: false },
			fill: tail || paths.size > 6 ? undefined : colour(p.Colour, 0.08),
			paths: tail ? uPlot.paths.stepped({ align: -1 }) : uPlot.paths.spline(),
			value: (_, v) => (v === null ? "–" : percent(v)),
		});
	}
	draw("latency", {
		height: 320, series,
		cursor: { drag: { x: true, y: false }, points: { size: 6 } },
		scales: { x: { time: false, distr: 3 }, y: tail ? { distr: 3 } : { range: (_u, _min, max) => [0, max * 1.05] } },
		axes: [
			axis({ ...logarithmic, label: "duration", size: 46, space: 60, values: (_, splits) => splits.map((v) => (v === null ? "" : duration(v))) }),
			axis({ ...(tail ? logarithmic : {}), label: tail ? "operations that took longer" : "operations", size: 76, values: (_, splits) => splits.map((v) => (v === null ? "" : percent(v))) }),
		],
	}, columns);
}

for (const op of new Set((data.Latency.Series || []).map((s) => s.Op))) {
	const o = element("option", op, document.getElementById("latency-op"));
	o.value = op;
}
whenChanged("#latency .controls select", drawLatency);
drawLatency();

// shade answers the colour of a share of the most: pale to dark blue.
function shade(share) {
	const stops = [[237, 244, 250], [158, 202, 225], [33, 113, 181], [8, 40, 94]];
	const at = Math.min(0.9999, Math.max(0, share)) * (stops.length - 1), i = Math.floor(at);
	const mix = stops[i].map((v, k) => Math.round(v + (stops[i + 1][k] - v) * (at - i)));
	return "rgb(" + mix.join(",") + ")";
}

// drawMatrix draws a matrix as a heat map.
function drawMatrix(id, matrix, what) {
	const labels = matrix.Labels || [], cells = matrix.Cells || [], n = labels.length;
	if (!cells.length) return nothing(id, "No operations.");
	const isBytes = document.querySelector("#" + id + " .unit").value === "bytes";
	const value = (c) => c[isBytes ? 3 : 2], text = isBytes ? bytes : count;
	const most = Math.max(...cells.map(value), 1);
	// A square root brings out what is small beside what is large.
	const share = (c) => Math.sqrt(value(c) / most);
	const width = document.querySelector("#" + id + " .plot").clientWidth;
	const measure = document.createElement("canvas").getContext("2d");
	measure.font = font;
	const widest = Math.min(170, Math.max(...labels.map((l) => measure.measureText(l).width)) + 22);
	const side = Math.max(120, Math.min(width - widest - 40, 90 * n)), upright = widest > side / n;
	const splits = () => labels.map((_, i) => i + 0.5).filter((_, i) => i % Math.ceil((n * 16) / side) === 0);
	const names = (_, at) => at.map((v) => labels[Math.floor(v)].slice(0, 26));
	const below = upright ? widest + 8 : 30;
	const chart = draw(id, {
		width: Math.min(width, side + widest + 40), height: side + below + 28,
		legend: { show: false }, cursor: { show: false }, padding: [8, 16, 0, 0],
		series: [{}, { show: false }],
		scales: { x: { time: false, range: [0, n] }, y: { range: [0, n], dir: -1 } },
		axes: [
			axis({ splits, values: names, grid: { show: false }, ticks: { show: false }, size: below, rotate: upright ? -90 : 0, space: 10, label: "to " + what }),
			axis({ splits, values: names, grid: { show: false }, ticks: { show: false }, size: widest, space: 10, label: "from " + what }),
		],
		hooks: {
			drawAxes: [(u) => {
				const ctx = u.ctx, { left, top, width, height } = u.bbox, w = width / n, h = height / n, gap = Math.min(w, h) > 8 ? devicePixelRatio : 0;
				ctx.save();
				ctx.fillStyle = "#f4f6f9";
				ctx.fillRect(left, top, width, height);
				ctx.textAlign = "center";
				ctx.textBaseline = "middle";
				ctx.font = 11 * devicePixelRatio + "px sans-serif";
				for (const c of cells) {
					ctx.fillStyle = shade(share(c));
					ctx.fillRect(left + c[1] * w + gap, top + c[0] * h + gap, w - 2 * gap, h - 2 * gap);
					if (ctx.measureText(text(value(c))).width < w - 8 && h > 16 * devicePixelRatio) {
						ctx.fillStyle = share(c) > 0.5 ? "#fff" : "#1c2430";
						ctx.fillText(text(value(c)), left + (c[1] + 0.5) * w, top + (c[0] + 0.5) * h);
					}
				}
				ctx.restore();
			}],
		},
	}, [[0, n], [0, n]]);
	chart.square = true; // its width is its own
	const at = new Map(cells.map((c) => [c[0] * n + c[1], c]));
	chart.over.addEventListener("mousemove", (e) => {
		const to = Math.floor((e.offsetX / chart.over.clientWidth) * n), from = Math.floor((e.offsetY / chart.over.clientHeight) * n);
		const c = at.get(from * n + to);
		if (!c) return hideTip();
		showTip(e, [what + " " + labels[from] + " → " + what + " " + labels[to], bytes(c[3]), count(c[2]) + " operations"]);
	});
	chart.over.addEventListener("mouseleave", hideTip);
	scale(document.querySelector("#" + id + " .plot"), "0", text(most));
}

// scale shows what the colours stand for.
function scale(where, low, high) {
	const row = element("div", "", where);
	row.className = "scale";
	element("span", low, row);
	const bar = element("canvas", "", row);
	bar.width = 160;
	bar.height = 1;
	const ctx = bar.getContext("2d");
	for (let x = 0; x < 160; x++) {
		ctx.fillStyle = shade(Math.sqrt(x / 160));
		ctx.fillRect(x, 0, 1, 1);
	}
	element("span", high, row);
}

for (const [id, matrix, what] of [["ranks", data.Ranks, "rank"], ["nics", data.NICs, "NIC"]]) {
	drawMatrix(id, matrix, what);
	whenChanged("#" + id + " .unit", () => drawMatrix(id, matrix, what));
	addEventListener("resize", () => drawMatrix(id, matrix, what));
}
