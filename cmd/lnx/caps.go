package main

import (
	"fmt"

	"golnx/providers"
)

// capNames are the capabilities of fi_getinfo(3) by bit (rdma/fabric.h).
var capNames = map[int]string{
	1: "FI_MSG", 2: "FI_RMA", 3: "FI_TAGGED", 4: "FI_ATOMIC", 5: "FI_MULTICAST", 6: "FI_COLLECTIVE",
	8: "FI_READ", 9: "FI_WRITE", 10: "FI_RECV", 11: "FI_SEND", 12: "FI_REMOTE_READ", 13: "FI_REMOTE_WRITE",
	16: "FI_MULTI_RECV", 20: "FI_TRIGGER", 21: "FI_FENCE",
	41: "FI_AV_USER_ID", 43: "FI_PEER", 45: "FI_TAGGED_DIRECTED_RECV", 46: "FI_TAGGED_MULTI_RECV",
	47: "FI_HMEM", 48: "FI_EXACT_DIRECTED_RECV", 49: "FI_RMA_PMEM", 50: "FI_SOURCE_ERR",
	51: "FI_LOCAL_COMM", 52: "FI_REMOTE_COMM", 53: "FI_SHARED_AV", 56: "FI_RMA_EVENT",
	57: "FI_SOURCE", 58: "FI_NAMED_RX_CTX", 59: "FI_DIRECTED_RECV",
}

// capList names the capabilities, from the lowest bit; one without a name is
// shown as its value.
func capList(caps providers.Caps) []string {
	names := []string{}
	for bit := range 64 {
		if caps>>bit&1 == 0 {
			continue
		}
		name, ok := capNames[bit]
		if !ok {
			name = fmt.Sprintf("%#x", uint64(1)<<bit)
		}
		names = append(names, name)
	}
	return names
}
