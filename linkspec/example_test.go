package linkspec_test

import (
	"errors"
	"fmt"

	"golnx/linkspec"
)

func ExampleParse() {
	spec, err := linkspec.Parse("shm + cxi:cxi0,cxi1 | shm + tcp;ofi_rxm")
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, link := range spec {
		fmt.Printf("link %d: %v\n", i, link)
		for _, m := range link.Members {
			if len(m.Domains) == 0 {
				fmt.Printf("  %s: all domains\n", m.Provider)
				continue
			}
			fmt.Printf("  %s: %q\n", m.Provider, m.Domains)
		}
	}
	fmt.Println(spec)
	// Output:
	// link 0: shm+cxi:cxi0,cxi1
	//   shm: all domains
	//   cxi: ["cxi0" "cxi1"]
	// link 1: shm+tcp;ofi_rxm
	//   shm: all domains
	//   tcp;ofi_rxm: all domains
	// shm+cxi:cxi0,cxi1|shm+tcp;ofi_rxm
}

func ExampleSyntaxError() {
	_, err := linkspec.Parse("shm+cxi:cxi0,|shm+tcp")
	fmt.Println(err)

	var syntax *linkspec.SyntaxError
	if errors.As(err, &syntax) {
		fmt.Println("column:", syntax.Column)
		fmt.Println("expected:", syntax.Expected)
	}
	// Output:
	// link spec, column 14: found "|", expected a domain name
	//   "shm+cxi:cxi0,|shm+tcp"
	//                 ^
	// column: 14
	// expected: a domain name
}

func ExampleFromEnv() {
	// A program passes os.LookupEnv.
	vars := map[string]string{
		"FI_LNX_PROV_LINKS":  "shm+cxi",
		"FI_LNX_DISABLE_SHM": "off",
	}
	env, err := linkspec.FromEnv(func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(env.LinksSet, env.Links)
	fmt.Println(env.Selection)
	fmt.Println(env.DisableShm)
	// Output:
	// true shm+cxi
	// PER_PEER
	// false
}

func ExampleFromEnv_errors() {
	vars := map[string]string{
		"FI_LNX_PROV_LINKS":           "shm++cxi",
		"FI_LNX_MULTI_RAIL_SELECTION": "ROUND_ROBIN",
		"FI_LNX_DUMP_STATS":           "verbose",
	}
	_, err := linkspec.FromEnv(func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	})
	fmt.Println(err)
	// Output:
	// FI_LNX_PROV_LINKS: link spec, column 5: found "+", expected a provider name
	//   "shm++cxi"
	//        ^
	// FI_LNX_MULTI_RAIL_SELECTION: found "ROUND_ROBIN", expected PER_MSG or PER_PEER; another policy is for Options.Policy
	// FI_LNX_DUMP_STATS: found "verbose", expected 1, true, yes, on, 0, false, no or off
}
