package bench

import (
	"cmp"
	"fmt"
	"slices"

	"golnx/lnx"
)

// Op is a kind of operation that tests are done with.
type Op struct {
	Name string
	// Help is half a line for lnx perf --help.
	Help string
	// Caps is what links have to be opened for (lnx.Options.Caps), besides tagged
	// messages.
	Caps lnx.Caps
}

// OpTSend is tagged messages, which tests are done with unless something else is asked
// for.
const OpTSend = "tsend"

var ops []Op

// RegisterOp makes an operation known, as Register does a test.
func RegisterOp(o Op) {
	if isOp(o.Name) {
		panic(fmt.Sprintf("bench: operation %q is registered twice", o.Name))
	}
	ops = append(ops, o)
	slices.SortFunc(ops, func(a, b Op) int { return cmp.Compare(a.Name, b.Name) })
}

func init() { RegisterOp(Op{Name: OpTSend, Help: "tagged messages"}) }

// Ops answers the operations by name.
func Ops() []Op { return slices.Clone(ops) }

// CapsOf answers what links have to be opened for; 0 for an operation that there is not.
func CapsOf(op string) lnx.Caps {
	if i := opIndex(op); i >= 0 {
		return ops[i].Caps
	}
	return 0
}

func opIndex(name string) int {
	return slices.IndexFunc(ops, func(o Op) bool { return o.Name == name })
}

func isOp(name string) bool { return opIndex(name) >= 0 }

func opNames() []string {
	var names []string
	for _, o := range ops {
		names = append(names, o.Name)
	}
	return names
}
