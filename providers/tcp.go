package providers

func init() {
	Register(Traits{
		Name: "tcp;ofi_rxm",
		// Native tcp has no peer interface, so the plain name means tcp under rxm.
		Aliases:           []string{"tcp"},
		MRMode:            MRVirtAddr | MRAllocated | MRProvKey,
		ForgetsFetches:    true, // rxm 2.1 has no list of them
		PreferAddrFormats: []AddrFormat{AddrSockaddrIn, AddrSockaddrIn6},
		Env: append([]EnvDefault{{
			Name: "FI_TCP_STAGING_SBUF_SIZE", Value: "0",
			Why: "with its staging buffer tcp completes sends whose bytes have not left the process, and which are lost when the endpoint closes or is no longer driven",
		}, {
			Name: "FI_TCP_MAX_SAVED", Value: "65536",
			Why: "in direct mode tcp keeps so many messages of a peer for which no receive is posted; beyond that it reads none, not even those that receives wait for",
		}}, rxmEnv...),
		// rxm 2.1 keeps small messages in a receive buffer of 16 KiB each; to ask for a
		// large one when its connection is gone crashes it.
		Fetch:  Sizes{0, ^uint64(0)},
		Unsafe: rxmUnsafe,
		Direct: &Traits{
			Name:              "tcp",
			MRMode:            MRVirtAddr | MRAllocated | MRProvKey,
			PreferAddrFormats: []AddrFormat{AddrSockaddrIn, AddrSockaddrIn6},
			Sink:              1 << 32,
		},
	})
}

const rxmUnsafe = "ofi_rxm 2.1 crashes when it receives what waits of a peer whose connection has ended"

// rxmEnv serves every provider that is layered over ofi_rxm.
var rxmEnv = []EnvDefault{
	{
		Name: "FI_OFI_RXM_MSG_RX_SIZE", Value: "256",
		Why: "the default of 4096 receive buffers makes every endpoint 137 MB resident",
	},
	{
		Name: "FI_OFI_RXM_SAR_LIMIT", Value: "16384",
		Why: "segmented messages crash rxm 2.1 in rxm_close_conn when their sender dies; beyond the eager size the rendezvous protocol is used instead",
	},
}
