// Package fiinfo has libfabric's attributes (fi_getinfo(3)) as Go values, with the
// names of rdma/fabric.h for every bit and every value. It needs no libfabric.
//
// The tables are those of libfabric 2.6, which contain those of 2.1. What they have no
// name for is written as a hexadecimal number. Every type is written as text and as
// JSON, and read again from either.
package fiinfo
