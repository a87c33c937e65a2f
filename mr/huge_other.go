//go:build !linux

package mr

// Huge pages are asked for on Linux only.
func allocPool(int) *Buffer { return nil }

func allocAdvised(n int) (*Buffer, error) { return allocPlain(n) }
