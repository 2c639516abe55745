package alerts

import (
	"slices"
	"strings"
	"time"

	"monolith"
	"monolith/formula"
)

// place is where a reading stands: in which collector's newest section, and where there.
type place struct {
	slot *sectionSlot
	pos  int32
	text bool
}

// sectionSlot holds the newest section of a collector and what was worked out for its lists of names.
type sectionSlot struct {
	collector string
	now       *monolith.Section
	at        time.Time
	nums      *monolith.Names
	texts     *monolith.Names
	feeds     []feed
	notGiven  bool // the collector has run since, and gave none
}

// feed is a reading that goes into rings.
type feed struct {
	name     string
	pos      int32
	text     bool
	rings    []*ring
	change   *change
	interval time.Duration // default distance between two readings
	hostRun  bool          // does not belong to the run of the server
}

// namePlaces are the readings of one name: without instance, or by instance.
type namePlaces struct {
	single place
	each   []instancePlace
	seen   bool // was there at some time since the server has this version
}

type instancePlace struct {
	name  string
	place place
}

// ringKey is a ring of one instance.
type ringKey struct {
	spec     int
	instance string
}

// ingest takes in what a poll read.
func (s *serverState) ingest(snap *monolith.Snapshot) {
	if snap.GTIDs != nil {
		s.gtids[1], s.gtids[0] = s.gtids[0], snap.GTIDs
	}
	s.noteGiven(snap)
	if s.state.Seq != snap.Seq {
		return // the state is not the one after this snapshot
	}
	for i := range snap.Sections {
		before, now, from, to := s.state.Pair(snap.Sections[i].Collector)
		slot := s.slotOf(now.Collector)
		elapsed := snap.Interval
		if !slot.at.IsZero() && snap.At.Sub(slot.at) > 0 {
			elapsed = snap.At.Sub(slot.at)
		}
		slot.now, slot.at = now, snap.At
		if slot.nums != now.NumNames || slot.texts != now.TextNames {
			s.layOut(slot)
		}
		if now.Collector == "variables" {
			s.compareVariables(before, now, snap.At)
		}
		for f := range slot.feeds {
			s.feed(&slot.feeds[f], before, now, from, to, snap.At, elapsed)
		}
	}
}

// feed puts one reading into its rings.
func (s *serverState) feed(f *feed, before, now *monolith.Section, from, to monolith.Point, at time.Time, elapsed time.Duration) {
	if f.text {
		text := now.Texts[f.pos]
		if f.change != nil {
			f.change.take(0, text, at)
		}
		if n, ok := monolith.ParseNum([]byte(text)); ok {
			s.gauge(f, n, at, elapsed)
		}
		return
	}
	n := now.Nums[f.pos]
	if n.IsNone() {
		return
	}
	if f.change != nil {
		f.change.take(n.Float64(), "", at)
	}
	s.gauge(f, n, at, elapsed)
	if before == nil {
		return
	}
	prev := monolith.Num{}
	if before.NumNames == now.NumNames {
		prev = before.Nums[f.pos]
	} else if i := before.NumNames.Index(now.NumNames.At(int(f.pos))); i >= 0 {
		prev = before.Nums[i]
	}
	if f.hostRun {
		from.Run, to.Run = 0, 0
	}
	// What is read seldom has a longer interval than the fast schedule.
	from.Interval, to.Interval = max(from.Interval, f.interval), max(to.Interval, f.interval)
	inc, seconds, ok := monolith.Increase(prev, n, from, to)
	if !ok {
		return
	}
	for _, r := range f.rings {
		if r.agg == aggIncrease {
			r.add(at, inc, seconds.Seconds())
		}
	}
}

func (s *serverState) gauge(f *feed, n monolith.Num, at time.Time, elapsed time.Duration) {
	for _, r := range f.rings {
		if r.agg != aggIncrease {
			r.add(at, n.Gauge(), min(elapsed, monolith.MaxGap*max(s.interval, f.interval)).Seconds())
		}
	}
}

func (s *serverState) slotOf(collector string) *sectionSlot {
	for _, slot := range s.slots {
		if slot.collector == collector {
			return slot
		}
	}
	slot := &sectionSlot{collector: collector}
	s.slots = append(s.slots, slot)
	return slot
}

// layOut works out for a section whose lists of names are new where each reading stands and what it feeds.
func (s *serverState) layOut(slot *sectionSlot) {
	slot.nums, slot.texts, slot.feeds = slot.now.NumNames, slot.now.TextNames, slot.feeds[:0]
	for i := range s.names {
		n := &s.names[i]
		if n.single.slot == slot {
			n.single = place{}
		}
		n.each = slices.DeleteFunc(n.each, func(p instancePlace) bool { return p.place.slot == slot })
	}
	s.layOutList(slot, slot.nums, false)
	s.layOutList(slot, slot.texts, true)
}

