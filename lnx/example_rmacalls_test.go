package lnx_test

import (
	"context"
	"errors"
	"fmt"

	"golnx/lnx"
	"golnx/mr"
	"golnx/providers/fierr"
)

// openMemory opens two endpoints, of which the initiator reaches memory of the target.
func openMemory(mem []byte, access mr.Access) (target, initiator *lnx.Endpoint, remote *lnx.RemoteMemory) {
	target, initiator, toTarget := openRMA()
	region, err := target.Register(mem, access)
	check1(err)
	key, err := region.RemoteKey()
	check1(err)
	remote, err = initiator.Import(toTarget, key)
	check1(err)
	return target, initiator, remote
}

// A read in libfabric's manner: start it, again if the rail takes nothing now, then read
// its completion.
func ExampleEndpoint_Read() {
	target, initiator, remote := openMemory([]byte("what stands here"), mr.RemoteRead)
	defer target.Close()
	defer initiator.Close()
	defer drive(target)()

	buf := make([]byte, 6)
	err := initiator.Read(buf, remote, 5, "my read")
	for errors.Is(err, fierr.EAgain) {
		_, _ = initiator.CQ().Read(nil) // drives the rails
		err = initiator.Read(buf, remote, 5, "my read")
	}
	check1(err)
	var entries [1]lnx.Entry
	_, err = initiator.CQ().Wait(context.Background(), entries[:])
	check1(err)
	fmt.Printf("%v: %s\n", entries[0].Context, buf)
	// Output: my read: stands
}

// Several buffers go to one place with one call, one after the other.
func ExampleEndpoint_WriteV() {
	target, initiator, remote := openMemory(make([]byte, 32), mr.RemoteRead|mr.RemoteWrite)
	defer target.Close()
	defer initiator.Close()
	defer drive(target)()

	iov := [][]byte{[]byte("head "), []byte("and body")} // at most Link.Info.IOVLimit
	err := initiator.WriteV(iov, remote, 4, nil)
	for errors.Is(err, fierr.EAgain) {
		_, _ = initiator.CQ().Read(nil)
		err = initiator.WriteV(iov, remote, 4, nil)
	}
	check1(err)
	var entries [1]lnx.Entry
	_, err = initiator.CQ().Wait(context.Background(), entries[:])
	check1(err)
	buf := make([]byte, 13)
	check1(remote.ReadAt(context.Background(), buf, 4))
	fmt.Printf("%q\n", buf)
	// Output: "head and body"
}

// The buffer of an injected write can be used again at once, and it has no completion. A
// counter tells that it has ended.
func ExampleEndpoint_InjectWrite() {
	target, initiator, remote := openMemory(make([]byte, 8), mr.RemoteWrite)
	defer target.Close()
	defer initiator.Close()
	defer drive(target)()
	written, err := initiator.OpenCounter(lnx.EventWrite)
	check1(err)

	digit := make([]byte, 1) // at most Link.Info.InjectSize bytes
	for i := range uint64(8) {
		digit[0] = '0' + byte(i)
		err := initiator.InjectWrite(digit, remote, i)
		for errors.Is(err, fierr.EAgain) {
			_, _ = initiator.CQ().Read(nil)
			err = initiator.InjectWrite(digit, remote, i)
		}
		check1(err)
	}
	check1(written.Wait(context.Background(), 8))
	fmt.Println(written.Read(), written.ReadErr())
	// Output: 8 0
}
