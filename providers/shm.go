package providers

func init() {
	Register(Traits{
		Name:          "shm",
		NodeLocal:     true,
		InjectArrives: true,
		MRMode:        MRVirtAddr | MRAllocated | MRProvKey,
		// Beyond its inject size shm 2.1 never completes a message that is cut off, and
		// below it crashes on one that was unexpected.
		Sink: 1 << 32,
		// With FI_DELIVERY_COMPLETE 2.1 frees the buffer of an atomic twice, and two
		// later ones share it.
		FetchToConfirm: true,
		// It keeps an unexpected message that does not fit into a command in 32 KiB.
		Fetch: Sizes{193, 4096},
	})
}
