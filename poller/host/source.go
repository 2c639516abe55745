// Package host reads the machine that a database server runs on. There are several ways to do it, one
// [Source] each; today that is [Local], for servers on Monolith's own machine.
package host

import (
	"context"
	"time"
)

// Source reads a host. Implementations are safe for concurrent use.
type Source interface {
	// Name is the word people set a server's host source to: "local".
	Name() string
	// Read gives what is readable now. Parts that can't be read are nil or listed in Report.Notes; an
	// error means that nothing could be read.
	Read(ctx context.Context, target Target) (*Report, error)
}

// Target says which of the database servers on the host is meant. Everything may be empty: then
// Report.Process is found only where there is exactly one mysqld or mariadbd.
type Target struct {
	PIDFile string // variable pid_file; may be relative to DataDir
	DataDir string // variable datadir
	Socket  string // variable socket
	Port    int    // variable port
	TmpDir  string // variable tmpdir: one folder, or several with colons between
	Places  Places
}

// Places are other files and folders of the server, as its variables name them; relative ones lie in the data directory. ""
// is unknown, or nowhere.
type Places struct {
	Binlog     string // log_bin_basename
	RelayLog   string // relay_log_basename
	Redo       string // innodb_log_group_home_dir, a folder
	Undo       string // innodb_undo_directory, a folder
	InnoDB     string // innodb_data_home_dir, a folder
	SlowLog    string // slow_query_log_file
	GeneralLog string // general_log_file
	ErrorLog   string // log_error
}

// Report is one reading of a host. It is a JSON document, so that a far agent can print what a local
// source reads. Counters grow since boot; sizes are bytes; times are seconds.
type Report struct {
	Taken    time.Time `json:"taken"`
	Hostname string    `json:"hostname,omitempty"`
	OS       string    `json:"os,omitempty"`     // "linux"
	Kernel   string    `json:"kernel,omitempty"` // "6.1.0-25-amd64"
	Platform string    `json:"platform,omitempty"`
	BootTime time.Time `json:"boot_time,omitzero"`

	CPU     *CPU     `json:"cpu,omitempty"`
	Load    *Load    `json:"load,omitempty"`
	Memory  *Memory  `json:"memory,omitempty"`
	Swap    *Swap    `json:"swap,omitempty"`
	Disks   []Disk   `json:"disks,omitempty"`
	Mounts  []Mount  `json:"mounts,omitempty"`
	TmpDirs []TmpDir `json:"tmp_dirs,omitempty"`
	Nets    []Net    `json:"nets,omitempty"`
	Process *Process `json:"process,omitempty"`
	Limits  *Limits  `json:"limits,omitempty"`
	System  *System  `json:"system,omitempty"`
	Logs    []Log    `json:"logs,omitempty"`

	// Notes say what could not be read and why, one sentence each.
	Notes []string `json:"notes,omitempty"`
}

// CPU is the time all cores together spent in each mode since boot, in seconds. Guest time is part of
// User (and of Nice), not beside it.
type CPU struct {
	Cores   int     `json:"cores"` // logical ones that are online
	User    float64 `json:"user"`
	Nice    float64 `json:"nice"`
	System  float64 `json:"system"`
	IRQ     float64 `json:"irq"`
	SoftIRQ float64 `json:"softirq"`
	Steal   float64 `json:"steal"`
	IOWait  float64 `json:"iowait"`
	Idle    float64 `json:"idle"`
}

// Total is the time of all modes.
func (c *CPU) Total() float64 {
	return c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ + c.Steal + c.IOWait + c.Idle
}

// Load is the number of tasks that run or wait, averaged over 1, 5 and 15 minutes, and those now.
type Load struct {
	One     float64 `json:"one"`
	Five    float64 `json:"five"`
	Fifteen float64 `json:"fifteen"`
	Running int     `json:"running"` // −1: unknown
	Blocked int     `json:"blocked"` // tasks in uninterruptible sleep; −1: unknown
}

// Memory of the machine.
type Memory struct {
	Total     uint64 `json:"total"`
	Available uint64 `json:"available"` // what programs can get without swapping
	Free      uint64 `json:"free"`
	Cached    uint64 `json:"cached"`
	Buffers   uint64 `json:"buffers"`
}

// Swap space and the bytes moved since boot.
type Swap struct {
	Total uint64 `json:"total"`
	Used  uint64 `json:"used"`
	In    uint64 `json:"in"`
	Out   uint64 `json:"out"`
}

