package poller

import (
	"cmp"
	"context"
	"slices"
	"time"

	"monolith"
)

const maxHostCacheRows = 50

// hostCacheCollector reads which clients had errors while connecting.
func hostCacheCollector() *Collector {
	return &Collector{
		Name:    "hostcache",
		Title:   "Host cache",
		Help:    "Clients whose connections met errors, by address, and how many of these are checks of load balancers.",
		Timeout: 5 * time.Second,
		Applies: func(g *Gather) (bool, string) {
			if !has(g.Identity, since{mysql: v(5, 6, 5), mariadb: v(10)}) {
				return false, "only MySQL from 5.6 and MariaDB from 10.0 on show their host cache"
			}
			return performanceSchemaOn(g)
		},
		Grant:   grantPerformanceSchema,
		Collect: collectHostCache,
	}
}

// performanceSchemaOn is the condition of collectors that read performance_schema.
func performanceSchemaOn(g *Gather) (bool, string) {
	if value := g.variable("performance_schema"); value == "OFF" || value == "0" {
		return false, "performance_schema=OFF: the server keeps no such record"
	}
	return true, ""
}

// hostCache reads only the entries with errors; the cache has no index, and at most host_cache_size entries. That the name of an address
// can't be found is no error of the client's and not read.
const hostCache = "SELECT IP AS ip, HOST AS host, SUM_CONNECT_ERRORS AS connect_errors, COUNT_HOST_BLOCKED_ERRORS AS blocked," +
	" COUNT_AUTHENTICATION_ERRORS AS auth_errors, COUNT_HANDSHAKE_ERRORS AS handshake_errors," +
	" COUNT_HOST_ACL_ERRORS + COUNT_NO_AUTH_PLUGIN_ERRORS + COUNT_AUTH_PLUGIN_ERRORS +" +
	" COUNT_PROXY_USER_ERRORS + COUNT_PROXY_USER_ACL_ERRORS + COUNT_SSL_ERRORS + COUNT_MAX_USER_CONNECTIONS_ERRORS +" +
	" COUNT_DEFAULT_DATABASE_ERRORS + COUNT_INIT_CONNECT_ERRORS + COUNT_LOCAL_ERRORS + COUNT_UNKNOWN_ERRORS AS other_errors," +
	" LAST_ERROR_SEEN AS last_error FROM performance_schema.host_cache WHERE LAST_ERROR_SEEN IS NOT NULL"

func collectHostCache(ctx context.Context, g *Gather) error {
	worth := func(e *monolith.HostCacheEntry) int64 {
		return e.AuthErrors + e.HandshakeErrors + e.Blocked + e.OtherErrors
	}
	list := []monolith.HostCacheEntry{}
	var auth, handshake, probes int64
	err := g.Session.Query(ctx, hostCache, func(row Row) error {
		count := func(name string) int64 { n, _ := row.Int(name); return max(0, n) }
		e := monolith.HostCacheEntry{
			IP: cut(printable(first(row.Text("ip"))), 64), Host: cut(printable(first(row.Text("host"))), 255),
			ConnectErrors: count("connect_errors"), Blocked: count("blocked"), AuthErrors: count("auth_errors"),
			HandshakeErrors: count("handshake_errors"), OtherErrors: count("other_errors"),
			LastError: cut(printable(first(row.Text("last_error"))), 32),
		}
		e.Probe = slices.Contains(g.Server.ProbeAddresses, e.IP) || e.Host != "" && slices.Contains(g.Server.ProbeAddresses, e.Host)
		auth += e.AuthErrors
		handshake += e.HandshakeErrors
		if e.Probe {
			probes += e.HandshakeErrors
		}
		if worth(&e) > 0 {
			list = append(list, e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b monolith.HostCacheEntry) int {
		return cmp.Or(cmp.Compare(worth(&b), worth(&a)), cmp.Compare(a.IP, b.IP))
	})
	if len(list) > maxHostCacheRows {
		list = slices.Clone(list[:maxHostCacheRows])
	}
	rec := g.Recorder("server")
	rec.Number("host_cache_auth_errors_total", "", monolith.Int(auth))
	rec.Number("host_cache_handshake_errors_total", "", monolith.Int(handshake))
	rec.Number("probe_handshake_errors_total", "", monolith.Int(probes))
	rec.Done()
	g.snapshot.HostCache = list
	return nil
}
