package mr

import (
	"fmt"
	"unsafe"
)

// Iface is the interface that memory was allocated with (enum fi_hmem_iface).
type Iface uint32

// The interfaces of fi_mr(3).
const (
	System    Iface = iota // FI_HMEM_SYSTEM: memory of the host
	CUDA                   // FI_HMEM_CUDA
	ROCR                   // FI_HMEM_ROCR
	ZE                     // FI_HMEM_ZE
	Neuron                 // FI_HMEM_NEURON
	SynapseAI              // FI_HMEM_SYNAPSEAI
)

var ifaceNames = [...]string{"SYSTEM", "CUDA", "ROCR", "ZE", "NEURON", "SYNAPSEAI"}

// String gives libfabric's name.
func (i Iface) String() string {
	if int(i) < len(ifaceNames) {
		return "FI_HMEM_" + ifaceNames[i]
	}
	return fmt.Sprintf("FI_HMEM(%d)", uint32(i))
}

// ZEDevice is the device number of a Level Zero device (fi_hmem_ze_device).
func ZEDevice(driver, device uint16) uint64 { return uint64(driver)<<16 | uint64(device) }

// MemoryFlags say more of memory (flags of fi_mr_regattr).
type MemoryFlags uint64

// The flags of fi_mr(3).
const (
	HostAlloc  MemoryFlags = 1 << 45 // FI_HMEM_HOST_ALLOC: allocated on the host by a device's API
	DeviceOnly MemoryFlags = 1 << 46 // FI_HMEM_DEVICE_ONLY: the host cannot reach it
	Persistent MemoryFlags = 1 << 49 // FI_RMA_PMEM: persistent memory

	memoryFlags = HostAlloc | DeviceOnly | Persistent
)

// Memory is a range to register (struct fi_mr_attr). Memory of the host needs Base
// and Len only.
type Memory struct {
	// Base is the address of the first byte, on the host or on a device. It may be
	// nil for a DMA-BUF that this process has not mapped.
	Base unsafe.Pointer
	// Len is the length in bytes, at least 1.
	Len int
	// Iface and Device say whose memory it is; Device is a number of the interface's
	// own (a CUdevice, ZEDevice(…)) and 0 for System.
	Iface  Iface
	Device uint64
	// DMABuf is where the memory lies in a DMA-BUF, if it is registered by that.
	DMABuf *DMABuf
	Flags  MemoryFlags
}

// DMABuf is a place in a DMA-BUF (struct fi_mr_dmabuf). The descriptor stays the
// caller's, and has to stay open until the region is closed. Where the process has mapped
// it, its base_addr is Memory.Base less Offset.
type DMABuf struct {
	FD     int
	Offset uint64 // of the memory's first byte, in bytes
}

// bytesMemory is the memory of a slice.
func bytesMemory(buf []byte) Memory {
	return Memory{Base: unsafe.Pointer(unsafe.SliceData(buf)), Len: len(buf)}
}

// host says whether this is memory of the host, as any slice is.
func (m *Memory) host() bool { return m.Iface == System && m.DMABuf == nil && m.Flags == 0 }

func (m *Memory) start() uintptr { return uintptr(m.Base) }

// end is the address behind the last byte.
func (m *Memory) end() uintptr { return uintptr(m.Base) + uintptr(m.Len) }

func (m *Memory) String() string {
	s := fmt.Sprintf("%d bytes", m.Len)
	if m.Iface != System {
		s += fmt.Sprintf(" of %v, device %d", m.Iface, m.Device)
	}
	if m.DMABuf != nil {
		s += " of a DMA-BUF"
	}
	return s
}

func (m *Memory) check() error {
	switch {
	case m.Len <= 0:
		return invalid("memory of %d bytes: at least 1 is needed", m.Len)
	case m.Base == nil && m.DMABuf == nil:
		return invalid("memory without an address: only a DMA-BUF can do without")
	case m.end() < m.start():
		return invalid("%d bytes at %#x end beyond the address space", m.Len, m.start())
	case int(m.Iface) >= len(ifaceNames):
		return invalid("interface %v is unknown", m.Iface)
	case m.Iface == System && m.Device != 0:
		return invalid("device %d of %v: it has none", m.Device, m.Iface)
	case m.Flags&^memoryFlags != 0:
		return invalid("memory flags %#x are unknown", uint64(m.Flags&^memoryFlags))
	}
	if d := m.DMABuf; d != nil && (d.FD < 0 || d.Offset+uint64(m.Len) < d.Offset) {
		return invalid("DMA-BUF %d with %d bytes at offset %d: want a descriptor and an end below 2^64", d.FD, m.Len, d.Offset)
	}
	return nil
}
