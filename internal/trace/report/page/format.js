// Numbers as text.

// digits3 writes a number with three digits, or all of those before the point.
function digits3(v) {
	if (v === Math.trunc(v) || v >= 99.95) return v.toFixed(0);
	return v.toFixed(v >= 9.995 ? 1 : 2);
}

function duration(ns) {
	if (ns < 1e3) return digits3(ns) + " ns";
	if (ns < 999.5e3) return digits3(ns / 1e3) + " µs";
	if (ns < 999.5e6) return digits3(ns / 1e6) + " ms";
	return digits3(ns / 1e9) + " s";
}

function bytes(v) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
	let i = 0;
	for (; v >= 999.5 && i < units.length - 1; i++) v /= 1024;
	return digits3(v) + " " + units[i];
}

// count writes a number with k, M, G for its thousands.
function count(v) {
	const units = ["", " k", " M", " G", " T", " P", " E"];
	let i = 0;
	for (; Math.abs(v) >= 999.5 && i < units.length - 1; i++) v /= 1000;
	return (v !== 0 && Math.abs(v) < 0.01 ? v.toPrecision(2) : digits3(v)) + units[i];
}

function percent(share) {
	const v = 100 * share;
	return (v === 0 || v >= 0.01 ? String(Number(v.toPrecision(3))) : v.toExponential(0)) + " %";
}

// times writes points of a time axis, in seconds, with the unit of their distance.
function times(splits) {
	if (splits.length < 2) return splits.map((v) => duration(v * 1e9));
	const step = Math.abs(splits[1] - splits[0]);
	const [unit, factor] = step >= 0.1 ? ["s", 1] : step >= 1e-4 ? ["ms", 1e3] : step >= 1e-7 ? ["µs", 1e6] : ["ns", 1e9];
	// As many as the step needs, but no more than two digits of it.
	const most = Math.max(0, 1 - Math.floor(Math.log10(step * factor)));
	let places = 0;
	while (places < most && Math.abs(step * factor - Number((step * factor).toFixed(places))) > 1e-6 * step * factor) places++;
	return splits.map((v) => (v * factor).toFixed(places) + " " + unit);
}
