package benchtable

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
)

// withRails is the begin of a command line that puts the command into a network
// namespace of its own, with lo and n interfaces that lead nowhere. The namespace ends
// with the command.
func withRails(n int) ([]string, error) {
	if os.Geteuid() != 0 {
		return nil, &SkipError{"network namespaces need root"}
	}
	prefix := []string{"unshare", "--net", "sh", "-ec", fmt.Sprintf(`
		ip link set lo up
		for i in $(seq %d); do
			ip link add rail$i type veth peer name end$i
			ip link set end$i up
			ip address add 10.212.$i.1/24 dev rail$i
			ip link set rail$i up
		done
		exec "$0" "$@"`, n)}
	if out, err := exec.Command(prefix[0], append(prefix[1:], "true")...).CombinedOutput(); err != nil {
		return nil, &SkipError{fmt.Sprintf("no network namespace with %d interfaces: %v: %s", n, err, bytes.TrimSpace(out))}
	}
	return prefix, nil
}
