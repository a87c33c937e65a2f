package trace

import (
	"fmt"
	"math"
	"strconv"
)

// FormatDuration writes ns with three digits and a unit.
func FormatDuration(ns int64) string {
	switch v := float64(ns); {
	case v < 1e3:
		return strconv.FormatInt(ns, 10) + " ns"
	case v < 999.5e3:
		return digits3(v/1e3) + " µs"
	case v < 999.5e6:
		return digits3(v/1e6) + " ms"
	default:
		return digits3(v/1e9) + " s"
	}
}

// FormatBytes writes bytes with three digits and a unit of 1024 or its powers.
func FormatBytes(v float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	i := 0
	for v >= 999.5 && i < len(units)-1 {
		v /= 1024
		i++
	}
	return digits3(v) + " " + units[i]
}

// FormatCount writes a number with commas between thousands.
func FormatCount(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// digits3 writes a number with three digits, or all of them before the point.
func digits3(v float64) string {
	switch {
	case v == math.Trunc(v) || v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
