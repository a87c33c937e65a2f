package providers

func init() {
	Register(Traits{
		Name:          "shm",
		NodeLocal:     true,
		InjectArrives: true,
		MRMode:        MRVirtAddr | MRAllocated | MRProvKey,
		// With FI_DELIVERY_COMPLETE 2.1 frees the buffer of an atomic twice, and two
		// later ones share it.
		FetchToConfirm: true,
	})
}
