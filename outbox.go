package monolith

import "time"

// DeliveryQuery asks for messages of the outbox, newest first.
type DeliveryQuery struct {
	Channel      int64           // 0: of all
	Subscription int64           // 0: of all
	Alert        AlertID         // those that speak of it; 0: all
	States       []DeliveryState // empty: all
	From, To     time.Time       // made From ≤ t < To; zero leaves the end open
	Before       int64           // only ids below: the page after it; 0: from the newest
	Limit        int             // 0 is 200, at most 5,000
}

// MessageTemplate is a text that people put in the place of a built-in template of messages. The store does
// not read it.
type MessageTemplate struct {
	Name    string    `json:"name"` // of the built-in one, see [TemplateText]
	Source  string    `json:"source"`
	By      string    `json:"by,omitempty"`
	Updated time.Time `json:"updated"`
}
