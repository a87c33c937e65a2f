package lnx_test

import (
	"context"
	"fmt"

	"golnx/lnx"
)

// A spec for two NICs of a machine that is not at hand, tried on one that has neither:
// what it calls cxi is tcp here, and both NICs are the loopback interface. The aliases
// could come from the environment as well:
//
//	LNX_PROVIDER_ALIAS='cxi=tcp;ofi_rxm' LNX_DOMAIN_ALIAS='cxi0=lo,cxi1=eth0'
//
// Standard error says that they are in use, and the rails' names what they stand for.
func ExampleLinks_aliases() {
	listing, err := lnx.Links(lnx.Options{
		Links:         "shm+cxi:cxi0|shm+cxi:cxi1",
		ProviderAlias: map[string]string{"cxi": "tcp;ofi_rxm"},
		DomainAlias:   map[string]string{"cxi0": "lo", "cxi1": "lo"},
	})
	check1(err)
	for _, link := range listing.Links {
		ep, err := lnx.Open(link)
		check1(err)
		self, err := ep.AV().Insert(ep.Name())
		check1(err)
		go func() { check1(ep.Send(context.Background(), self, 1, []byte("hello"))) }()
		_, err = ep.Recv(context.Background(), self, 1, 0, make([]byte, 8))
		check1(err)
		for _, rail := range ep.Stats() {
			fmt.Println(rail.Name, "carried", rail.TSends)
		}
		check1(ep.Close())
	}
	// Output:
	// shm carried 1
	// cxi:cxi0=tcp;ofi_rxm:lo carried 0
	// shm carried 1
	// cxi:cxi1=tcp;ofi_rxm:lo carried 0
}
