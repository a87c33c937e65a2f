package providers

func init() {
	Register(Traits{
		Name:      "shm",
		NodeLocal: true,
		MRMode:    MRVirtAddr | MRAllocated | MRProvKey,
	})
}
