package providers

func init() {
	Register(Traits{
		Name:    "verbs;ofi_rxm",
		Aliases: []string{"verbs"},
		// Without FI_MR_LOCAL rxm registers send and receive buffers itself.
		MRMode:            MRVirtAddr | MRAllocated | MRProvKey,
		PreferAddrFormats: []AddrFormat{AddrSockaddrIn, AddrSockaddrIn6, AddrSockaddrIB},
		Env:               rxmEnv,
	})
}
