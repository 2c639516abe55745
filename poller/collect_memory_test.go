package poller

import (
	"strings"
	"testing"

	"monolith"
)

func memoryAnswer(total, ram, disk, counted string) *fakeSession {
	return &fakeSession{answers: map[string]answer{"SELECT SUM(CURRENT_NUMBER_OF_BYTES_USED) AS total": {
		columns: []string{"total", "ram", "disk", "counted"}, rows: [][]string{{total, ram, disk, counted}}}}}
}

func TestMemoryOfMySQL8(t *testing.T) {
	t.Parallel()
	f := memoryAnswer("523456789", "1048576", "0", "YES")
	snap, err := collect(t, memoryCollector(), server("8.0.36", ""), f)
	if err != nil || len(snap.Problems) > 0 || len(f.sent) != 1 {
		t.Fatalf("%v, %v, sent %q", err, snap.Problems, f.sent)
	}
	wants(t, snap, map[string]string{"server.memory_allocated_bytes": "523456789", "server.temptable_ram_bytes": "1048576",
		"server.temptable_disk_bytes": "0"})
	for _, needed := range []string{"memory/temptable/physical_ram'", "memory/temptable/physical_disk'", "performance_schema.memory_summary_global_by_event_name"} {
		if !strings.Contains(f.sent[0], needed) {
			t.Errorf("%q does not ask for %s", f.sent[0], needed)
		}
	}

	// An instrument that is switched off counts nothing, which is not 0 bytes.
	snap, err = collect(t, memoryCollector(), server("8.4.0", ""), memoryAnswer("777", "0", "0", "NO"))
	if err != nil || problemKinds(snap) != "[off]" || !strings.Contains(snap.Problems[0].Cure, "performance_schema_instrument") {
		t.Errorf("%v, %v", snap.Problems, err)
	}
	wants(t, snap, map[string]string{"server.memory_allocated_bytes": "none", "server.temptable_ram_bytes": "none", "server.temptable_disk_bytes": "none"})

	// Switched on while memory was in use, and a version without one of them.
	snap, err = collect(t, memoryCollector(), server("9.5.0", ""), memoryAnswer("-5", null, "12", "YES"))
	if err != nil {
		t.Fatal(err)
	}
	wants(t, snap, map[string]string{"server.memory_allocated_bytes": "none", "server.temptable_ram_bytes": "none", "server.temptable_disk_bytes": "12"})

	denied := &fakeSession{answers: map[string]answer{"SELECT SUM(CURRENT_": refuse(1142, "SELECT command denied to user 'monolith'@'%'")}}
	snap, err = collect(t, memoryCollector(), server("8.4.0", ""), denied)
	problem, up := explain(err, scene{grant: memoryCollector().Grant(server("8.4.0", ""), "monolith@%")})
	if len(snap.Sections) > 0 || !up || problem.Kind != monolith.ProblemPrivilege ||
		problem.Cure != "GRANT SELECT ON performance_schema.* TO 'monolith'@'%';" {
		t.Errorf("refused: %+v, %v", problem, err)
	}
}

func TestMemoryApplies(t *testing.T) {
	t.Parallel()
	on := map[string]string{"performance_schema": "ON"}
	for _, c := range []struct {
		version   string
		variables map[string]string
		says      string // "": it applies
	}{
		{"8.0.11", on, ""}, {"8.4.3", on, ""}, {"9.5.0", on, ""}, {"8.0.36", nil, ""},
		{"8.0.36", map[string]string{"performance_schema": "OFF"}, "performance_schema=OFF"},
		{"5.7.44", on, "MySQL from 8.0"}, {"5.6.51", on, "MySQL from 8.0"}, {"10.11.6-MariaDB", on, "Memory_used"}, {"11.8.5-MariaDB", on, "Memory_used"},
	} {
		ok, why := memoryCollector().Applies(&Gather{Identity: server(c.version, ""), Variables: variablesOf(c.variables)})
		if ok != (c.says == "") || !strings.Contains(why, c.says) {
			t.Errorf("%s: %v, %q", c.version, ok, why)
		}
	}
}
