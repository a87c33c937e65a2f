package launch

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Machine is what ranks are placed on.
type Machine struct {
	Nodes []Node // by number
	NICs  []NIC  // kind by kind, cxi2 before cxi10
}

// Node is a NUMA node.
type Node struct {
	ID   int
	CPUs []int // ascending; none if it is memory alone
	// Distances has the distance to each node, as the firmware says it: 10 is the
	// node itself. It is nil if the kernel does not say.
	Distances map[int]int
}

// NIC is a network interface.
type NIC struct {
	Name string
	Kind string // the class of devices in sysfs: cxi, infiniband or net
	Node int    // Unknown if the kernel does not say
	// Device says that there is hardware behind it, or what a virtual machine takes
	// for that. A loopback, bridge or tunnel has none.
	Device bool
	// Down says that it has no link.
	Down bool
}

// Unknown stands for a node or a distance that the kernel does not say.
const Unknown = -1

// kinds of NICs, those for messages first.
var kinds = []string{"cxi", "infiniband", "net"}

// Read reads a machine's sysfs, with the root directory being root. What it cannot read
// is missing in the answer.
func Read(root fs.FS) Machine {
	var m Machine
	m.readNodes(root)
	for _, kind := range kinds {
		var nics []NIC
		for _, name := range directories(root, "sys/class/"+kind) {
			nics = append(nics, readNIC(root, kind, name))
		}
		slices.SortFunc(nics, func(a, b NIC) int { return compareNames(a.Name, b.Name) })
		m.NICs = append(m.NICs, nics...)
	}
	return m
}

const nodesPath = "sys/devices/system/node"

func (m *Machine) readNodes(root fs.FS) {
	for _, name := range directories(root, nodesPath) {
		number, isNode := strings.CutPrefix(name, "node")
		id, err := strconv.Atoi(number)
		if !isNode || err != nil || id < 0 {
			continue
		}
		text, _ := readLine(root, path.Join(nodesPath, name, "cpulist"))
		cpus, err := parseCPUs(text)
		if err != nil {
			continue
		}
		m.Nodes = append(m.Nodes, Node{ID: id, CPUs: cpus})
	}
	slices.SortFunc(m.Nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	for i := range m.Nodes {
		m.Nodes[i].Distances = m.readDistances(root, m.Nodes[i].ID)
	}
}

// readDistances reads one row of the table of distances, which has a column for each node
// that is there.
func (m *Machine) readDistances(root fs.FS, id int) map[int]int {
	text, _ := readLine(root, path.Join(nodesPath, "node"+strconv.Itoa(id), "distance"))
	columns := strings.Fields(text)
	if len(columns) != len(m.Nodes) {
		return nil
	}
	distances := map[int]int{}
	for i, column := range columns {
		d, err := strconv.Atoi(column)
		if err != nil || d < 0 {
			return nil
		}
		distances[m.Nodes[i].ID] = d
	}
	return distances
}

func readNIC(root fs.FS, kind, name string) NIC {
	at := path.Join("sys/class", kind, name)
	nic := NIC{Name: name, Kind: kind, Node: Unknown}
	if info, err := fs.Stat(root, path.Join(at, "device")); err == nil && info.IsDir() {
		nic.Device = true
	}
	if text, ok := readLine(root, path.Join(at, "device/numa_node")); ok {
		if id, err := strconv.Atoi(text); err == nil && id >= 0 {
			nic.Node = id
		}
	}
	nic.Down = isDown(root, kind, at)
	return nic
}

// isDown says whether all the links that a NIC has are known not to be there.
func isDown(root fs.FS, kind, at string) bool {
	var states []string
	switch kind {
	case "net":
		states = []string{path.Join(at, "operstate")}
	case "infiniband":
		states, _ = fs.Glob(root, path.Join(escape(at), "ports/*/state"))
	default:
		states, _ = fs.Glob(root, path.Join(escape(at), "device/net/*/operstate"))
	}
	for _, state := range states {
		text, ok := readLine(root, state)
		// "down" and "up"; "1: DOWN" and "4: ACTIVE"
		if !ok || !strings.Contains(strings.ToLower(text), "down") {
			return false
		}
	}
	return len(states) > 0
}

// escape takes the meaning from the characters of a pattern.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// directories answers the names of the directories in one, or of links to some.
func directories(root fs.FS, at string) (names []string) {
	entries, _ := fs.ReadDir(root, at)
	for _, e := range entries {
		if info, err := fs.Stat(root, path.Join(at, e.Name())); err == nil && info.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

func readLine(root fs.FS, file string) (string, bool) {
	text, err := fs.ReadFile(root, file)
	return strings.TrimSpace(string(text)), err == nil
}

// compareNames puts names into order, and cxi2 before cxi10.
func compareNames(a, b string) int {
	stem, number := cutNumber(a)
	otherStem, otherNumber := cutNumber(b)
	return cmp.Or(cmp.Compare(stem, otherStem), cmp.Compare(number, otherNumber), cmp.Compare(a, b))
}

func cutNumber(name string) (stem string, number int) {
	stem = strings.TrimRight(name, "0123456789")
	number, _ = strconv.Atoi(name[len(stem):])
	return stem, number
}
