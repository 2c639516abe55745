package monolith

import "time"

// Section is what one collector read in one poll: numbers and texts, each against a shared list of
// names. Nums[i] belongs to NumNames.At(i); a number that was not readable this time is the zero Num.
// A name that gives a number at one poll and text at the next moves between the lists.
type Section struct {
	Collector string
	NumNames  *Names
	Nums      []Num
	TextNames *Names
	Texts     []string
}

// Snapshot is everything that one poll of one server gave. It is immutable once handed on: handlers
// in several goroutines read it at the same time.
type Snapshot struct {
	Server ServerID
	Seq    uint64    // grows by at least one with each poll of the server, whatever the clock does
	At     time.Time // the scheduled moment: tick + the server's fixed offset. History's time axis.
	Taken  time.Time // measured middle of the status statement; equals At when there was none
	// Elapsed is the monotonic time between this status statement and the one before; 0 when there was
	// none in this process. Rates use it.
	Elapsed  time.Duration
	Interval time.Duration // of the fast schedule in force
	Run      uint32        // see [Point.Run]; 0 is never used
	Up       bool          // the server answered (also with an error such as 1040 or 1045)
	// Polled says that the status of the server was read. False: see Problems; the snapshot still
	// carries host values and what self.* measured.
	Polled   bool
	Identity Identity
	Restart  bool          // Uptime fell since the poll before
	ClockGap time.Duration // server clock − monitor clock, measured; 0 when not measured yet

	Sections []Section

	Rows

	Problems []Problem // of the collectors that ran in this poll
	Costs    []Cost    // of the collectors that ran in this poll
}

// Section gives the named collector's section, or nil when it did not run or failed.
func (s *Snapshot) Section(collector string) *Section {
	for i := range s.Sections {
		if s.Sections[i].Collector == collector {
			return &s.Sections[i]
		}
	}
	return nil
}

// ProblemKind sorts problems by who can mend them and how.
type ProblemKind string

// The kinds of problem.
const (
	ProblemUnreachable ProblemKind = "unreachable" // no TCP or socket connection: the server may be down
	ProblemRefused     ProblemKind = "refused"     // the server is up and turned us away (1040, 1045, 1129, TLS)
	ProblemTimeout     ProblemKind = "timeout"     // no answer within the deadline
	ProblemPrivilege   ProblemKind = "privilege"   // the monitoring account lacks a right
	ProblemPartial     ProblemKind = "partial"     // an answer came, but less than there is (own processes only, a cap)
	ProblemUnsupported ProblemKind = "unsupported" // this server has no such thing; not a fault
	ProblemOff         ProblemKind = "off"         // switched off by people, by a missing set-up, or by our own back-off
	ProblemAnswer      ProblemKind = "answer"      // the answer could not be understood, or was too large
	ProblemMonitor     ProblemKind = "monitor"     // Monolith itself could not ask: nothing is known of the server, as good or bad
)

// Problem says why something could not be read, in words for the page, the log and the API.
type Problem struct {
	Collector string      `json:"collector"` // "" for the connection itself
	Kind      ProblemKind `json:"kind"`
	Code      int         `json:"code,omitempty"` // MySQL's error number, 0 where there is none
	Text      string      `json:"text"`           // what happened, masked
	Cure      string      `json:"cure,omitempty"` // what to do: the GRANT, the setting, the address
	Since     time.Time   `json:"since,omitzero"` // first of an unbroken row of the same problem
}

// Cost is what one collector cost in one poll.
type Cost struct {
	Collector  string        `json:"collector"`
	Took       time.Duration `json:"-"`
	Statements int           `json:"statements"`
	Rows       int           `json:"rows"`
	Bytes      int64         `json:"bytes"` // received from the server
}
