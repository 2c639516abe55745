package poller

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"monolith"
)

const maxMembers = 100 // a replication group has at most nine, a Galera cluster seldom more

// membersCollector lists the members of the group or cluster that a server belongs to.
func membersCollector() *Collector {
	group := groupCollector()
	return &Collector{
		Name:    "members",
		Title:   "Members of the cluster",
		Help:    "The members of the replication group, or the nodes of the Galera cluster, one by one: state, role, version and queues.",
		Timeout: 5 * time.Second,
		Applies: func(g *Gather) (bool, string) {
			if g.Identity.Galera {
				return true, ""
			}
			ok, why := group.Applies(g)
			if !ok {
				why = "the server is no node of a Galera cluster (wsrep_on), and " + why
			}
			return ok, why
		},
		Grant: func(id monolith.Identity, account string) string {
			if id.Galera {
				return "GRANT SELECT ON mysql.* TO " + quoteAccount(account) + ";"
			}
			return grantPerformanceSchema(id, account)
		},
		Collect: func(ctx context.Context, g *Gather) error {
			if g.Identity.Galera {
				return collectGaleraNodes(ctx, g)
			}
			return collectGroupMembers(ctx, g)
		},
	}
}

// listMembers has a row a member. MySQL 5.7 tells neither role nor version; its primary stands in the status.
const (
	listMembers57 = "SELECT MEMBER_ID AS id, MEMBER_HOST AS host, MEMBER_PORT AS port, MEMBER_STATE AS state, (MEMBER_ID = @@server_uuid OR MEMBER_ID = '') AS own" +
		" FROM performance_schema.replication_group_members"
	listMembers = "SELECT MEMBER_ID AS id, MEMBER_HOST AS host, MEMBER_PORT AS port, MEMBER_STATE AS state, (MEMBER_ID = @@server_uuid OR MEMBER_ID = '') AS own," +
		" MEMBER_ROLE AS role, MEMBER_VERSION AS version FROM performance_schema.replication_group_members"
	memberQueues57 = "SELECT MEMBER_ID AS id, COUNT_TRANSACTIONS_IN_QUEUE AS queue FROM performance_schema.replication_group_member_stats"
	memberQueues   = "SELECT MEMBER_ID AS id, COUNT_TRANSACTIONS_IN_QUEUE AS queue, COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE AS apply_queue" +
		" FROM performance_schema.replication_group_member_stats"
)

func collectGroupMembers(ctx context.Context, g *Gather) error {
	members, queues := listMembers, memberQueues
	if !has(g.Identity, since{mysql: v(8, 0, 2)}) {
		members, queues = listMembers57, memberQueues57
	}
	primary, _, _ := g.State.Text(monolith.Metric{Name: "status.group_replication_primary_member"})
	list := []monolith.Member{}
	err := g.Session.Query(ctx, members, func(row Row) error {
		text := func(name string, limit int) string { return cut(printable(first(row.Text(name))), limit) }
		m := monolith.Member{
			Kind: "group", ID: text("id", 64), Host: text("host", 255), Port: number(row, "port"), State: strings.ToUpper(text("state", 32)),
			Role: strings.ToUpper(text("role", 32)), Version: text("version", 32), Own: number(row, "own") == 1,
		}
		if m.Role == "" && primary != "" {
			if m.Role = "SECONDARY"; m.ID == primary {
				m.Role = "PRIMARY"
			}
		}
		if len(list) < maxMembers {
			list = append(list, m)
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = g.Session.Query(ctx, queues, func(row Row) error {
		id := first(row.Text("id"))
		for i := range list {
			if m := &list[i]; m.ID == id && id != "" {
				m.Queue, m.ApplyQueue = optionalInt(row, "queue"), optionalInt(row, "apply_queue")
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	sortMembers(list)
	primaries, versions, told := uint64(0), map[string]bool{}, false
	for i := range list {
		m := &list[i]
		told = told || m.Role != ""
		if m.Role == "PRIMARY" && m.State == "ONLINE" {
			primaries++
		}
		if m.Version != "" {
			versions[m.Version] = true
		}
	}
	rec := g.Recorder("server")
	count := monolith.Num{} // a group of several primaries on 5.7 names none
	if told {
		count = monolith.Uint(primaries)
	}
	rec.Number("group_primaries", "", count)
	if len(versions) > 0 {
		rec.Number("group_versions", "", monolith.Uint(uint64(len(versions))))
	}
	rec.Done()
	g.snapshot.Members = list
	return nil
}

func optionalInt(row Row, name string) *int64 {
	if n, ok := row.Int(name); ok {
		return &n
	}
	return nil
}

func sortMembers(list []monolith.Member) {
	slices.SortFunc(list, func(a, b monolith.Member) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port), cmp.Compare(a.ID, b.ID))
	})
}

// collectGaleraNodes reads the table of nodes that Galera 4 keeps (MariaDB ≥ 10.4, Percona XtraDB Cluster ≥ 8.0); otherwise the
// status has at least their addresses. What a node is doing only the node itself says.
func collectGaleraNodes(ctx context.Context, g *Gather) error {
	status := func(name string) string {
		text, _, _ := g.State.Text(monolith.Metric{Name: "status." + name})
		return printable(text)
	}
	own := status("wsrep_gcomm_uuid")
	list := []monolith.Member{}
	if has(g.Identity, since{mysql: v(8), mariadb: v(10, 4)}) {
		err := g.Session.Query(ctx, "SELECT node_uuid AS id, node_name AS name, node_incoming_address AS address FROM mysql.wsrep_cluster_members LIMIT "+
			itoa(maxMembers), func(row Row) error {
			m := galeraNode(printable(first(row.Text("address"))))
			m.ID, m.Name = cut(printable(first(row.Text("id"))), 64), cut(printable(first(row.Text("name"))), 255)
			m.Own = own != "" && strings.EqualFold(m.ID, own)
			list = append(list, m)
			return nil
		})
		if err := noteRefusal(g, err, "the names of the cluster's nodes can't be read", g.grant()); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		for address := range strings.SplitSeq(status("wsrep_incoming_addresses"), ",") {
			if address = strings.TrimSpace(address); address != "" && len(list) < maxMembers {
				list = append(list, galeraNode(address))
			}
		}
	}
	if i, err := strconv.Atoi(status("wsrep_local_index")); own == "" && err == nil && i >= 0 && i < len(list) {
		list[i].Own = true
	}
	for i := range list {
		if m := &list[i]; m.Own {
			m.State, m.Version = status("wsrep_local_state_comment"), g.Identity.VersionText
		}
	}
	sortMembers(list)
	g.snapshot.Members = list
	return nil
}

// galeraNode reads an address, which is AUTO where nobody set wsrep_node_incoming_address and Galera did not find one.
func galeraNode(address string) monolith.Member {
	m := monolith.Member{Kind: "galera", Host: cut(address, 255)}
	if host, port, err := net.SplitHostPort(address); err == nil {
		m.Host = cut(host, 255)
		m.Port, _ = strconv.Atoi(port)
	}
	return m
}
