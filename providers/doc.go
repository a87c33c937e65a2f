// Package providers says what the link layer needs of a core provider, and
// knows the providers it can link.
//
// [Core] is the narrow interface: the opened rails of one endpoint, driven under
// the endpoint's progress lock. Package providers/ofi implements it over
// libfabric's peer interface (fi_peer(3)).
//
// [Traits] hold what is peculiar to one provider, one file each (shm.go, tcp.go,
// …). A new provider is one more such file; no other package changes.
package providers
