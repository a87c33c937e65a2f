package report

import (
	"fmt"
	"io"

	"github.com/tsenart/vegeta/v12/lib/plot"
)

// library is uPlot, which draws the charts: its script and its style sheet. The module
// of vegeta carries it for reports of its own; nothing else of it is used.
func library() (script, style string, err error) {
	if script, err = asset("uPlot.min.js"); err != nil {
		return "", "", err
	}
	style, err = asset("uPlot.min.css")
	return script, style, err
}

func asset(name string) (string, error) {
	f, err := plot.Assets.Open(name)
	if err != nil {
		return "", fmt.Errorf("the charting library in this program: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	return string(text), err
}