func (s *serverState) layOutList(slot *sectionSlot, names *monolith.Names, text bool) {
	for i := range names.Len() {
		m := names.At(i)
		if id, ok := s.cat.nameOf[m.Name]; ok {
			n := &s.names[id]
			n.seen = true
			at := place{slot, int32(i), text}
			if m.Instance == "" {
				n.single = at
			} else {
				k, known := n.at(m.Instance)
				if known {
					n.each[k].place = at
				} else if len(n.each) < maxInstances {
					n.each = slices.Insert(n.each, k, instancePlace{m.Instance, at})
				}
			}
		}
		specs, wanted := s.cat.ringsOf[m.Name], s.cat.changes[m.Name]
		if len(specs) == 0 && !wanted {
			continue
		}
		f := feed{name: m.Name, pos: int32(i), text: text, interval: s.intervalOf(m.Name), hostRun: monolith.RunOf(m.Namespace(), 1) == 0}
		for _, spec := range specs {
			if r := s.ringFor(ringKey{spec, m.Instance}); r != nil {
				f.rings = append(f.rings, r)
			}
		}
		if wanted {
			f.change = s.changeFor(m)
		}
		slot.feeds = append(slot.feeds, f)
	}
}

// intervalOf gives the distance between two readings of a name of the catalogue.
func (s *serverState) intervalOf(name string) time.Duration {
	if id, ok := s.cat.nameOf[name]; ok && id < len(s.schedules) {
		return s.schedules[id]
	}
	return s.scheduleOf(name, nil)
}

// maxInstances bounds how many instances of one name are followed on a server, maxRings how many rings there are.
const (
	maxInstances = 200
	maxRings     = 2000
)

func (s *serverState) ringFor(k ringKey) *ring {
	if r := s.rings[k]; r != nil {
		return r
	}
	if len(s.rings) >= maxRings {
		return nil
	}
	r := newRing(s.cat.rings[k.spec])
	s.rings[k] = r
	return r
}

func (s *serverState) changeFor(m monolith.Metric) *change {
	c := s.changes[m]
	if c == nil {
		c = &change{}
		s.changes[m] = c
	}
	return c
}

// calm is how often what is neither status nor replication is read at least when polls come more often.
const calm = 10 * time.Second

// scheduleOf gives the distance between two readings of a metric on this server: as the host program says, or else as it is
// set or default. Less than the distance of polls is taken for that.
func (s *serverState) scheduleOf(name string, every func(monolith.ServerID, string) time.Duration) time.Duration {
	if every != nil {
		if d := every(s.id, name); d > 0 {
			return d
		}
	}
	schedule := monolith.ScheduleOf(name)
	d := monolith.DefaultInterval(schedule)
	if schedule == monolith.Fast {
		if d = calm; strings.HasPrefix(name, "status.") || strings.HasPrefix(name, "replica.") || monolith.CollectorOf(name) == "server" {
			d = 0
		}
	}
	if s.server != nil {
		if text, ok := strings.CutPrefix(s.server.Schedules[schedule], "@every "); ok {
			if set, err := monolith.ParseDuration("", strings.TrimSpace(text)); err == nil {
				d = max(d, set)
			}
		}
	}
	return d
}

// plain gives the newest reading of a name, or why there is none.
func (ev *evaluator) plain(name, instance string) formula.Scalar {
	id, ok := ev.cat.nameOf[name]
	if !ok {
		return formula.Nothing(formula.LackFailed, name+" is not read")
	}
	return ev.reading(id, instance)
}

// reading gives the newest reading of a name of the catalogue.
func (ev *evaluator) reading(id int, instance string) formula.Scalar {
	p, _, lack := ev.find(id, instance)
	if lack.Lack() != formula.LackNone {
		return lack
	}
	name := ev.cat.names[id]
	if p.text {
		text := p.slot.now.Texts[p.pos]
		if ev.cat.kinds[id] != monolith.Text {
			if n, ok := monolith.ParseNum([]byte(text)); ok {
				return formula.Number(n.Float64())
			}
		}
		return formula.Text(text)
	}
	n := p.slot.now.Nums[p.pos]
	if n.IsNone() {
		if monolith.KindOf(name) == monolith.Gauge && strings.HasPrefix(name, "replica.") {
			return formula.Nothing(formula.LackNull, name+" is NULL")
		}
		return formula.Nothing(formula.LackFailed, name+" could not be read this time")
	}
	if k := ev.cat.kinds[id]; k == monolith.Gauge || k == monolith.HighWater {
		return formula.Number(n.Gauge())
	}
	return formula.Number(n.Float64())
}

