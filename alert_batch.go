package monolith

import "time"

// AlertBatch is what happened at one moment to alerts, to be written in one transaction.
type AlertBatch struct {
	At time.Time
	// Alerts are new ones, with ID 0, and changed ones. Each stands in it once.
	Alerts []*Alert
	// Events are new.
	Events []*AlertBatchEvent
	// Deliveries are new: who is to be told of the events.
	Deliveries []*AlertBatchDelivery
	// States are the engine's memory by server, each in the place of the one before; an empty one deletes it. 0 is the
	// monitor itself.
	States map[ServerID][]byte
}

// AlertBatchEvent is an event with the alert it belongs to.
type AlertBatchEvent struct {
	AlertEvent
	// Of is one of the batch's alerts, or an alert that has its id already: the event's Alert is Of.ID when it is
	// written.
	Of *Alert
	// Tell says that people are to be told of it. It is false in maintenance, under a silence, for an alert that
	// another one speaks for, and for the recovery of one that was never told: then the event is kept and shown only.
	Tell bool
	// Quiet is why nobody is told; "" with Tell. The store keeps it as the event's own.
	Quiet string
	// Cause is the alert that speaks for this one, whoever is told of that one is not told of this; nil: none does.
	Cause *Alert
}

// AlertBatchDelivery is a message about events of the batch.
type AlertBatchDelivery struct {
	Delivery
	// Of are the alerts it is about, of the batch or older: the delivery's Alerts are their ids when it is written.
	Of []*Alert
	// About is the event it tells of: the delivery's Event is its id when it is written. nil: the delivery's own.
	About *AlertBatchEvent
}

// Empty reports whether there is nothing to write.
func (b *AlertBatch) Empty() bool {
	return len(b.Alerts)+len(b.Events)+len(b.Deliveries)+len(b.States) == 0
}

// OwnRule is a user's rule as it is kept: its text is the truth, and is compiled when it is loaded.
type OwnRule struct {
	ID     string
	Source string // YAML: one entry of a rule file
	// Version grows by one with each change of the rule; the store gives it.
	Version int
	By      string
	At      time.Time
}

// AlertEventQuery asks for events of alerts, newest first.
type AlertEventQuery struct {
	// Levels are those in force at the event; of a closing, that of the alert before it. Empty: all.
	Levels  []Level
	Kinds   []AlertEventKind // empty: all
	Servers []ServerID       // empty: all
	Group   string           // with its sub-groups; "" is all
	Before  int64            // only ids below: the page after it; 0: from the newest
	Limit   int              // 0 is 100, at most 5,000
}
