// Package notify tells people and programs: mail, pager, PagerDuty, webhook, and the services of shoutrrr.
//
// A [Notice] is everything that is told, complete in itself; [New] makes a [Sender] of a channel. Senders
// neither retry nor wait: the dispatcher of package alerts does. To add a kind of channel: a file with a
// constructor, and a line in kinds.go.
//
// Texts that came from monitored servers are hostile: they go through the encoders of each form and never
// into a header or an address by joining strings.
package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"monolith"
)

// Notice is what is told: one cause. It is kept as JSON with its delivery, so that what is sent later still
// says what was known then.
type Notice struct {
	Kind monolith.NoticeKind `json:"kind"`
	// Key is the same for all messages of an episode.
	Key string    `json:"key"`
	At  time.Time `json:"at"` // of the event
	// Alert is what it is about; nil for a digest, the quiet line and a test.
	Alert *monolith.Alert `json:"alert,omitempty"`
	// Others are further alerts of the same cause, or those of a digest; More is how many do not stand here.
	Others []monolith.Alert `json:"others,omitempty"`
	More   int              `json:"more,omitempty"`
	Server *Subject         `json:"server,omitempty"` // nil: the monitor itself
	About  string           `json:"about,omitempty"`  // why it matters: the rule's own words
	// Already says that it was so when the subscription was made, changed or switched on: nothing happens now.
	Already bool `json:"already,omitempty"`
	// Changes are the newest changes on the server before the alert opened.
	Changes []Change `json:"changes,omitempty"`
	// Hour is how it went in the last hour: mails have it read when they are sent. nil: nothing is said of it.
	Hour   *Hour         `json:"-"`
	Lasted time.Duration `json:"lasted,omitempty"` // of a recovery
	By     string        `json:"by,omitempty"`     // who acknowledged or took it
	Note   string        `json:"note,omitempty"`
	Open   Counts        `json:"open"` // how many alerts are open in all, for the quiet line
}

// Subject is the server that a notice is about.
type Subject struct {
	Name        string `json:"name"`
	Group       string `json:"group"`
	Environment string `json:"environment,omitempty"`
	Role        string `json:"role,omitempty"` // what it is: "replica of db1", "primary with 2 replicas"
	Version     string `json:"version,omitempty"`
	Address     string `json:"address,omitempty"`
}

// Change is something that was changed on the server.
type Change struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// Counts are numbers of open alerts by level.
type Counts struct {
	Critical int `json:"critical"`
	Warn     int `json:"warn"`
	Info     int `json:"info"`
}

// Where gives the server with its group, for people: "acme/prod/db3".
func (n *Notice) Where() string {
	switch {
	case n.Server == nil:
		return "Monolith"
	case n.Server.Group == "":
		return n.Server.Name
	}
	return n.Server.Group + "/" + n.Server.Name
}

// Level gives the level of the alert, or the highest of those that a digest or the quiet line speaks of.
func (n *Notice) Level() monolith.Level {
	if n.Alert != nil {
		return n.Alert.Level
	}
	level := monolith.LevelOK
	for i := range n.Others {
		level = max(level, n.Others[i].Level)
	}
	switch {
	case n.Open.Critical > 0:
		return monolith.LevelCritical
	case n.Open.Warn > 0:
		return max(level, monolith.LevelWarn)
	case n.Open.Info > 0:
		return max(level, monolith.LevelInfo)
	}
	return level
}

// Sender sends notices over one channel. It may be used by several goroutines.
type Sender interface {
	// Send tells one notice and gives the receiver's answer, for the log. An error for which [IsPermanent]
	// holds will be the same each time; every other one is worth another try. ctx bounds it.
	Send(ctx context.Context, n *Notice) (answer string, err error)
}

// Options are what senders need besides their channel.
type Options struct {
	// Base is the address of the pages, without a slash at its end: https://monolith.example. "": no links.
	Base string
	// Graph draws the graph of an alert as PNG; nil, or an error: there is no picture.
	Graph func(ctx context.Context, a *monolith.Alert) ([]byte, error)
	// Hour gives how the quantities of an alert went in the hour before a moment; nil, or a nil Hour: nothing is said of it.
	Hour func(ctx context.Context, a *monolith.Alert, to time.Time) (*Hour, error)
	// Template gives a user's template by its name; "": the built-in one.
	Template func(name string) string
	// Hostname stands behind the @ of message ids and in the greeting; "": localhost.
	Hostname string
	// Record gets the dialogue with the receiver, for "send test"; nil: nobody looks.
	Record *Dialogue
	Now    func() time.Time // nil is [time.Now]
}

func (o *Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

// within makes a call that takes no context. When ctx ends it waits no longer; the call goes on until its own time-outs end
// it. A library that panics has failed: on a goroutine of its own nobody else would catch that, and the program would end.
func within(ctx context.Context, call func() error) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				done <- fmt.Errorf("the sender broke down: %v", v)
			}
		}()
		done <- call()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// permanent marks an error that another try can't mend.
type permanent struct{ err error }

func (p permanent) Error() string { return p.err.Error() }
func (p permanent) Unwrap() error { return p.err }

// Permanent marks an error as one that another try can't mend.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanent{err}
}

// IsPermanent reports whether another try can't mend the error.
func IsPermanent(err error) bool {
	var p permanent
	return errors.As(err, &p)
}

// link gives the address of a page; "" without a base.
func (o *Options) link(path string) string {
	if o.Base == "" {
		return ""
	}
	return o.Base + path
}
