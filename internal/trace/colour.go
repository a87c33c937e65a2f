package trace

// palette has a colour for each rail that is told apart, and a grey one for the
// others. They differ for those who see colours differently, too, at least the first
// eight (Okabe and Ito).
var palette = [mostRails + 1]string{
	"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7b4fa3", "#8c6d31",
	"#17becf", "#a50f15", "#4d9221", "#3f007d", "#8a8f98",
}

// Colour answers the colour of a rail, by its place in Analysis.Rails, as #rrggbb.
func Colour(rail int) string { return palette[min(rail, mostRails)] }

// ColourOf answers the colour of a path's rail.
func (a *Analysis) ColourOf(p *Path) string {
	for i, r := range a.Rails[:len(a.Rails)-1] {
		if r.Name == p.Rail {
			return Colour(i)
		}
	}
	return palette[mostRails]
}
