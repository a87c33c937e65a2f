package railtest

import (
	"fmt"
	"strconv"
	"strings"

	"golnx/rail"
)

// attr is a key=value of a domain line. get answers "" for the value that the key
// need not be written for.
type attr struct {
	key string
	get func(*rail.Info) string
	set func(*rail.Info, string) error
}

var attrs = []attr{
	{"speed", func(d *rail.Info) string { return speedText(d.Speed) }, func(d *rail.Info, v string) (err error) { d.Speed, err = parseSpeed(v); return }},
	{"numa", func(d *rail.Info) string {
		if d.NUMA < 0 {
			return ""
		}
		return strconv.Itoa(d.NUMA)
	}, func(d *rail.Info, v string) (err error) { d.NUMA, err = parseNode(v); return }},
	text("pci", func(d *rail.Info) *string { return &d.PCI }),
	number("mtu", func(d *rail.Info) *uint64 { return &d.MTU }),
	number("inject", func(d *rail.Info) *uint64 { return &d.InjectSize }),
	number("max", func(d *rail.Info) *uint64 { return &d.MaxMsgSize }),
	text("format", func(d *rail.Info) *string { return &d.AddrFormat }),
	text("fabric", func(d *rail.Info) *string { return &d.Fabric }),
}

func text(key string, field func(*rail.Info) *string) attr {
	return attr{key, func(d *rail.Info) string { return *field(d) }, func(d *rail.Info, v string) error {
		*field(d) = v
		return nil
	}}
}

func number(key string, field func(*rail.Info) *uint64) attr {
	get := func(d *rail.Info) string {
		if *field(d) == 0 {
			return ""
		}
		return strconv.FormatUint(*field(d), 10)
	}
	return attr{key, get, func(d *rail.Info, v string) (err error) {
		*field(d), err = parseNumber(v)
		return err
	}}
}

func parseNumber(v string) (uint64, error) {
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no number from 0 to 2^64-1", v)
	}
	return n, nil
}

// maxNode bounds NUMA nodes, as Linux does (MAX_NUMNODES).
const maxNode = 1 << 10

func parseNode(v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 || n >= maxNode {
		return 0, fmt.Errorf("%q is no NUMA node, which are 0 to %d", v, maxNode-1)
	}
	return n, nil
}

const speedUnits = "KMGT"

func parseSpeed(v string) (uint64, error) {
	digits, scale := v, uint64(1)
	if v != "" {
		if unit := strings.IndexByte(speedUnits, v[len(v)-1]); unit >= 0 {
			digits = v[:len(v)-1]
			for range unit + 1 {
				scale *= 1000
			}
		}
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || n > (1<<64-1)/scale {
		return 0, fmt.Errorf("%q is no speed, which is bit/s as 200G or 200000000000", v)
	}
	return n * scale, nil
}

func speedText(bits uint64) string {
	if bits == 0 {
		return ""
	}
	unit := ""
	for i := 0; i < len(speedUnits) && bits%1000 == 0; i++ {
		bits /= 1000
		unit = speedUnits[i : i+1]
	}
	return strconv.FormatUint(bits, 10) + unit
}
