package providers

func init() {
	Register(Traits{
		Name:    "verbs;ofi_rxm",
		Aliases: []string{"verbs"},
		// Without FI_MR_LOCAL rxm registers send and receive buffers itself.
		MRMode:            MRVirtAddr | MRAllocated | MRProvKey,
		ForgetsFetches:    true, // rxm 2.1 has no list of them
		PreferAddrFormats: []AddrFormat{AddrSockaddrIn, AddrSockaddrIn6, AddrSockaddrIB},
		Env:               rxmEnv,
		// rxm 2.1 keeps small messages in a receive buffer of 16 KiB each; to ask for a
		// large one when its connection is gone crashes it.
		Fetch:  Sizes{0, ^uint64(0)},
		Unsafe: rxmUnsafe,
	})
}
