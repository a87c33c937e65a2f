package providers

func init() {
	Register(Traits{
		Name:      "shm",
		NodeLocal: true,
		// In 2.1 the close takes the owner's SRX for its own, and frees it.
		KeepFailedEndpoint: true,
		MRMode:             MRVirtAddr | MRAllocated | MRProvKey,
	})
}
