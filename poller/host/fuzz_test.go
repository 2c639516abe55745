package host

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// FuzzLimits reads the files of a control group, of either version, and a file with a process's number.
func FuzzLimits(f *testing.F) {
	f.Add("0::/system.slice/mariadb.service\n", "1073741824\n", "536870912\n", "150000 100000\n")
	f.Add("4:memory:/docker/x\n5:cpu,cpuacct:/../..\n", "9223372036854771712", "-1", "max 100000")
	f.Add("0::/a:b:c\n::\n", "max", "", "1e400 1e-400")
	f.Add("0::../../..", "18446744073709551616", "\xff", "NaN Inf")
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, groups, limit, used, cpu string) {
		write := func(text string, path ...string) string {
			file := filepath.Join(append([]string{root}, path...)...)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return file
		}
		pidFile := write(used, "pid")
		write(groups, "proc", "7", "cgroup")
		write(limit, "sys", "fs", "cgroup", "memory.max")
		write(used, "sys", "fs", "cgroup", "memory.current")
		write(cpu, "sys", "fs", "cgroup", "cpu.max")
		write(limit, "sys", "fs", "cgroup", "memory", "memory.limit_in_bytes")
		write(cpu, "sys", "fs", "cgroup", "cpu", "cpu.cfs_quota_us")
		write("100000", "sys", "fs", "cgroup", "cpu", "cpu.cfs_period_us")
		l := &Local{proc: filepath.Join(root, "proc"), sys: filepath.Join(root, "sys")}
		if r := l.limits(7); r != nil {
			if math.IsNaN(r.CPU) || math.IsInf(r.CPU, 0) || r.CPU < 0 || r.Memory >= 1<<60 {
				t.Errorf("%q, %q, %q: %+v", groups, limit, cpu, r)
			}
		}
		readPIDFile(Target{PIDFile: pidFile})
	})
}
