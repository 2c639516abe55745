package poller

import (
	"context"
	"strings"
	"time"

	"monolith"
)

// positionCollector finds out how much is written to the binary log where the server does not count it.
func positionCollector() *Collector {
	return &Collector{
		Name:    "position",
		Title:   "Binary log position",
		Help:    "How much the binary log grows, from file and position: MySQL does not count it.",
		Timeout: 5 * time.Second,
		Applies: func(g *Gather) (bool, string) {
			switch v := g.variable("log_bin"); {
			case v == "OFF" || v == "0":
				return false, "the server writes no binary log (log_bin=OFF)"
			case countsBinlog(g.Identity):
				return false, "the server counts it itself (Binlog_bytes_written)"
			}
			return true, ""
		},
		Grant:   grantBinlog,
		Collect: collectPosition,
	}
}

// countsBinlog reports whether the status has Binlog_bytes_written.
func countsBinlog(id monolith.Identity) bool { return has(id, since{mariadb: v(5, 5)}) }

// positionStatement: MySQL 8.2 renamed it, and 8.4 dropped the old name.
func positionStatement(id monolith.Identity) string {
	if has(id, since{mysql: v(8, 2)}) {
		return "SHOW BINARY LOG STATUS"
	}
	return "SHOW MASTER STATUS"
}

// binlogPlace is a position within the binary log.
type binlogPlace struct {
	file     string // "binlog.000042"
	position uint64
}

// number gives the number of the file and the name before it.
func (p binlogPlace) number() (base string, n uint64, ok bool) {
	i := strings.LastIndexByte(p.file, '.')
	num := fileNumber(p.file)
	if i < 0 || num.IsNone() || num.Float64() < 0 {
		return "", 0, false
	}
	return p.file[:i], uint64(num.Float64()), true
}

// binlogGrowth is the counter made of positions. It begins at 0 whenever what was written in between is not known,
// so that it falls, which nobody takes for a growth.
type binlogGrowth struct {
	last    binlogPlace
	written uint64
}

// collectPosition asks for the position and, where the file is another one than before, for the sizes of the files,
// since what was written to the old one is not known from its last position.
func collectPosition(ctx context.Context, g *Gather) error {
	growth := &g.memory.growth
	var now binlogPlace
	err := g.Session.Query(ctx, positionStatement(g.Identity), func(row Row) error {
		now.file = cut(printable(first(row.Text("file"))), 512)
		n, ok := row.Int("position")
		if !ok || n < 0 {
			now.file = ""
			return nil
		}
		now.position = uint64(n)
		return nil
	})
	if err != nil {
		return err
	}
	if now.file == "" {
		*growth = binlogGrowth{}
		g.Note(monolith.ProblemUnsupported, "the server writes no binary log (log_bin=OFF)", "")
		return nil
	}
	var files []monolith.BinaryLog
	if growth.last.file != "" && growth.last.file != now.file {
		if files, err = listBinlogs(ctx, g); err != nil {
			return err
		}
	}
	growth.move(now, files)
	rec := g.Recorder("server")
	rec.Number("binlog_written_bytes_total", "", monolith.Uint(growth.written))
	rec.Done()
	return nil
}

// move adds what was written since the last position. files are all that there are; it is asked for only when the
// file is another one.
func (b *binlogGrowth) move(now binlogPlace, files []monolith.BinaryLog) {
	grown, ok := between(b.last, now, files)
	if b.last = now; !ok {
		b.written = 0
		return
	}
	b.written += grown
}

// between gives the bytes from one position to a later one. ok is false where that is not known: after RESET MASTER,
// when files in between were purged, or when the log has another name.
func between(from, to binlogPlace, files []monolith.BinaryLog) (bytes uint64, ok bool) {
	if from.file == to.file {
		return to.position - from.position, from.file != "" && to.position >= from.position
	}
	base, first, ok := from.number()
	base2, last, ok2 := to.number()
	if !ok || !ok2 || base != base2 || last <= first {
		return 0, false
	}
	found := uint64(0)
	for _, f := range files {
		b, n, ok := binlogPlace{file: f.Name}.number()
		if !ok || b != base || n < first || n >= last || f.Size < 0 {
			continue
		}
		found++
		bytes += uint64(f.Size)
	}
	if found != last-first || bytes < from.position {
		return 0, false
	}
	return bytes - from.position + to.position, true
}
