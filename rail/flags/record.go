package flags

import "golnx/providers/fiinfo"

// FormatVersion is the version of the files that this package writes, and the only one
// that it reads.
const FormatVersion = 1

// Header is the first line of a file.
type Header struct {
	Format int `json:"format"`
	Rank   int `json:"rank"`
	// RankSource is the variable that the rank came from; empty if there was none.
	RankSource string `json:"rank_source"`
	Host       string `json:"host"`
	PID        int    `json:"pid"`
	// ResultsMax is how many answers of one fi_getinfo are recorded; 0 is all.
	ResultsMax int `json:"results_max"`
}

// Step is where something was asked for.
type Step string

// The steps, in the order that a rail takes them.
const (
	GetInfo  Step = "getinfo"  // fi_getinfo(3)
	Domain   Step = "domain"   // fi_domain(3)
	Endpoint Step = "endpoint" // fi_endpoint(3)
)

// Record is one step, a line of the file.
type Record struct {
	Step Step `json:"step"`
	// Provider is who was asked.
	Provider string `json:"provider,omitzero"`
	// Rail is whose domain or endpoint it is; nil for GetInfo.
	Rail *Rail `json:"rail,omitzero"`
	// Asked is what was asked for; nil if nothing was.
	Asked *fiinfo.Info `json:"asked,omitzero"`
	// Results is how many answers there were; Granted are the first of them.
	Results int            `json:"results"`
	Granted []*fiinfo.Info `json:"granted,omitzero"`
	// Error is why there is no answer.
	Error string `json:"error,omitzero"`
}

// Rail is a rail of an endpoint of a link.
type Rail struct {
	Link string `json:"link"`
	// Endpoint is the endpoint's number in its process, from 1.
	Endpoint uint64 `json:"endpoint"`
	// Index is the rail's place in the link.
	Index  int    `json:"index"`
	Name   string `json:"name"`
	Device string `json:"device"`
}
