package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"monolith"
	"monolith/internal/mysqltest"
)

// TestProvokedDisk fills the small disk of a server, which takes root to mount it.
func TestProvokedDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	mount := smallDisk(t)
	server := mysqltest.MariaDB(t)
	var data string
	if err := server.DB(t).QueryRow("SELECT @@datadir").Scan(&data); err != nil {
		t.Fatal(err)
	}
	user, password := server.NewUser(t, "PROCESS, SHOW VIEW, REFERENCES, BINLOG MONITOR, REPLICA MONITOR", "SELECT ON mysql.*")
	server.Stop(t)
	moved := filepath.Join(mount, "data")
	if err := os.CopyFS(moved, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	server.Start(t, mysqltest.Options("datadir="+moved))
	t.Cleanup(func() { server.Stop(t) }) // before the disk goes
	out := newOutside(t)
	warm(t)
	dir, now := t.TempDir(), time.Now()
	var lines []provoked
	synctest.Test(t, func(t *testing.T) {
		endpoint := monolith.Endpoint{Host: server.Host, Port: server.Port, User: user, Password: monolith.Secret(password), TLS: "disabled"}
		s := newStage(t, map[string]*mysqltest.Server{"db1": server}, out, map[string]monolith.Endpoint{"db1": endpoint}, dir, now, nil)
		lines = s.play(&round{
			name: "disk", opens: 40 * time.Minute, closes: 40 * time.Minute,
			all: []provocation{{
				server: "db1", rule: "disk-full-forecast", instance: mount, level: "warn", how: "a file fills nine tenths of a disk of 200 MiB", says: []string{mount, "% used"},
				start: func(s *stage) {
					var st syscall.Statfs_t
					if err := syscall.Statfs(mount, &st); err != nil {
						s.t.Fatal(err)
					}
					fill := int((int64(st.Bavail) - int64(st.Blocks)/10) * int64(st.Bsize))
					if err := os.WriteFile(filepath.Join(mount, "dump.sql"), []byte(strings.Repeat("x", fill)), 0o600); err != nil {
						s.t.Fatal(err)
					}
				},
				stop: func(s *stage) {
					if err := os.Remove(filepath.Join(mount, "dump.sql")); err != nil {
						s.t.Fatal(err)
					}
				},
			}},
		})
	})
	if list := os.Getenv("MONOLITH_PROVOKED"); list != "" {
		for i := range lines {
			lines[i].summary = strings.ReplaceAll(lines[i].summary, mount, "/srv/small")
		}
		writeProvoked(t, list, lines)
	}
}

// smallDisk mounts a file system of 200 MiB in memory until the test ends.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("monolith-small", dir, "tmpfs", 0, "size=200m"); err != nil {
		t.Skipf("a small disk can't be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}
