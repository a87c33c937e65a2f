package main

import (
	"context"
	"fmt"
	"log"

	"golnx/lnx"
)

func main() {
	listing, err := lnx.Links(lnx.Options{}) // what FI_LNX_PROV_LINKS asks for
	check(err)
	a, err := lnx.Open(listing.Links[0])
	check(err)
	defer a.Close()
	b, err := lnx.Open(listing.Links[0]) // usually in another process
	check(err)
	defer b.Close()

	toB, err := a.AV().Insert(b.Name()) // a blob of bytes: send it by any means
	check(err)
	go func() { check(a.Send(context.Background(), toB, 42, []byte("hello over "+a.Link().Name))) }()

	buf := make([]byte, 100)
	info, err := b.Recv(context.Background(), lnx.AddrUnspec, 42, 0, buf)
	check(err)
	fmt.Printf("tag %d: %s\n", info.Tag, buf[:info.Len])
	for _, rail := range b.Stats() {
		fmt.Println(rail)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
