package formula

import "strings"

// Unit guesses the unit of the result from the names and what is done with them: "bytes/s", "1/s", "%", "s", "ms",
// "bytes", or "" for a plain count and when nothing is known.
func (f *Formula) Unit() string {
	u, _ := f.unit.unitOf(f.unit.root)
	if u == share {
		return ""
	}
	return u
}

// share is the unit of a quotient of two like things: times 100 it is a percentage.
const share = "share"

// unitOf gives a node's unit; literal tells that it is made of numbers alone, which take any unit.
func (u *unit) unitOf(n *node) (name string, literal bool) {
	switch n.op {
	case opNumber:
		return "", true
	case opSlot:
		return u.slots[n.index].unitName(), false
	case "percent":
		return "%", false
	case opNegate, "abs", "round", "floor", "ceil":
		return u.unitOf(n.args[0])
	case "+", "-", "greatest", "least", "%":
		return u.agreed(n.args)
	case opElse:
		return u.agreed(n.args)
	case opIf:
		return u.agreed(n.args[1:])
	case "*":
		return u.product(n.args[0], n.args[1])
	case "/":
		return u.quotient(n.args[0], n.args[1])
	}
	return "", false
}

// agreed gives the unit of all operands that are not mere numbers, or "" when they differ.
func (u *unit) agreed(args []*node) (string, bool) {
	found, literal := "", true
	for _, a := range args {
		name, lit := u.unitOf(a)
		if lit {
			continue
		}
		if !literal && name != found {
			return "", false
		}
		found, literal = name, false
	}
	return found, literal
}

func (u *unit) product(a, b *node) (string, bool) {
	x, xlit := u.unitOf(a)
	y, ylit := u.unitOf(b)
	if xlit && ylit {
		return "", true
	}
	if ylit {
		a, b, x, y, xlit = b, a, y, x, ylit
	}
	switch {
	case xlit && y == share && a.num == 100:
		return "%", false
	case xlit:
		return y, false
	case x == "" || x == share:
		return y, false
	case y == "" || y == share:
		return x, false
	}
	return "", false
}

func (u *unit) quotient(a, b *node) (string, bool) {
	// 100 * part / whole is written without parentheses.
	if a.op == "*" && a.args[0].op == opNumber && a.args[0].num == 100 {
		if name, _ := u.quotient(a.args[1], b); name == share {
			return "%", false
		}
	}
	x, xlit := u.unitOf(a)
	y, ylit := u.unitOf(b)
	switch {
	case xlit && ylit:
		return "", true
	case ylit:
		return x, false
	case !xlit && x == y:
		return share, false
	case x != "" && strings.TrimSuffix(x, "/s") == x && y == "":
		return x, false // bytes of each of several things
	case strings.HasSuffix(x, "/s") && y == "1/s":
		return strings.TrimSuffix(x, "/s"), false // bytes a query
	}
	return "", false
}

// unitName gives the unit of an input.
func (s *slot) unitName() string {
	if s.group != nil {
		if s.group.fn == "count_of" {
			return ""
		}
		name, _ := s.group.unit.unitOf(s.group.unit.root)
		return name
	}
	name := metricUnit(s.name)
	switch s.fn {
	case "changed":
		return ""
	case "rate", "slope", "usual_rate":
		switch name {
		case "":
			return "1/s"
		case "s":
			return share // seconds a second
		}
		return name + "/s"
	}
	return name
}

// metricUnit gives the unit of a metric by MySQL's habits of naming.
func metricUnit(metric string) string {
	ns, name, _ := strings.Cut(strings.ToLower(metric), ".")
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(name, p) {
				return true
			}
		}
		return false
	}
	ends := func(parts ...string) bool {
		for _, p := range parts {
			if strings.HasSuffix(name, p) {
				return true
			}
		}
		return false
	}
	switch {
	case ends("_pct", "_percent", "_percentage"):
		return "%"
	case ends("_ms", "_msec", "innodb_row_lock_time", "innodb_row_lock_time_avg", "innodb_row_lock_time_max"):
		return "ms"
	case ends("_us", "_usec"):
		return "µs"
	case ends("_ns", "_nsec"):
		return "ns"
	case ends("_seconds", "_seconds_total", "_timeout", "_lag", "lag", "delay", "uptime", "uptime_since_flush_status"):
		return "s"
	case has("bytes") && !has("bytes_per"):
		return "bytes"
	case ns == "status" && ends("innodb_data_read", "innodb_data_written", "innodb_os_log_written", "innodb_page_size",
		"qcache_free_memory", "memory_used", "binlog_disk_use", "_lsn_current", "_checkpoint_age", "_checkpoint_max_age", "tmp_space_used"):
		return "bytes"
	case ns == "variable" && (ends("_buffer_size", "_cache_size") && !has("thread_cache", "table_", "host_cache", "stmt_cache_size_rows") ||
		ends("buffer_pool_size", "log_file_size", "binlog_size", "_table_size", "_packet", "_packet_size", "thread_stack", "redo_log_capacity")):
		return "bytes"
	}
	return ""
}
