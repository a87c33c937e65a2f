package bench

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValidateParams(t *testing.T) {
	good := Params{Test: "bw", Size: 8, Iters: 1, Window: 2}
	require.NoError(t, good.Validate())
	match := func(p *Params) { *p = Params{Test: "match", Iters: 1, Kind: KindTag} }
	require.NoError(t, Params{Test: "lat", Size: MaxSize, Iters: MaxIters, Warmup: MaxIters}.Validate())
	for want, change := range map[string]func(p *Params){
		"no test":                              func(p *Params) { p.Test = "" },
		"--size -1":                            func(p *Params) { p.Size = -1 },
		"--size 134217729":                     func(p *Params) { p.Size = MaxSize + 1 },
		"--iters 0":                            func(p *Params) { p.Iters = 0 },
		"--iters 1000000001":                   func(p *Params) { p.Iters = MaxIters + 1 },
		"--warmup -1":                          func(p *Params) { p.Warmup = -1 },
		"--window 0":                           func(p *Params) { p.Window = 0 },
		"--window 16385":                       func(p *Params) { p.Window = MaxWindow + 1 },
		"the product may be":                   func(p *Params) { p.Size = MaxSize },
		"one message under way at a":           func(p *Params) { p.Test = "lat" },
		"for the test match":                   func(p *Params) { p.Posted = 1 },
		`--kind "all"`:                         func(p *Params) { match(p); p.Kind = "all" },
		"--posted 1000001":                     func(p *Params) { match(p); p.Posted = MaxDepth + 1 },
		"--unexpected -1":                      func(p *Params) { match(p); p.Unexpected = -1 },
		"match each other":                     func(p *Params) { match(p); p.Posted, p.Unexpected = 1, 1 },
		"--size 0: bw --op write takes 1":      func(p *Params) { p.Op, p.Size = OpWrite, 0 },
		"--op write: match is done with tsend": func(p *Params) { match(p); p.Op = OpWrite },
		`--op "copy": there are`:               func(p *Params) { p.Op = "copy" },
		"--op send: match is done with tsend":  func(p *Params) { match(p); p.Op = OpSend },
		"rate --op send has one at each end":   func(p *Params) { p.Test, p.Op, p.Goroutines = "rate", OpSend, 1 },
		"--op fadd: bw is done with":           func(p *Params) { p.Op = OpFAdd },
		"lat --op fadd takes 8 to 8":           func(p *Params) { *p = Params{Test: "lat", Op: OpFAdd, Size: 9, Iters: 1} },
		"bw --op read has one at each end":     func(p *Params) { p.Op, p.Goroutines = OpRead, 1 },
		"of one goroutine and with --op tsend": func(p *Params) { p.Op, p.Batch = OpRead, 1 },
		"has one at each end":                  func(p *Params) { p.Goroutines = 1 },
		"--goroutines 1025":                    func(p *Params) { p.Test, p.Goroutines = "rate", MaxGoroutines+1 },
		"--goroutines 4 with":                  func(p *Params) { p.Test, p.Goroutines, p.Size, p.Window = "rate", 4, MaxSize/2, 1 },
		"does one thing at a time":             func(p *Params) { p.Test, p.Goroutines, p.Both = "rate", 1, true },
		"not for lat":                          func(p *Params) { p.Test, p.Window, p.Both = "lat", 0, true },
	} {
		p := good
		change(&p)
		require.ErrorContains(t, p.Validate(), want)
	}
}

func TestDefaultsOfTestsAreValid(t *testing.T) {
	for _, test := range tests {
		for _, size := range []int{0, 1, 4096, 1 << 20, 4 << 20, MaxSize} {
			p := test.Defaults(test.fit(size))
			require.NoError(t, p.Validate(), "%+v", p)
		}
	}
}

func TestNextAck(t *testing.T) {
	for _, c := range []struct {
		p    Params
		want []int
	}{
		{Params{Window: 1, Iters: 3}, []int{1, 2, 3}},
		{Params{Window: 8, Iters: 10}, []int{4, 8, 10}},
		{Params{Window: 8, Iters: 8}, []int{4, 8}},
		{Params{Window: 8, Warmup: 6, Iters: 3}, []int{4, 6, 8, 9}},
		{Params{Window: 3, Warmup: 1, Iters: 2}, []int{1, 2, 3}},
		{Params{Window: 64, Warmup: 1, Iters: 1}, []int{1, 2}},
	} {
		var got []int
		for n := 0; n < c.p.total(); got = append(got, n) {
			n = nextAck(n, &c.p)
		}
		require.Equal(t, c.want, got, "%+v", c.p)
	}
}

func TestOnce(t *testing.T) {
	arrived := make([]bool, 2)
	require.NoError(t, once(arrived, tagLead|1))
	require.ErrorContains(t, once(arrived, tagLead|1), "twice")
	require.ErrorContains(t, once(arrived, tagLead|2), "never sent")
}
