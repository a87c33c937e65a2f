package fiinfo

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestBits(t *testing.T) {
	for _, test := range []struct {
		caps Caps
		text string
	}{
		{0, "0"},
		{1 << 1, "FI_MSG"},
		{1<<3 | 1<<1 | 1<<59, "FI_MSG|FI_TAGGED|FI_DIRECTED_RECV"},
		{1<<22 | 1<<1 | 1<<63, "FI_MSG|0x400000|0x8000000000000000"},
	} {
		require.Equal(t, test.text, test.caps.String())
	}
	require.Equal(t, "FI_MR_BASIC|FI_MR_VIRT_ADDR|0x2000", MRMode(1<<0|1<<4|1<<13).String())
	require.Equal(t, "FI_CONTEXT2|FI_CONTEXT", Mode(1<<59|1<<52).String())
	require.Equal(t, "FI_ORDER_SAS|FI_ORDER_DATA", CompOrder(1<<16|1<<8).String())
}

func TestEnums(t *testing.T) {
	require.Equal(t, "FI_EP_RDM", EPType(3).String())
	require.Equal(t, "0x4", EPType(4).String())
	require.Equal(t, "FI_PROTO_LNX", Protocol(31).String())
	require.Equal(t, "FI_TC_UNSPEC", TrafficClass(0).String())
	require.Equal(t, "0x1", TrafficClass(1).String())
	require.Equal(t, "FI_TC_DSCP(46)", TrafficClass(0x100|46).String())
	require.Equal(t, "FI_TC_NETWORK_CTRL", TrafficClass(0x205).String())
	require.Equal(t, "0xffffffff", AddrFormat(1<<32-1).String())
}

func TestNumbers(t *testing.T) {
	require.Equal(t, "2^64-1", Number(1<<64-1).String())
	require.Equal(t, "FI_SHARED_CONTEXT", SharedContext.String())
	require.Equal(t, "7", ContextCount(7).String())
	require.Equal(t, "FI_TAG_CCL", TagCCL.String())
	require.Equal(t, "0x0000ffffffffffff", TagFormat(1<<48-1).String())
	require.Equal(t, "201.10", Version(201<<16|10).String())
}

func TestAddr(t *testing.T) {
	for text, addr := range map[string]Addr{
		"":                  nil,
		"127.0.0.1:7471":    {2, 0, 0x1d, 0x2f, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0},
		"[::1]:7471":        {10, 0, 0x1d, 0x2f, 24: 0, 23: 1, 27: 0},
		"[fe80::%3]:1":      {10, 0, 0, 1, 8: 0xfe, 9: 0x80, 24: 3, 27: 0},
		"fi_shm://4711:0:0": Addr("fi_shm://4711:0:0\x00"),
		"0x307800":          Addr("0x\x00"),
		"0x00":              {0},
		"0x666f6f":          Addr("foo"),
		"0x666f6f0a00":      Addr("foo\n\x00"),
		"0x666f006f00":      Addr("fo\x00o\x00"),
		"0xc3a400":          Addr("ä\x00"),
	} {
		require.Equal(t, text, addr.String())
		var back Addr
		require.NoError(t, back.UnmarshalText([]byte(text)))
		require.Equal(t, addr, back)
	}
	// What would be read as something else is written as bytes.
	require.Equal(t, "0x312e322e332e343a3500", Addr("1.2.3.4:5\x00").String())
	flow := Addr{10, 0, 0x1d, 0x2f, 0, 0, 0, 9, 27: 0}
	require.Equal(t, "0x0a001d2f00000009", flow.String()[:18], "an IPv6 flow has no place in the text")
}

// names of one table mean one thing each, or reading them back would go wrong.
func TestNamesAreUnique(t *testing.T) {
	for _, bits := range []*[64]string{&capBits, &modeBits, &mrModeBits, &opFlagBits, &msgOrderBits, &compOrderBits} {
		requireUnique(t, bits[:])
	}
	for _, values := range [][]string{epTypes, protocols, addrFormats, threadings, progresses, resourceMgmts, avTypes, trafficClasses} {
		requireUnique(t, values)
	}
}

func requireUnique(t *testing.T, names []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, name := range names {
		require.False(t, name != "" && seen[name], name)
		seen[name] = true
	}
}

// infoOf draws any Info, bits without a name and all.
func infoOf(t *rapid.T) *Info {
	info := &Info{NIC: &NIC{}}
	fill(t, reflect.ValueOf(info).Elem())
	if rapid.Bool().Draw(t, "no NIC") {
		info.NIC = nil
	}
	return info
}

func fill(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		fill(t, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, "number"))
	case reflect.Uint32:
		v.SetUint(uint64(rapid.OneOf(rapid.Uint32(), rapid.Uint32Range(0, 0x210)).Draw(t, "value")))
	case reflect.String:
		v.SetString(rapid.String().Draw(t, "name"))
	case reflect.Slice:
		if b := rapid.SliceOf(rapid.Byte()).Draw(t, "address"); len(b) > 0 {
			v.SetBytes(b)
		}
	default:
		panic("an attribute of a kind that is not drawn: " + v.Type().String())
	}
}

func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		info := infoOf(t)
		text, err := json.Marshal(info)
		require.NoError(t, err)
		var back Info
		require.NoError(t, json.Unmarshal(text, &back), "%s", text)
		require.Equal(t, info, &back)
	})
}

