// Package linkspec reads the text form of links, FI_LNX_PROV_LINKS, and the
// other FI_LNX_* variables of fi_lnx(7).
//
// # Grammar
//
// A spec lists links; a link joins members; a member is a provider, with the
// domains of it to use:
//
//	spec     = link { "|" link } .
//	link     = member { "+" member } .
//	member   = provider [ ":" domain { "," domain } ] .
//	provider = name { ";" name } .
//	domain   = name { ":" name } .
//	name     = ( letter | digit | "_" | "-" | "." ) { letter | digit | "_" | "-" | "." } .
//
// Letters and digits are those of ASCII. Spaces and tabs may stand around every
// token; they are no part of a provider or domain. A member without domains stands
// for all domains of its provider. For example:
//
//	shm+cxi:cxi0,cxi1|shm+tcp;ofi_rxm:eth0
//
// is two links. The first joins shared memory and two Cassini NICs, the second
// shared memory and the tcp provider under the ofi_rxm utility provider, on one
// network interface.
//
// [Parse] is purely textual: which providers and domains exist is for whoever
// opens the link to say. Beyond the grammar it refuses what can be seen to be
// wrong without looking at the machine:
//
//   - a provider twice in one link, and a domain twice under one provider. As in
//     libfabric, neither case nor the order of layers distinguishes providers:
//     "tcp;ofi_rxm" and "OFI_RXM;TCP" are one. Domains differ by case. Two
//     providers of a link may use domains of one name, as "tcp;ofi_rxm:eth0"
//     and "udp;ofi_rxd:eth0" do;
//   - lnx in a link, whatever its case: it cannot link itself;
//   - sizes beyond [MaxSpecBytes], [MaxNameBytes], [MaxLinks], [MaxMembers] and
//     [MaxDomains].
//
// [Spec.String] writes the canonical form, without spaces; parsing it gives the
// same Spec.
//
// # The grammar of fi_lnx(7)
//
// The manual page prints a grammar too, which cannot derive the page's own
// examples, so it is not the one used here. It lets a link hold two providers at
// most and gives domains only to the second, so neither "cxi:cxi0,cxi1" nor a
// link of three members can be written; and it makes names of letters, digits
// and "_", which leaves out "tcp;ofi_rxm". Real domain names need more still:
// "mlx5_0-dgram" (verbs), "rdmap0s31-rdm" (efa), "eth0.100" (a VLAN interface) and
// "eth0:1" (an address label, which tcp reports as a domain of its own). It also
// calls a spec a link, and a link a group.
//
// Every example of the manual page is accepted. What C LNX accepts by accident
// is not: it splits the text with strtok_r(3), which passes over empty pieces,
// so that "shm+", "|shm" and "cxi:" mean something there and are errors here. In
// the other direction C LNX refuses a spec in which the letters lnx occur
// anywhere; here a domain may be called lnx0.
//
// # Environment
//
// [FromEnv] reads FI_LNX_PROV_LINKS, FI_LNX_MULTI_RAIL_SELECTION,
// FI_LNX_DISABLE_SHM and FI_LNX_DUMP_STATS through a function that the caller
// passes; nothing in this package touches the environment itself. As in C LNX, case
// does not matter in the selection, and its end can be left out. It is stricter where
// that would be a guess: of a selection that could be either (PER, or nothing at all)
// C LNX makes PER_MSG, and it goes on with the default after a word that is no boolean.
package linkspec
