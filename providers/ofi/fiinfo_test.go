package ofi

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"golnx/providers"
	"golnx/providers/fiinfo"
	"golnx/providers/ofi/internal/tostr"
)

// newerNames came with later versions of libfabric than some that the package builds
// with.
var newerNames = map[string]Version{
	"FI_XPU": {2, 6}, "FI_MR_XPU_DESC": {2, 6}, "FI_SOCKADDR_IP": {2, 6},
}

// requireName compares our name of a value with libfabric's, if one of us has any.
func requireName(t *testing.T, kind tostr.Kind, value uint64, ours string) {
	t.Helper()
	if theirs := tostr.Value(kind, value); theirs != nil {
		require.Equal(t, theirs, []string{ours}, "%#x", value)
		return
	}
	requireHeader(t, ours, value)
}

// requireHeader checks a name that fi_tostr(3) does not know.
func requireHeader(t *testing.T, name string, value uint64) {
	t.Helper()
	if strings.HasPrefix(name, "0x") {
		return
	}
	if since, ok := newerNames[name]; ok && HeaderVersion.Minor <= since.Minor {
		return
	}
	want, ok := tostr.Header[name]
	require.True(t, ok, "nothing confirms %s = %#x", name, value)
	require.Equal(t, want, value, name)
}

func TestNamesOfBits(t *testing.T) {
	for bit := range 64 {
		v := uint64(1) << bit
		requireName(t, tostr.Caps, v, fiinfo.Caps(v).String())
		requireName(t, tostr.Mode, v, fiinfo.Mode(v).String())
		requireName(t, tostr.OpFlags, v, fiinfo.OpFlags(v).String())
		requireName(t, tostr.MsgOrder, v, fiinfo.MsgOrder(v).String())
		if bit < 32 { // of an int
			requireName(t, tostr.MRMode, v, fiinfo.MRMode(v).String())
		}
	}
}

func TestNamesOfValues(t *testing.T) {
	for v := range uint64(64) {
		requireName(t, tostr.EPType, v, fiinfo.EPType(v).String())
		requireName(t, tostr.Protocol, v, fiinfo.Protocol(v).String())
		requireName(t, tostr.AddrFormat, v, fiinfo.AddrFormat(v).String())
		requireName(t, tostr.Threading, v, fiinfo.Threading(v).String())
		requireName(t, tostr.Progress, v, fiinfo.Progress(v).String())
		requireName(t, tostr.AVType, v, fiinfo.AVType(v).String())
		requireName(t, tostr.DomainAttrs, v, fiinfo.ResourceMgmt(v).String())
	}
	for v := range uint64(0x400) {
		name := fiinfo.TrafficClass(v).String()
		if strings.HasPrefix(name, "FI_TC_DSCP(") {
			var dscp uint8
			_, err := fmt.Sscanf(name, "FI_TC_DSCP(%d)", &dscp)
			require.NoError(t, err)
			require.EqualValues(t, tostr.DSCP(dscp), v)
			continue
		}
		requireHeader(t, name, v)
	}
	for _, f := range []fiinfo.TagFormat{fiinfo.TagMPI, fiinfo.TagCCL} {
		requireHeader(t, f.String(), uint64(f))
	}
}

// discovered answers what a provider offers here.
func discovered(t *testing.T, name string) []*Info {
	t.Helper()
	traits, ok := providers.Lookup(name)
	require.True(t, ok)
	infos, err := Discover(traits, Hints(traits))
	require.NoError(t, err)
	require.NotEmpty(t, infos)
	return infos
}

// notOurs are lines of fi_tostr(3) that no attribute is written in.
var notOurs = map[string]bool{"src_addrlen": true, "dest_addrlen": true, "handle": true, "domain_attr.domain": true}

// written answers the lines of fi_tostr(3) for an info by our paths, but for the NIC.
func written(info *Info) map[string]string {
	lines := map[string]string{}
	section := ""
	for line := range strings.Lines(tostr.Info(unsafe.Pointer(info.c))) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if key == "nic" {
			break
		}
		if part, ok := strings.CutPrefix(key, "fi_"); ok {
			section = strings.TrimPrefix(part+".", "info.")
			continue
		}
		lines[section+key] = strings.TrimSpace(value)
	}
	return lines
}

// asWritten is a field as fi_tostr(3) has it.
func asWritten(f fiinfo.Field) string {
	switch v := f.Value.(type) {
	case fiinfo.Number:
		return fmt.Sprint(uint64(v))
	case fiinfo.TagFormat:
		return fmt.Sprintf("0x%016x", uint64(v))
	case fiinfo.TrafficClass:
		return fmt.Sprintf("0x%x", uint32(v))
	}
	return f.Text
}

// All that fi_tostr(3) writes of an info is in Attr, with the same value.
func TestAttrIsWhatTostrWrites(t *testing.T) {
	for _, provider := range []string{"shm", "tcp;ofi_rxm"} {
		for _, info := range discovered(t, provider) {
			fields := map[string]fiinfo.Field{}
			for _, f := range Attr(info).Fields() {
				fields[f.Path] = f
			}
			lines := written(info)
			require.Greater(t, len(lines), 50, "lines that fi_tostr(3) writes")
			for path, theirs := range lines {
				f, ok := fields[path]
				if !ok {
					require.True(t, notOurs[path], "%s: %s of fi_tostr(3) is no attribute here", provider, path)
					continue
				}
				switch {
				case f.Names() != nil:
					list := strings.Fields(strings.Trim(strings.ReplaceAll(theirs, ",", ""), "[]"))
					require.ElementsMatch(t, list, known(f.Names()), "%s: %s", provider, path)
				case theirs == "Unknown":
				case strings.HasSuffix(path, "_addr"):
					requireAddr(t, theirs, f.Text)
				default:
					require.Equal(t, theirs, asWritten(f), "%s: %s", provider, path)
				}
			}
		}
	}
}

