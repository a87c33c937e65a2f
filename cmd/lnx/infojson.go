package main

import (
	"encoding/json"
	"io"

	"golnx/lnx"
	"golnx/providers"
	"golnx/providers/fiinfo"
)

// The JSON form of a listing. What differs from the spec stands with the link that
// it concerns, or at the top if that link cannot be opened: in notes if it is there
// under another name, in left_out if it is not.
type (
	infoJSON struct {
		Links []linkJSON `json:"links"`
		leftOutJSON
	}
	linkJSON struct {
		Name  string     `json:"name"`
		Info  railJSON   `json:"info"` // what an application chooses by
		Rails []railJSON `json:"rails"`
		leftOutJSON
	}
	leftOutJSON struct {
		Notes   []lnx.LeftOut `json:"notes"`
		LeftOut []lnx.LeftOut `json:"left_out"`
	}
	railJSON struct {
		Name string `json:"name"`
		providers.Info
		MaxMsgSize uint64   `json:"max_msg_size,omitempty"` // without it there is no limit
		AddrFormat string   `json:"addr_format"`
		Caps       []string `json:"caps"`
		More       []string `json:"caps_on_request"` // what could be asked for besides
	}
)

// maxJSONNumber is the largest whole number that every reader of JSON takes exactly.
const maxJSONNumber = 1 << 53

func newRailJSON(i providers.Info, could lnx.Caps) railJSON {
	caps := usable(i.Caps)
	more := []string{}
	for _, c := range askable {
		if could&^caps&c != 0 {
			more = append(more, fiinfo.Caps(c).Names()...)
		}
	}
	r := railJSON{i.Name(), i, i.MaxMsgSize, i.AddrFormat.String(), fiinfo.Caps(caps).Names(), more}
	if r.MaxMsgSize > maxJSONNumber {
		r.MaxMsgSize = 0
	}
	return r
}

func newLeftOutJSON(all []lnx.LeftOut) (j leftOutJSON) {
	j.Notes, j.LeftOut = leftOut(all)
	return j
}

func showInfoJSON(w io.Writer, links []shown, all []lnx.LeftOut) error {
	out := infoJSON{Links: []linkJSON{}, leftOutJSON: newLeftOutJSON(elsewhere(links, all))}
	for _, l := range links {
		common := ^lnx.Caps(0)
		for _, could := range l.could {
			common &= could
		}
		j := linkJSON{Name: l.Name, Info: newRailJSON(l.Info, common), leftOutJSON: newLeftOutJSON(l.LeftOut)}
		for i, r := range l.Rails {
			j.Rails = append(j.Rails, newRailJSON(r, l.could[i]))
		}
		out.Links = append(out.Links, j)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
