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
		// To ask for a message whose connection is gone crashes rxm 2.1.
		Eager:    16384,
		EagerEnv: "FI_OFI_RXM_BUFFER_SIZE",
		Unsafe:   rxmUnsafe,
	})
}
