package poller

import (
	"monolith"
	"monolith/poller/host"
)

// placesOf says where else files of the server lie, from the variables as far as they are known.
func placesOf(g *Gather) host.Places {
	place := func(name string) string {
		if value := g.variable(name); value != "NULL" && value != "stderr" {
			return value
		}
		return ""
	}
	p := host.Places{
		Binlog: place("log_bin_basename"), RelayLog: place("relay_log_basename"), Redo: place("innodb_log_group_home_dir"),
		Undo: place("innodb_undo_directory"), InnoDB: place("innodb_data_home_dir"),
		SlowLog: place("slow_query_log_file"), GeneralLog: place("general_log_file"), ErrorLog: place("log_error"),
	}
	if p.InnoDB == "" { // empty stands for the data directory
		p.InnoDB = place("datadir")
	}
	return p
}

// recordSystem records how the operating system is set up, and what all its programs together use.
func recordSystem(rec *Recorder, r *host.Report) {
	text := func(name, value string) {
		if value != "" {
			rec.Text([]byte(name), []byte(printable(value)))
		}
	}
	if l := r.Limits; l != nil {
		if l.Tasks > 0 {
			rec.Number("tasks", "", monolith.Uint(l.Tasks))
		}
		if l.TasksLimit > 0 {
			rec.Number("tasks_limit", "", monolith.Uint(l.TasksLimit))
		}
		if l.OOMKills >= 0 {
			rec.Number("cgroup_oom_kills_total", "", monolith.Int(l.OOMKills))
		}
	}
	for i := range r.Mounts {
		if r.Mounts[i].DataDir {
			text("datadir_type", r.Mounts[i].Type)
		}
	}
	for _, l := range r.Logs {
		rec.Number("log_file_bytes", l.Kind, monolith.Uint(l.Size))
	}
	s := r.System
	if s == nil {
		return
	}
	if s.Swappiness >= 0 {
		rec.Number("swappiness", "", monolith.Int(int64(s.Swappiness)))
	}
	if s.Overcommit >= 0 {
		rec.Number("overcommit_memory", "", monolith.Int(int64(s.Overcommit)))
	}
	if s.FileHandleLimit > 0 {
		rec.Number("file_handles", "", monolith.Uint(s.FileHandles))
		rec.Number("file_handles_limit", "", monolith.Uint(s.FileHandleLimit))
	}
	if s.PIDLimit > 0 {
		rec.Number("pids_limit", "", monolith.Uint(s.PIDLimit))
	}
	if s.OOMKills >= 0 {
		rec.Number("oom_kills_total", "", monolith.Int(s.OOMKills))
	}
	text("transparent_huge_pages", s.HugePages)
}

// mountRows and deviceRows give the lists that rules look at one by one.
func mountRows(r *host.Report) []monolith.Mount {
	list := make([]monolith.Mount, 0, len(r.Mounts))
	for i := range r.Mounts {
		m := &r.Mounts[i]
		list = append(list, monolith.Mount{
			Path: printable(m.Path), Device: printable(m.Device), Type: printable(m.Type), Options: notNil(m.Options),
			Size: int64(m.Size), Used: int64(m.Used), Available: int64(m.Available), Inodes: int64(m.Inodes), InodesUsed: int64(m.InodesUsed),
			ReadOnly: m.ReadOnly, Holds: notNil(m.Holds), Server: len(m.Holds) > 0, Devices: notNil(m.Disks),
		})
	}
	return list
}

func deviceRows(r *host.Report) []monolith.Device {
	list := make([]monolith.Device, 0, len(r.Disks))
	for i := range r.Disks {
		d := &r.Disks[i]
		list = append(list, monolith.Device{
			Name: printable(d.Name), Rotational: d.Rotational, Scheduler: d.Scheduler, Schedulers: notNil(d.Schedulers), WriteCache: d.WriteCache,
			Virtual: d.Virtual, Kind: d.Kind, Holds: notNil(d.Holds), Server: len(d.Holds) > 0,
		})
	}
	return list
}

// notNil gives a list that rules can count, also where it has nothing.
func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