// known takes out what fi_tostr(3) has no name for.
func known(names []string) (all []string) {
	for _, name := range names {
		if _, ok := tostr.Header[name]; !ok {
			all = append(all, name)
		}
	}
	return all
}

// requireAddr compares addresses. fi_tostr(3) writes the format before those of sockets,
// and no scope.
func requireAddr(t *testing.T, theirs, ours string) {
	t.Helper()
	if theirs == "(null)" {
		theirs = ""
	}
	if _, addr, ok := strings.Cut(theirs, "://"); ok && strings.HasPrefix(theirs, "fi_sockaddr") {
		theirs = addr
	}
	require.Equal(t, theirs, regexp.MustCompile(`%\d+`).ReplaceAllString(ours, ""))
}

// Every hint that Discover passes on is met by what it answers.
func TestHintsAreMet(t *testing.T) {
	for _, provider := range []string{"shm", "tcp;ofi_rxm"} {
		for _, info := range discovered(t, provider) {
			granted := Attr(info)
			require.Zero(t, info.Hints.Caps&^granted.Caps, "caps that were not granted")
			require.Zero(t, granted.Mode&^info.Hints.Mode, "modes that were not offered")
			require.Zero(t, granted.Domain.MRMode&^info.Hints.Domain.MRMode, "MR modes that were not offered")
			require.Equal(t, info.Hints.EP.Type, granted.EP.Type)
			require.Equal(t, provider, granted.Fabric.Provider)
			require.Equal(t, info.Domain, granted.Domain.Name)
			require.Equal(t, []byte(granted.Src), info.Addr)
		}
	}
}

func TestAttrOfPartsThatAreMissing(t *testing.T) {
	require.Nil(t, attrOf(nil))
	full := discovered(t, "shm")[0]
	want := Attr(full)
	c := *full.c
	c.ep_attr, want.EP = nil, fiinfo.EP{}
	require.Equal(t, want, attrOf(&c))
	c.tx_attr, want.TX = nil, fiinfo.TX{}
	require.Equal(t, want, attrOf(&c))
	c.rx_attr, want.RX = nil, fiinfo.RX{}
	require.Equal(t, want, attrOf(&c))
	c.domain_attr, want.Domain = nil, fiinfo.Domain{}
	require.Equal(t, want, attrOf(&c))
	c.fabric_attr, want.Fabric = nil, fiinfo.Fabric{}
	require.Equal(t, want, attrOf(&c))
	c.nic, want.NIC = nil, nil
	require.Equal(t, want, attrOf(&c))
	c.src_addr, want.Src = nil, nil
	require.Equal(t, want, attrOf(&c))
}

// No provider here says anything of a NIC.
func TestAttrOfNIC(t *testing.T) {
	c := *discovered(t, "shm")[0].c
	c.nic = newOf(c.nic)
	require.Equal(t, &fiinfo.NIC{}, attrOf(&c).NIC)

	device := newOf(c.nic.device_attr)
	device.name, device.device_id, device.device_version = cText(device.name, "mlx5_0"), cText(device.name, "0x1017"), cText(device.name, "0")
	device.vendor_id, device.driver, device.firmware = cText(device.name, "0x15b3"), cText(device.name, "mlx5_core"), cText(device.name, "16.27")
	c.nic.device_attr = device
	bus := newOf(c.nic.bus_attr)
	bus.bus_type = 1 // FI_BUS_PCI
	bus.attr = [len(bus.attr)]byte{0: 1, 2: 0x3b, 3: 0x1f, 4: 7}
	c.nic.bus_attr = bus
	link := newOf(c.nic.link_attr)
	link.address, link.network_type = cText(link.address, "0xfe80"), cText(link.address, "InfiniBand")
	link.mtu, link.speed, link.state = 4096, 200e9, 2 // FI_LINK_UP
	c.nic.link_attr = link
	want := &fiinfo.NIC{
		Device: "mlx5_0", DeviceID: "0x1017", DeviceVersion: "0", VendorID: "0x15b3", Driver: "mlx5_core", Firmware: "16.27",
		PCI: "0001:3b:1f.7", Address: "0xfe80", MTU: 4096, Speed: 200e9, State: "up", Network: "InfiniBand",
	}
	require.Equal(t, want, attrOf(&c).NIC)

	bus.bus_type, want.PCI = 0, "" // FI_BUS_UNKNOWN
	link.state, want.State = 1, "down"
	require.Equal(t, want, attrOf(&c).NIC)
	link.state, want.State = 0, ""
	require.Equal(t, want, attrOf(&c).NIC)
}

// newOf makes what a pointer of C's type points to.
func newOf[T any](*T) *T { return new(T) }

// cText is a C string in memory of Go.
func cText[T any](_ *T, text string) *T {
	return (*T)(unsafe.Pointer(unsafe.StringData(text + "\x00")))
}
