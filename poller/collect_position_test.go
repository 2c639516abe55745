package poller

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"monolith"
	"monolith/internal/mysqltest"
)

func positionAnswer(file, position string) answer {
	return answer{columns: []string{"File", "Position", "Binlog_Do_DB", "Binlog_Ignore_DB", "Executed_Gtid_Set"},
		rows: [][]string{{file, position, "", "", ""}}}
}

func binlogFiles(rows ...[]string) answer {
	return answer{columns: []string{"Log_name", "File_size"}, rows: rows}
}

func TestPositionBecomesACounter(t *testing.T) {
	t.Parallel()
	f := &fakeSession{answers: map[string]answer{}}
	g := gatherFor(positionCollector(), new(memory))
	g.Session, g.Identity = f, server("8.4.0", "")
	poll := func(file, position, want string) {
		t.Helper()
		g.snapshot = &monolith.Snapshot{}
		f.answers["SHOW BINARY LOG STATUS"] = positionAnswer(file, position)
		if err := collectPosition(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		wants(t, g.snapshot, map[string]string{"server.binlog_written_bytes_total": want})
	}
	poll("b.000009", "500", "0")
	poll("b.000009", "800", "300")
	if len(f.sent) != 2 {
		t.Errorf("sent %q while the file is the same", f.sent)
	}
	// Two files were filled meanwhile: 200 bytes of the old one, one whole, and 50 of the new one.
	f.answers["SHOW BINARY LOGS"] = binlogFiles([]string{"b.000008", "9"}, []string{"b.000009", "1000"}, []string{"b.000010", "4000"}, []string{"b.000011", "50"})
	poll("b.000011", "50", "4550")
	// What was purged was not seen: the counter begins anew, so that nobody takes a difference over it.
	f.answers["SHOW BINARY LOGS"] = binlogFiles([]string{"b.000013", "100"})
	poll("b.000013", "100", "0")
	poll("b.000013", "140", "40")
	// RESET MASTER.
	f.answers["SHOW BINARY LOGS"] = binlogFiles([]string{"b.000001", "157"})
	poll("b.000001", "157", "0")
	poll("b.000001", "150", "0")
	// Another name.
	f.answers["SHOW BINARY LOGS"] = binlogFiles([]string{"other.000002", "157"})
	poll("other.000002", "157", "0")

	// While the list can't be read nothing is recorded, and nothing is lost.
	f.answers["SHOW BINARY LOG STATUS"], f.answers["SHOW BINARY LOGS"] = positionAnswer("other.000003", "10"), refuse(1227, "Access denied")
	g.snapshot = &monolith.Snapshot{}
	if err := collectPosition(t.Context(), g); err == nil || len(g.snapshot.Sections) > 0 {
		t.Errorf("refused: %v, %v", g.snapshot.Sections, err)
	}
	f.answers["SHOW BINARY LOGS"] = binlogFiles([]string{"other.000002", "200"}, []string{"other.000003", "20"})
	poll("other.000003", "20", "63")
}

// TestPositionCountsEveryByteOnce: however a log of files is walked, the counter ends at what was written.
func TestPositionCountsEveryByteOnce(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var b binlogGrowth
		files := []monolith.BinaryLog{{Name: "b.000001", Size: 4}}
		b.move(binlogPlace{"b.000001", 4}, nil)
		written := uint64(0)
		for range 30 {
			n := r.Int64N(1000)
			written += uint64(n)
			files[len(files)-1].Size += n
			if r.IntN(3) == 0 {
				files = append(files, monolith.BinaryLog{Name: fmt.Sprintf("b.%06d", len(files)+1), Size: 4})
				written += 4
			}
			if r.IntN(2) == 0 {
				last := files[len(files)-1]
				b.move(binlogPlace{last.Name, uint64(last.Size)}, files)
				if b.written != written {
					t.Fatalf("counted %d of %d bytes over %v", b.written, written, files)
				}
			}
		}
	}
}

