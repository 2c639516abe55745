package poller

import (
	"bytes"
	"context"
	"errors"

	"monolith"
)

// statusCollector reads all of global status. It runs at every poll of every server, so its own work
// is kept small: see [Recorder.Add].
func statusCollector() *Collector {
	return &Collector{
		Name:    "status",
		Title:   "Global status",
		Help:    "All counters and gauges of SHOW GLOBAL STATUS.",
		Collect: collectStatus,
	}
}

func collectStatus(ctx context.Context, g *Gather) error {
	rec := g.Recorder("status")
	// GLOBAL is never left out: without it the rows about statements and traffic are those of our own session.
	err := g.Session.Query(ctx, "SHOW GLOBAL STATUS", func(row Row) error {
		if row.Len() < 2 {
			return errNoValues
		}
		rec.Add(asWritten(row.Bytes(0)), row.Bytes(1))
		return nil
	})
	if err != nil {
		return err
	}
	rec.Done()
	return nil
}

// errNoValues says that names came without values, which nobody may take for values that are not known.
var errNoValues = errors.New("poller: the answer has no column of values")

// lowerCase are the families of status names that are written without a capital.
var lowerCase = [][]byte{[]byte("wsrep_"), []byte("rocksdb_"), []byte("group_replication_"), []byte("validate_password"), []byte("mecab_")}

// asWritten gives a status name the capital that it has everywhere else: proxies and some builds of MySQL 5.7 send
// names in lower case, and names are looked up as they are written.
func asWritten(name []byte) []byte {
	if len(name) == 0 || name[0] < 'a' || name[0] > 'z' || monolith.KindOf("status."+string(name)) == monolith.Untyped {
		return name
	}
	for _, family := range lowerCase {
		if bytes.HasPrefix(name, family) {
			return name
		}
	}
	return append(bytes.ToUpper(name[:1]), name[1:]...)
}