func TestJSON(t *testing.T) {
	info := &Info{
		Caps: 1<<1 | 1<<3, AddrFormat: 9, Src: Addr("fi_shm://1:0:0\x00"),
		EP:     EP{Type: 3, MaxMsgSize: 1<<64 - 1, TxCtxCount: SharedContext},
		Fabric: Fabric{Provider: "shm", APIVersion: 2<<16 | 1},
	}
	text, err := json.Marshal(info)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"caps": ["FI_MSG", "FI_TAGGED"], "addr_format": "FI_ADDR_STR", "src_addr": "fi_shm://1:0:0",
		"ep_attr": {"type": "FI_EP_RDM", "max_msg_size": "18446744073709551615", "tx_ctx_cnt": "FI_SHARED_CONTEXT"},
		"fabric_attr": {"prov_name": "shm", "api_version": "2.1"}
	}`, string(text))
}

func TestBadJSON(t *testing.T) {
	for _, text := range []string{
		`{"caps": ["FI_MESSAGE"]}`, `{"caps": "FI_MSG"}`, `{"caps": [""]}`, `{"caps": ["0x1ffffffffffffffff"]}`, `{"caps": 1}`,
		`{"addr_format": "FI_EP_RDM"}`, `{"addr_format": ""}`, `{"addr_format": "0x100000000"}`, `{"addr_format": 1}`,
		`{"ep_attr": {"max_msg_size": -1}}`, `{"ep_attr": {"max_msg_size": "18446744073709551616"}}`, `{"ep_attr": {"max_msg_size": []}}`,
		`{"ep_attr": {"mem_tag_format": "x"}}`, `{"ep_attr": {"tx_ctx_cnt": "many"}}`,
		`{"fabric_attr": {"api_version": "2"}}`, `{"fabric_attr": {"api_version": "2.65536"}}`,
		`{"src_addr": "0xabc"}`, `{"src_addr": "[fe80::%lo]:1"}`,
	} {
		require.Error(t, json.Unmarshal([]byte(text), new(Info)), text)
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"caps":["FI_MSG","0x400000"],"addr_format":"0x99","src_addr":"1.2.3.4:5","ep_attr":{"max_msg_size":"18446744073709551615"}}`))
	f.Add([]byte(`{"dest_addr":"[fe80::1%2]:3","fabric_attr":{"prov_version":"201.0"},"nic":{"mtu":1500}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var info, back Info
		if json.Unmarshal(text, &info) != nil {
			return
		}
		again, err := json.Marshal(info)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(again, &back))
		third, err := json.Marshal(back)
		require.NoError(t, err)
		require.Equal(t, string(again), string(third))
	})
}

func TestFields(t *testing.T) {
	info := &Info{Caps: 1 << 1, TX: TX{OpFlags: 1 << 24, InjectSize: 64}, NIC: &NIC{Device: "cxi0"}}
	texts := map[string]string{}
	for _, f := range info.Fields() {
		require.NotContains(t, texts, f.Path)
		texts[f.Path] = f.Text
	}
	require.Subset(t, texts, map[string]string{
		"caps": "FI_MSG", "mode": "0", "src_addr": "", "ep_attr.type": "FI_EP_UNSPEC", "tx_attr.op_flags": "FI_COMPLETION",
		"tx_attr.inject_size": "64", "domain_attr.mr_mode": "0", "fabric_attr.api_version": "0.0", "nic.device": "cxi0",
	})
	info.NIC = nil
	require.Less(t, len(info.Fields()), len(texts))
	require.Nil(t, (*Info)(nil).Fields())
}

func TestCompare(t *testing.T) {
	asked := &Info{
		Caps: 1<<1 | 1<<3, Mode: 1<<59 | 1<<52, EP: EP{Type: 3, MaxMsgSize: 100, TxCtxCount: 4}, TX: TX{InjectSize: 64},
		Domain: Domain{MRMode: 1<<2 | 1<<4, Threading: 3}, Fabric: Fabric{Provider: "shm"},
	}
	granted := &Info{
		Caps: 1<<1 | 1<<3 | 1<<10, Mode: 1 << 59, EP: EP{Type: 3, MaxMsgSize: 1000, TxCtxCount: 1}, TX: TX{InjectSize: 64, MsgOrder: 1},
		Domain: Domain{MRMode: 1<<4 | 1<<5, Threading: 1}, Fabric: Fabric{Provider: "tcp"}, NIC: &NIC{MTU: 1500},
	}
	require.Equal(t, map[string]string{
		"caps": "more", "mode": "less", "ep_attr.max_msg_size": "more", "ep_attr.tx_ctx_cnt": "less", "tx_attr.msg_order": "open",
		"domain_attr.mr_mode": "different", "domain_attr.threading": "different", "fabric_attr.prov_name": "different", "nic.mtu": "open",
	}, relations(asked, granted))
	require.Empty(t, relations(asked, asked))
	require.Empty(t, relations(nil, nil))
	require.Empty(t, relations(granted, granted))
	for path, relation := range relations(nil, granted) {
		require.Equal(t, "open", relation, path)
	}
	require.Equal(t, "less", relations(granted, nil)["nic.mtu"])
}

// relations answers those that are not equal.
func relations(asked, granted *Info) map[string]string {
	all := map[string]string{}
	for _, p := range Compare(asked, granted) {
		if p.Relation != Equal {
			all[p.Asked.Path] = p.Relation.String()
		}
	}
	return all
}