// Disk is a real block device: partitions, loop and RAM devices are left out.
type Disk struct {
	Name         string  `json:"name"`
	Reads        uint64  `json:"reads"`
	Writes       uint64  `json:"writes"`
	ReadBytes    uint64  `json:"read_bytes"`
	WrittenBytes uint64  `json:"written_bytes"`
	ReadTime     float64 `json:"read_time"`  // summed over the reads
	WriteTime    float64 `json:"write_time"` // summed over the writes
	BusyTime     float64 `json:"busy_time"`  // with at least one operation in flight
	InFlight     uint64  `json:"in_flight"`
	Flushes      int64   `json:"flushes"` // of the device's cache; −1: not counted (Linux before 5.5, other systems)
	// What the system says of the device; read at most once a minute.
	Rotational *bool    `json:"rotational,omitempty"` // nil: not told
	Scheduler  string   `json:"scheduler,omitempty"`  // in force
	Schedulers []string `json:"schedulers,omitempty"` // to choose from
	WriteCache string   `json:"write_cache,omitempty"`
	Kind       string   `json:"kind,omitempty"` // nvme, sata (all sd*), virtual, mmc, other
	Virtual    bool     `json:"virtual,omitempty"`
	Holds      []string `json:"holds,omitempty"` // as in Mount
}

// Mount is a real filesystem.
type Mount struct {
	Path       string `json:"path"`
	Device     string `json:"device"`
	Type       string `json:"type"`
	Size       uint64 `json:"size"`
	Used       uint64 `json:"used"`
	Available  uint64 `json:"available"` // to ordinary users: less than Size − Used where blocks are reserved
	Inodes     uint64 `json:"inodes"`    // 0: the filesystem has no fixed number
	InodesUsed uint64 `json:"inodes_used"`
	ReadOnly   bool   `json:"read_only"`
	DataDir    bool   `json:"data_dir"` // the server's data directory lies on it
	// Options are those it was mounted with. Holds is what of the server lies on it: datadir, tmpdir, binlog, relay_log, redo, undo,
	// innodb, slow_log, general_log, error_log. Disks are the whole devices below it. Read at most once a minute.
	Options []string `json:"options,omitempty"`
	Holds   []string `json:"holds,omitempty"`
	Disks   []string `json:"disks,omitempty"`
}

// TmpDir is a folder for the server's temporary files, with the space of the filesystem that it lies on.
type TmpDir struct {
	Path      string `json:"path"`
	Size      uint64 `json:"size"`
	Used      uint64 `json:"used"`
	Available uint64 `json:"available"` // to ordinary users
}

// Log is a log file of the server that this user may look at.
type Log struct {
	Kind string `json:"kind"` // as in Mount.Holds: slow_log, general_log, error_log
	Size uint64 `json:"size"`
}

// Net is a network interface other than loopback.
type Net struct {
	Name          string `json:"name"`
	Received      uint64 `json:"received"` // bytes
	Sent          uint64 `json:"sent"`     // bytes
	ReceiveErrors uint64 `json:"receive_errors"`
	SendErrors    uint64 `json:"send_errors"`
	ReceiveDrops  uint64 `json:"receive_drops"`
	SendDrops     uint64 `json:"send_drops"`
}

// Process is the database server's process.
type Process struct {
	PID       int       `json:"pid"`
	Name      string    `json:"name"`
	Started   time.Time `json:"started,omitzero"`
	Resident  uint64    `json:"resident"`
	Swap      uint64    `json:"swap"`
	CPU       float64   `json:"cpu"` // user and system seconds since it started
	Threads   int       `json:"threads"`
	OpenFiles int       `json:"open_files"`       // −1: not readable by this user
	FileLimit uint64    `json:"open_files_limit"` // 0: not readable, or none
}

// Limits are what the control group of the database server's process (or, where that is not known, of
// Monolith itself) leaves of the machine.
type Limits struct {
	Memory     uint64  `json:"memory"`      // 0: none
	MemoryUsed uint64  `json:"memory_used"` // 0: unknown
	CPU        float64 `json:"cpu"`         // cores; 0: no limit
	Tasks      uint64  `json:"tasks"`       // processes and threads in the group; 0: unknown
	TasksLimit uint64  `json:"tasks_limit"` // the tightest; 0: none
	OOMKills   int64   `json:"oom_kills"`   // of the group itself; −1: not counted
}

// System is how the operating system is set up, and what all its programs together use. Linux.
type System struct {
	Swappiness      int    `json:"swappiness"` // −1: unknown
	Overcommit      int    `json:"overcommit"` // vm.overcommit_memory; −1: unknown
	HugePages       string `json:"huge_pages"` // transparent ones: always, madvise, never; "": unknown
	FileHandles     uint64 `json:"file_handles"`
	FileHandleLimit uint64 `json:"file_handle_limit"` // 0: unknown
	PIDLimit        uint64 `json:"pid_limit"`         // 0: unknown
	OOMKills        int64  `json:"oom_kills"`         // since boot; −1: not counted (Linux before 4.13)
}
