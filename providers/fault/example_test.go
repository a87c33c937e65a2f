package fault_test

import (
	"errors"
	"fmt"

	"golnx/providers/fault"
	"golnx/providers/fierr"
	"golnx/providers/sim"
)

// ExampleEach fails each operation of a small scenario once.
func ExampleEach() {
	scenario := func(plan *fault.Plan) (err error) {
		inner, err := sim.New(sim.Options{}).Open([]sim.Rail{{}}, nil, sim.Limits{})
		if err != nil {
			return err
		}
		core := fault.Wrap(inner, plan)
		defer func() { err = errors.Join(err, core.Close(), inner.Close()) }()
		name, err := core.Name(0)
		if err != nil {
			return err
		}
		_, err = core.Insert(0, name)
		return err
	}
	for plan := range fault.Each("", fierr.EIO) {
		err := scenario(plan)
		fmt.Println(plan.N, plan.Fired(), err)
	}
	// Output:
	// 0 true Name failed as planned: input/output error
	// 1 true Insert failed as planned: input/output error
	// 2 true Close failed as planned: input/output error
	// 3 false <nil>
}

// ExamplePlan fails the second insertion.
func ExamplePlan() {
	plan := &fault.Plan{Op: fault.Insert, N: 1, Err: fierr.ENoMem}
	inner, _ := sim.New(sim.Options{}).Open([]sim.Rail{{}}, nil, sim.Limits{})
	core := fault.Wrap(inner, plan)
	fmt.Println(plan)
	for _, name := range []string{"a", "b", "c"} {
		_, err := core.Insert(0, []byte(name))
		fmt.Println(err)
	}
	fmt.Println(plan.Where(), plan.Calls(), core.Close())
	// Output:
	// Insert 1 fails with cannot allocate memory
	// <nil>
	// Insert failed as planned: cannot allocate memory
	// <nil>
	// Insert 3 <nil>
}
