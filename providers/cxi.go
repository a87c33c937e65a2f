package providers

func init() {
	Register(Traits{
		Name:       "cxi",
		MRMode:     MRVirtAddr | MRAllocated | MRProvKey | MREndpoint,
		NICAtomics: true,
		Env: []EnvDefault{{
			Name: "FI_CXI_RX_MATCH_MODE", Value: "software",
			Peer: true,
			Why:  "an owner of the receive queue (fi_peer(3)) needs software matching, and cxi reads the variable once, early",
		}},
	})
}
