package monolith

// Mount is a real filesystem of the server's machine. Bytes.
type Mount struct {
	Path       string   `json:"path"`
	Device     string   `json:"device"`  // /dev/sda1
	Type       string   `json:"type"`    // ext4
	Options    []string `json:"options"` // as mounted: rw, relatime …
	Size       int64    `json:"size"`
	Used       int64    `json:"used"`
	Available  int64    `json:"available"`
	Inodes     int64    `json:"inodes"` // 0: no fixed number
	InodesUsed int64    `json:"inodes_used"`
	ReadOnly   bool     `json:"read_only"`
	// Holds says what of the server lies on it: datadir, tmpdir, binlog, relay_log, redo, undo, innodb, slow_log, general_log,
	// error_log.
	Holds []string `json:"holds"`
	// Server reports whether anything of the server lies on it.
	Server  bool     `json:"server"`
	Devices []string `json:"devices"` // the whole disks below it, through partitions, dm and md: names as in Device
}

// Device is a whole disk of the server's machine.
type Device struct {
	Name       string   `json:"name"`        // sda
	Rotational *bool    `json:"rotational"`  // nil: not told
	Scheduler  string   `json:"scheduler"`   // in force; "" not told
	Schedulers []string `json:"schedulers"`  // to choose from
	WriteCache string   `json:"write_cache"` // write back, write through; "" not told
	Virtual    bool     `json:"virtual"`     // virtio, Xen and the like: what it says of itself means little
	Kind       string   `json:"kind"`        // nvme, sata (SATA, SAS and USB: sd*), mmc, virtual, other
	Holds      []string `json:"holds"`       // as in Mount
	Server     bool     `json:"server"`      // anything of the server lies on it
}
