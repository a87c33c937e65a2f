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
		}}, rxmEnv...),
		// To ask for a message whose connection is gone crashes rxm 2.1.
		Eager:    16384,
		EagerEnv: "FI_OFI_RXM_BUFFER_SIZE",
	})
}

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
