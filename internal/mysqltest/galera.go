package mysqltest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// member is what makes a server a node of a Galera cluster.
type member struct {
	provider  string // the path of Galera's library
	cluster   string // its name
	name      string // the node's
	port      int    // where nodes talk to it
	transfer  int    // the port where it receives the changes that it missed
	addresses []string
	bootstrap bool   // it makes the cluster instead of joining it
	seed      string // the data folder that it begins with
}

// GaleraCluster starts that many MariaDB nodes, which replicate to each other by Galera on 127.0.0.1, and waits until all are synced.
// They are called node1, node2 …, and are gone when the test ends. A node that was stopped or killed joins again with [Server.Start],
// as long as another node has kept the changes that it missed: those can be transferred, a whole copy can't. That a node is gone
// without a word, the others notice after three seconds.
func GaleraCluster(tb testing.TB, n int, opts ...Option) []*Server {
	tb.Helper()
	provider, err := findGalera()
	if err != nil {
		giveUp(tb, err)
	}
	members := make([]*member, n)
	name := "c_" + strings.ToLower(rand.Text()[:10]) // nodes of another cluster that once had one of these ports are turned away
	var addresses []string
	for i := range members {
		m := &member{provider: provider, cluster: name, name: "node" + strconv.Itoa(i+1), bootstrap: i == 0}
		for _, port := range []*int{&m.port, &m.transfer} {
			if *port, err = FreePort(); err != nil {
				tb.Fatal(err)
			}
		}
		members[i] = m
		addresses = append(addresses, m.address(m.port))
	}
	seed := seedCluster(tb, *members[0])
	defer os.RemoveAll(seed)
	nodes := make([]*Server, n)
	for i, m := range members {
		m.addresses, m.seed = addresses, filepath.Join(seed, "data")
		nodes[i] = start(tb, FlavourMariaDB, append([]Option{func(s *Spec) { s.galera = m }, Options("log_slave_updates")}, opts...))
		nodes[i].AwaitStatus(tb, "wsrep_cluster_size", strconv.Itoa(i+1))
		nodes[i].AwaitStatus(tb, "wsrep_local_state_comment", "Synced")
	}
	for _, node := range nodes {
		node.AwaitStatus(tb, "wsrep_cluster_size", strconv.Itoa(n))
	}
	members[0].bootstrap = false
	return nodes
}

// seedCluster gives the folder of a server that was a cluster by itself: a node joins with a position in the cluster's changes that
// InnoDB has kept, and a fresh data folder has none.
func seedCluster(tb testing.TB, m member) (dir string) {
	tb.Helper()
	dir, err := scratchDir()
	if err != nil {
		tb.Fatal(err)
	}
	m.bootstrap = true
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	p, err := Launch(ctx, Spec{Flavour: FlavourMariaDB, Dir: dir, galera: &m})
	if err != nil {
		giveUp(tb, err)
	}
	if err := p.Stop(ctx); err != nil {
		tb.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "data", "galera.cache")); err != nil { // large, and of the one server
		tb.Fatal(err)
	}
	return dir
}

// AwaitStatus waits until SHOW GLOBAL STATUS gives that value.
func (s *Server) AwaitStatus(tb testing.TB, name, value string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		row, err := statusRow(ctx, s.root, "SHOW GLOBAL STATUS LIKE '"+name+"'")
		if err == nil && row["Value"] == value {
			return
		}
		select {
		case <-ctx.Done():
			tb.Fatalf("mysqltest: %s is %q, want %q (%v)", name, row["Value"], value, err)
		case <-tick.C:
		}
	}
}

// findGalera gives the path of Galera's library. MONOLITH_GALERA may name it.
func findGalera() (string, error) {
	paths := []string{"/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so"}
	if named := os.Getenv("MONOLITH_GALERA"); named != "" {
		paths = []string{named}
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", &MissingError{What: "Galera (libgalera_smm.so)", How: "make deps, or apt-get install galera-4, or name it in MONOLITH_GALERA"}
}

// transferScript is what the nodes call to transfer data (wsrep_sst_method). It transfers none: it tells the joiner at which position
// it stands, so that the donor sends the changes since. Server packages bring scripts that copy all, but the core package has none.
const transferScript = `#!/bin/sh
while [ $# -gt 0 ]; do
	case $1 in
	--role) role=$2; shift ;;
	--address) address=$2; shift ;;
	--datadir) data=$2; shift ;;
	--gtid) position=$2; shift ;;
	--bypass) bypass=1 ;;
	esac
	shift
done
if [ "$role" = joiner ]; then
	rm -f "$data/transferred"
	echo "ready $address/$data"
	tries=0
	while [ ! -e "$data/transferred" ] && [ $((tries += 1)) -lt 1200 ]; do
		sleep 0.05
	done
	cat "$data/transferred" && rm "$data/transferred"
elif [ -n "$bypass" ]; then
	to=/${address#*/}
	echo continue
	echo "$position" >"$to/transferred.new" && mv "$to/transferred.new" "$to/transferred" && echo "done $position"
else
	echo "a whole copy is wanted, and only missed changes can be transferred" >&2
	exit 22
fi
`

func (m *member) address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// prepare writes the script into the server's folder and gives what the server's command line and its PATH need.
func (m *member) prepare(p *Process) (args []string, path string, err error) {
	if err := os.WriteFile(filepath.Join(p.Dir, "wsrep_sst_incremental"), []byte(transferScript), 0o700); err != nil {
		return nil, "", fmt.Errorf("mysqltest: launch node: %w", err)
	}
	args = []string{
		"--wsrep-on=ON", "--wsrep-provider=" + m.provider, "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2",
		"--wsrep-cluster-name=" + m.cluster, "--wsrep-node-name=" + m.name,
		"--wsrep-cluster-address=gcomm://" + strings.Join(m.addresses, ","),
		"--wsrep-node-address=127.0.0.1", "--wsrep-node-incoming-address=" + m.address(p.Port),
		"--wsrep-sst-method=incremental",
		"--wsrep-provider-options=gmcast.listen_addr=tcp://" + m.address(m.port) + ";ist.recv_addr=" + m.address(m.transfer) +
			";gcache.size=16M;evs.suspect_timeout=PT3S;evs.inactive_timeout=PT10S",
	}
	if m.bootstrap {
		args = append(args, "--wsrep-new-cluster")
	}
	return args, p.Dir + string(os.PathListSeparator) + os.Getenv("PATH"), nil
}

var recovered = regexp.MustCompile(`WSREP: Recovered position: (\S+)`)

// recover gives the option with the position of a node that crashed, which only InnoDB knows; "" for others.
func (m *member) recover(ctx context.Context, spec Spec, p *Process, data string) (option string, err error) {
	state, err := os.ReadFile(filepath.Join(data, "grastate.dat"))
	if errors.Is(err, os.ErrNotExist) || err == nil && !regexp.MustCompile(`(?m)^seqno:\s+-1$`).Match(state) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("mysqltest: recover node: %w", err)
	}
	cmd, err := command(spec, p, data)
	if err != nil {
		return "", err
	}
	cmd = exec.CommandContext(ctx, cmd.Path, append(cmd.Args[1:], "--wsrep-recover")...)
	cmd.Dir = p.Dir
	out, err := cmd.CombinedOutput()
	found := recovered.FindSubmatch(out)
	if err != nil || found == nil {
		return "", fmt.Errorf("mysqltest: recover node: %w; it said:\n%s", err, out)
	}
	return "wsrep_start_position=" + string(found[1]), nil
}