func TestPositionStatementAndApplies(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"5.6.51": "SHOW MASTER STATUS", "5.7.44": "SHOW MASTER STATUS", "8.0.36": "SHOW MASTER STATUS",
		"8.1.0": "SHOW MASTER STATUS", "8.2.0": "SHOW BINARY LOG STATUS", "8.4.3": "SHOW BINARY LOG STATUS", "9.5.0": "SHOW BINARY LOG STATUS"} {
		id := server(version, "")
		if got := positionStatement(id); got != want {
			t.Errorf("%s is asked %s", version, got)
		}
		if ok, why := positionCollector().Applies(&Gather{Identity: id, Variables: variablesOf(map[string]string{"log_bin": "ON"})}); !ok {
			t.Errorf("%s: %s", version, why)
		}
	}
	for _, c := range []struct{ version, logBin, says string }{
		{"8.0.36", "OFF", "log_bin=OFF"}, {"10.11.6-MariaDB", "ON", "Binlog_bytes_written"}, {"5.5.68-MariaDB", "ON", "Binlog_bytes_written"},
	} {
		ok, why := positionCollector().Applies(&Gather{Identity: server(c.version, ""), Variables: variablesOf(map[string]string{"log_bin": c.logBin})})
		if ok || !strings.Contains(why, c.says) {
			t.Errorf("%s: %v, %q", c.version, ok, why)
		}
	}
	none := &fakeSession{answers: map[string]answer{"SHOW MASTER STATUS": {columns: []string{"File", "Position"}}}}
	snap, err := collect(t, positionCollector(), server("5.7.44", ""), none)
	if err != nil || problemKinds(snap) != "[unsupported]" || len(snap.Sections) > 0 {
		t.Errorf("no binary log: %v, %v", snap.Problems, err)
	}
}

// TestPositionFollowsARealServer: what is written is counted, also over a change of the file.
func TestPositionFollowsARealServer(t *testing.T) {
	t.Parallel()
	s := mysqltest.MySQL56(t)
	s.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.t (note TEXT)")
	w := watch(t, s, "root", "")
	written := func() float64 {
		t.Helper()
		snap, _ := w.poll(t)
		return value(t, snap, "server.binlog_written_bytes_total", "")
	}
	if n := written(); n != 0 {
		t.Errorf("it begins at %v", n)
	}
	s.Exec(t, "INSERT INTO shop.t VALUES (REPEAT('x', 20000))")
	first := written()
	if first < 200 || first > 60_000 {
		t.Errorf("a row of 20,000 bytes wrote %v", first)
	}
	s.Exec(t, "INSERT INTO shop.t VALUES ('the last in the old file')", "FLUSH BINARY LOGS", "FLUSH BINARY LOGS", "INSERT INTO shop.t VALUES ('the first in the new one')")
	files := w.state.BinaryLogs
	second := written()
	if second < first+400 || second > first+5000 {
		t.Errorf("over two new files it grew from %v to %v (before them: %v)", first, second, files)
	}
	s.Exec(t, "RESET MASTER")
	if n := written(); n != 0 {
		t.Errorf("after RESET MASTER it is %v, want a new beginning", n)
	}
}

func FuzzBetween(f *testing.F) {
	f.Add("b.000001", uint64(4), "b.000002", uint64(9), "b.000001", int64(5))
	f.Add("b.1", uint64(9), "b.18446744073709551615", uint64(0), "b.18446744073709551614", int64(-1))
	f.Add("", uint64(0), ".", uint64(1), "x.-1", int64(1))
	f.Fuzz(func(t *testing.T, from string, begin uint64, to string, end uint64, file string, size int64) {
		begin, end = begin>>2, end>>2 // positions are shorter than files can be
		if bytes, ok := between(binlogPlace{from, begin}, binlogPlace{to, end}, []monolith.BinaryLog{{Name: file, Size: size}}); ok && bytes > end+uint64(max(size, 0)) {
			t.Errorf("%d bytes from %s:%d to %s:%d", bytes, from, begin, to, end)
		}
	})
}