// find gives where a name stands and of which instance, or why it stands nowhere. A rule about instances reads that
// instance of names that have some, and the only one of names that have none.
func (ev *evaluator) find(id int, instance string) (place, string, formula.Scalar) {
	if ev.cat.names[id] == "server.probe_handshake_errors_total" && len(ev.server.ProbeAddresses) == 0 {
		return place{}, "", formula.Nothing(formula.LackAbsent, "the server has no probe addresses")
	}
	n := &ev.srv.names[id]
	var p place
	switch {
	case instance != "" && len(n.each) > 0:
		if k, ok := n.at(instance); ok {
			p = n.each[k].place
		}
	case n.single.slot != nil:
		p, instance = n.single, ""
	case !ev.perInstance && len(n.each) == 1:
		p, instance = n.each[0].place, n.each[0].name
	}
	if p.slot == nil {
		return place{}, "", ev.missing(id, instance)
	}
	if why := ev.unreadable(id, p.slot); why != "" {
		return place{}, "", formula.Nothing(formula.LackFailed, why)
	}
	return p, instance, found
}

// at finds an instance.
func (n *namePlaces) at(instance string) (int, bool) {
	return slices.BinarySearchFunc(n.each, instance, func(p instancePlace, name string) int { return strings.Compare(p.name, name) })
}

// found is a Scalar that has a value.
var found = formula.Truth(true)

// unreadable tells why what was read of a collector no longer counts; "" when it does.
func (ev *evaluator) unreadable(id int, slot *sectionSlot) string {
	if slot.collector == "server" || slot.collector == "self" {
		return ""
	}
	name := ev.cat.names[id]
	if p, ok := ev.srv.trouble(slot.collector); ok && p.Kind != monolith.ProblemUnsupported {
		return name + " could not be read: " + because(&p)
	}
	if slot.notGiven {
		if why := ev.srv.whyNotGiven(slot.collector); why != "" {
			return name + " could not be read: " + why
		}
		return name + " was there before and is gone"
	}
	if limit := ev.srv.staleAfter(id); ev.at.Sub(slot.at) > limit {
		return name + " was last read " + inWords(ev.at.Sub(slot.at).Truncate(time.Second)) + " ago"
	}
	return ""
}

// staleAfter is how old a reading may be.
func (s *serverState) staleAfter(id int) time.Duration {
	return monolith.MaxGap*max(s.interval, s.schedules[id]) + max(s.interval, s.schedules[id])/2
}

// missing tells why a name is not there.
func (ev *evaluator) missing(id int, instance string) formula.Scalar {
	name := ev.cat.names[id]
	label := monolith.Metric{Name: name, Instance: instance}.String()
	collector := monolith.CollectorOf(name)
	n := &ev.srv.names[id]
	if collector == "host" && !ev.hasHost() {
		return formula.Nothing(formula.LackAbsent, noHostSource)
	}
	if p, ok := ev.srv.trouble(collector); ok {
		if p.Kind == monolith.ProblemUnsupported && !n.seen {
			return formula.Nothing(formula.LackAbsent, p.Text)
		}
		return formula.Nothing(formula.LackFailed, label+" could not be read: "+because(&p))
	}
	if why := ev.srv.leftOut(collector); why != "" {
		return formula.Nothing(formula.LackFailed, label+" could not be read: "+why)
	}
	if len(n.each) > 0 {
		// Others are there: this instance is not.
		if instance == "" {
			return formula.Nothing(formula.LackFailed, name+" has several instances here")
		}
		return formula.Nothing(formula.LackAbsent, label+" is not there")
	}
	if !ev.srv.answered(collector, ev.at) {
		return formula.Nothing(formula.LackLearning, label+" was not read yet")
	}
	if n.seen && !ev.comesAndGoes(name) {
		return formula.Nothing(formula.LackFailed, label+" was there before and is gone")
	}
	return formula.Nothing(formula.LackAbsent, "this server does not have "+label)
}

// comesAndGoes reports whether a name exists only while what it counts does: channels, filesystems, members.
func (ev *evaluator) comesAndGoes(name string) bool {
	switch (monolith.Metric{Name: name}).Namespace() {
	case "replica":
		return len(ev.state.Replicas) == 0
	case "schema":
		return true
	case "host":
		return strings.HasPrefix(name, "host.mount_") || strings.HasPrefix(name, "host.disk_") || strings.HasPrefix(name, "host.net_") ||
			strings.HasPrefix(name, "host.mysqld_")
	case "server":
		return strings.HasPrefix(name, "server.group_")
	}
	return false
}
