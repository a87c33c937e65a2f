package fiinfo

import "reflect"

// Relation is how what was granted relates to what was asked for.
type Relation uint8

// The relations.
const (
	Equal     Relation = iota
	Open               // nothing was asked for, something was granted
	More               // all that was asked for, and more: more bits, a larger number
	Less               // a part of it
	Different          // some of it and something else, or another value
)

var relationNames = [...]string{"equal", "open", "more", "less", "different"}

// String is a word for it.
func (r Relation) String() string {
	if int(r) < len(relationNames) {
		return relationNames[r]
	}
	return "unknown relation"
}

// MarshalText writes what String does.
func (r Relation) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Pair is an attribute of two Infos.
type Pair struct {
	Asked, Granted Field
	Relation       Relation
}

// Compare answers every attribute of both, in the order of Fields. Either may be nil:
// nothing was asked for then, or granted.
func Compare(asked, granted *Info) []Pair {
	var a, g Info
	if asked != nil {
		a = *asked
	}
	if granted != nil {
		g = *granted
	}
	if a.NIC == nil && g.NIC != nil {
		a.NIC = &NIC{}
	} else if g.NIC == nil && a.NIC != nil {
		g.NIC = &NIC{}
	}
	var pairs []Pair
	theirs := g.Fields()
	for i, field := range a.Fields() {
		pairs = append(pairs, Pair{field, theirs[i], relate(field, theirs[i])})
	}
	return pairs
}

func relate(asked, granted Field) Relation {
	a, g := reflect.ValueOf(asked.Value), reflect.ValueOf(granted.Value)
	switch asked.Value.(type) {
	case Number, ContextCount:
		return relateTo(asked, granted, a.Uint() < g.Uint(), a.Uint() > g.Uint())
	}
	if asked.Names() != nil {
		common := a.Uint() & g.Uint()
		return relateTo(asked, granted, common == a.Uint(), common == g.Uint())
	}
	return relateTo(asked, granted, false, false)
}

func relateTo(asked, granted Field, more, less bool) Relation {
	switch {
	case asked.Text == granted.Text:
		return Equal
	case asked.IsZero():
		return Open
	case more:
		return More
	case less:
		return Less
	}
	return Different
}
