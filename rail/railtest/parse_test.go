package railtest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"golnx/rail"
	"golnx/rail/railtest"
)

func TestParseErrorsNameThePlace(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "c: no link statement",
		"linc shm":                          `c:1:1: "linc" is no statement`,
		"# fine\n\nlink shm++":              "c:3:10: link spec, column 5",
		"link":                              "c:1:1: link wants a spec",
		"link shm\nlink shm":                `c:2:1: "link" stands here for the second time`,
		"use 0":                             `c:1:5: "0" is no number of a link`,
		"use":                               "c:1:1: use wants",
		"policy PER_M":                      `c:1:8: unknown policy "PER_M": known are `,
		"policy":                            "c:1:1: policy wants",
		"seed -1":                           `c:1:6: "-1" is no number`,
		"seed 1 2":                          "c:1:8: seed wants a number",
		"shm on":                            `c:1:5: "shm off" is all there is`,
		"explain all":                       "c:1:9: explain stands alone",
		"domain":                            "c:1:1: domain wants a name",
		"domain :x":                         `c:1:8: ":x" is no domain`,
		"domain cxi:":                       `c:1:8: "cxi:" is no domain`,
		"domain a:b\ndomain a:b":            "c:2:8: domain a:b is there already",
		"domain a speed":                    `c:1:10: "speed" is no attribute: use node-local, or one of speed, numa`,
		"domain a fast=1":                   `c:1:10: "fast=1" is no attribute`,
		"domain a mtu=":                     `c:1:10: "mtu=" is no attribute`,
		"domain a mtu=1 mtu=2":              "c:1:16: mtu stands there twice",
		"domain a mtu=big":                  `c:1:10: mtu: "big" is no number`,
		"domain a numa=-1":                  `c:1:10: numa: "-1" is no NUMA node`,
		"domain a speed=1Q":                 `c:1:10: speed: "1Q" is no speed`,
		"domain a speed=G":                  `c:1:10: speed: "G" is no speed`,
		"domain a speed=18446744073709552T": `c:1:10: speed: "18446744073709552T" is no speed`,
		"distances":                         "c:1:1: distances wants a row for each node",
		"distances 10,x":                    `c:1:11: "x" is no distance`,
		"distances 10,20":                   "c:1:11: rail: NUMA distance table: row 0 has 2 entries: give 1",
		"peer A":                            "c:1:1: peer wants a name and addresses",
		"peer A local":                      "c:1:8: peer A has no address",
		"peer A x:y x:y@f":                  "c:1:12: address x:y stands there twice",
		"peer A x:y@":                       `c:1:8: "x:y@": the fabric after @ is missing`,
		"peer A :y":                         `c:1:8: ":y" is no domain`,
		"peer A a\npeer A b":                "c:2:6: peer A is there already",
		"send":                              "c:1:1: send wants a peer",
		"send A x0":                         `c:1:8: "x0" is no number of messages`,
		"send A 3":                          `c:1:8: "3" means nothing to send`,
		"send A size=-1":                    `c:1:8: "-1" is no number`,
		"send A numa=1024":                  `c:1:8: "1024" is no NUMA node`,
		"recv A cxi:cxi0 cxi:cxi1":          "c:1:1: recv wants peer, rail and address",
		"down":                              "c:1:1: down wants a rail",
		"-> a to b":                         "c:1:1: an expectation stands below a send",
		"up a\n-> a to b":                   "c:2:1: an expectation stands below a send",
		"send A\n->":                        "c:2:1: an expectation is",
	} {
		_, err := railtest.Parse("c", text)
		require.ErrorContains(t, err, want, text)
	}
}

// A case file is a machine file, too.
func TestMachineOfACase(t *testing.T) {
	const text = "domain shm node-local\npeer A local shm\n"
	m, err := railtest.ParseMachine("m", text)
	require.NoError(t, err)
	require.Len(t, m.Domains, 1)
	require.Len(t, m.Peers, 1)
	of, err := railtest.ParseMachine("m", text+"link shm\npolicy PER_MSG\nsend A\n  -> shm to shm\ndown shm\n")
	require.NoError(t, err)
	require.Equal(t, m, of)
	_, err = railtest.ParseMachine("m", "domain shm\nsnd A")
	require.ErrorContains(t, err, `railtest: m:2:1: "snd" is no statement`)
}

func TestMachineRoundTrips(t *testing.T) {
	const text = `domain shm node-local max=18446744073709551615
domain cxi:cxi0 speed=200G numa=0 pci=0000:21:00.0 mtu=2048 inject=192 max=1073741824 format=FI_ADDR_CXI
domain tcp;ofi_rxm:eth0:1 speed=1500 fabric=10.0.1.0/24
distances 10,21 21,10
peer A local shm cxi:cxi0
peer B tcp;ofi_rxm:eth0:1@10.0.1.0/24
`
	m, err := railtest.ParseMachine("m", text)
	require.NoError(t, err)
	require.Equal(t, text, m.String())
	require.Equal(t, []rail.Info{
		{Provider: "shm", NodeLocal: true, NUMA: -1, MaxMsgSize: 1<<64 - 1},
		{Provider: "cxi", Domain: "cxi0", Speed: 200e9, NUMA: 0, PCI: "0000:21:00.0", MTU: 2048, InjectSize: 192, MaxMsgSize: 1 << 30, AddrFormat: "FI_ADDR_CXI"},
		{Provider: "tcp;ofi_rxm", Domain: "eth0:1", Speed: 1500, NUMA: -1, Fabric: "10.0.1.0/24"},
	}, m.Domains)
}

// Whatever the text: no panic, and what is understood is written so that it is
// understood the same.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("../../testdata/rail/*.rail")
	require.NoError(f, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := railtest.Parse("c", text)
		if err != nil {
			return
		}
		again, err := railtest.Parse("c", c.String())
		require.NoError(t, err)
		require.Equal(t, c.String(), again.String())
		if len(c.Steps) > 100 || len(c.Domains) > 50 || strings.Contains(text, " x") {
			return // would take long
		}
		picks, err := c.Simulate()
		picksAgain, errAgain := again.Simulate()
		require.Equal(t, err == nil, errAgain == nil)
		require.Equal(t, picks, picksAgain)
	})
}
