// Package tostr asks the installed libfabric for its names, for tests. (Test files
// cannot use cgo.)
package tostr

/*
#cgo pkg-config: libfabric
#include <stdlib.h>
#include <rdma/fabric.h>
*/
import "C"

import (
	"fmt"
	"strings"
	"unsafe"
)

// Kind is enum fi_type.
type Kind uint32

// What attributes have.
const (
	Caps        Kind = C.FI_TYPE_CAPS
	Mode        Kind = C.FI_TYPE_MODE
	MRMode      Kind = C.FI_TYPE_MR_MODE
	OpFlags     Kind = C.FI_TYPE_OP_FLAGS
	MsgOrder    Kind = C.FI_TYPE_MSG_ORDER
	EPType      Kind = C.FI_TYPE_EP_TYPE
	Protocol    Kind = C.FI_TYPE_PROTOCOL
	AddrFormat  Kind = C.FI_TYPE_ADDR_FORMAT
	Threading   Kind = C.FI_TYPE_THREADING
	Progress    Kind = C.FI_TYPE_PROGRESS
	AVType      Kind = C.FI_TYPE_AV_TYPE
	DomainAttrs Kind = C.FI_TYPE_DOMAIN_ATTR // for the resource management
)

const room = 1 << 16

// Value answers the names that libfabric has for a value, none if it has none.
func Value(kind Kind, value uint64) []string {
	if kind == DomainAttrs {
		a := C.struct_fi_domain_attr{resource_mgmt: uint32(value)}
		for line := range strings.Lines(of(kind, unsafe.Pointer(&a))) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "resource_mgmt: "); ok {
				return names(name)
			}
		}
		panic("fi_tostr(3) writes no resource_mgmt")
	}
	return names(of(kind, unsafe.Pointer(&value)))
}

func names(text string) []string {
	if text == "" || text == "Unknown" {
		return nil
	}
	return strings.Split(text, ", ")
}

// Info answers what libfabric writes for a struct fi_info.
func Info(info unsafe.Pointer) string { return of(C.FI_TYPE_INFO, info) }

// of is fi_tostr(3). The value may be wider than libfabric reads it.
func of(kind Kind, value unsafe.Pointer) string {
	buf := (*C.char)(C.calloc(room, 1))
	defer C.free(unsafe.Pointer(buf))
	if C.fi_tostr_r(buf, room, value, uint32(kind)) == nil {
		panic(fmt.Sprintf("fi_tostr(3) refuses kind %d", kind))
	}
	return C.GoString(buf)
}

// Header has the values of names that fi_tostr(3) of some version does not know.
var Header = map[string]uint64{
	"FI_TAGGED_DIRECTED_RECV": C.FI_TAGGED_DIRECTED_RECV,
	"FI_TAGGED_MULTI_RECV":    C.FI_TAGGED_MULTI_RECV,
	"FI_EXACT_DIRECTED_RECV":  C.FI_EXACT_DIRECTED_RECV,
	"FI_COMMIT_COMPLETE":      C.FI_COMMIT_COMPLETE,
	"FI_PEER_TRANSFER":        C.FI_PEER_TRANSFER,
	"FI_AUTH_KEY":             C.FI_AUTH_KEY,
	"FI_THREAD_FID":           C.FI_THREAD_FID,
	"FI_THREAD_ENDPOINT":      C.FI_THREAD_ENDPOINT,
	"FI_PROTO_PSMX":           C.FI_PROTO_PSMX,
	"FI_PROTO_MXM":            C.FI_PROTO_MXM,
	"FI_PROTO_GNI":            C.FI_PROTO_GNI,
	"FI_PROTO_MRAIL":          C.FI_PROTO_MRAIL,
	"FI_PROTO_RSTREAM":        C.FI_PROTO_RSTREAM,
	"FI_PROTO_COLL":           C.FI_PROTO_COLL,
	"FI_ADDR_PSMX":            C.FI_ADDR_PSMX,
	"FI_ADDR_GNI":             C.FI_ADDR_GNI,
	"FI_ADDR_BGQ":             C.FI_ADDR_BGQ,
	"FI_TC_UNSPEC":            C.FI_TC_UNSPEC,
	"FI_TC_BEST_EFFORT":       C.FI_TC_BEST_EFFORT,
	"FI_TC_LOW_LATENCY":       C.FI_TC_LOW_LATENCY,
	"FI_TC_DEDICATED_ACCESS":  C.FI_TC_DEDICATED_ACCESS,
	"FI_TC_BULK_DATA":         C.FI_TC_BULK_DATA,
	"FI_TC_SCAVENGER":         C.FI_TC_SCAVENGER,
	"FI_TC_NETWORK_CTRL":      C.FI_TC_NETWORK_CTRL,
	"FI_TAG_MPI":              C.FI_TAG_MPI,
	"FI_TAG_CCL":              C.FI_TAG_CCL,
}

// DSCP is fi_tc_dscp_set.
func DSCP(dscp uint8) uint32 { return uint32(C.fi_tc_dscp_set(C.uint8_t(dscp))) }
