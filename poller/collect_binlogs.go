package poller

import (
	"context"
	"errors"
	"time"

	"github.com/go-sql-driver/mysql"

	"monolith"
)

// binlogsCollector lists the binary log files.
func binlogsCollector() *Collector {
	return &Collector{
		Name:    "binlogs",
		Title:   "Binary logs",
		Help:    "The binary log files and how much space they take.",
		Timeout: 5 * time.Second,
		Applies: func(g *Gather) (bool, string) {
			if v := g.Variables.Value("log_bin"); v == "OFF" || v == "0" {
				return false, "the server writes no binary log (log_bin=OFF)"
			}
			return true, ""
		},
		Grant:   grantBinlog,
		Collect: collectBinlogs,
	}
}

// grantBinlog gives the right to see the binary log from outside. MariaDB 10.5.2 parted it from REPLICATION CLIENT.
func grantBinlog(id monolith.Identity, account string) string {
	if has(id, since{mariadb: v(10, 5, 2)}) {
		return grantGlobal("BINLOG MONITOR", account)
	}
	return grantGlobal("REPLICATION CLIENT", account)
}

const errNoBinaryLogging = 1381 // ER_NO_BINARY_LOGGING

func collectBinlogs(ctx context.Context, g *Gather) error {
	logs, err := listBinlogs(ctx, g)
	if err != nil {
		return err
	}
	if logs == nil {
		g.Note(monolith.ProblemUnsupported, "the server writes no binary log (log_bin=OFF)", "")
		return nil
	}
	var total int64
	for _, l := range logs {
		total += l.Size
	}
	rec := g.Recorder("server")
	rec.Number("binary_logs", "", monolith.Uint(uint64(len(logs))))
	rec.Number("binary_log_bytes", "", monolith.Int(total))
	seenSince(logs, g)
	if len(logs) > 0 && logs[0].Seen != nil {
		rec.Number("binary_log_oldest_seconds", "", monolith.Float(g.Now.Sub(*logs[0].Seen).Seconds()))
	}
	rec.Done()
	g.snapshot.BinaryLogs = logs
	return nil
}

// seenSince notes when each file was first seen. The server does not tell when it made them; those of the first list may be of
// any age.
func seenSince(logs []monolith.BinaryLog, g *Gather) {
	if g.State == nil || g.State.BinaryLogs == nil {
		return
	}
	before := make(map[string]monolith.BinaryLog, len(g.State.BinaryLogs))
	for _, l := range g.State.BinaryLogs {
		before[l.Name] = l
	}
	now := g.Now
	for i := range logs {
		if old, ok := before[logs[i].Name]; ok && old.Size <= logs[i].Size { // a smaller one is another, after RESET MASTER
			logs[i].Seen = old.Seen
		} else {
			logs[i].Seen = &now
		}
	}
}

// listBinlogs reads the list of files; without a binary log it is nil.
func listBinlogs(ctx context.Context, g *Gather) ([]monolith.BinaryLog, error) {
	logs := []monolith.BinaryLog{}
	err := g.Session.Query(ctx, "SHOW BINARY LOGS", func(row Row) error {
		size, _ := row.Int("file_size")
		logs = append(logs, monolith.BinaryLog{Name: cut(printable(first(row.Text("log_name"))), 512), Size: size})
		return nil
	})
	var refused *mysql.MySQLError
	if errors.As(err, &refused) && refused.Number == errNoBinaryLogging {
		return nil, nil
	}
	return logs, err
}
