package web

import (
	"sync"
	"time"
)

// Feeds are asked for again and again while nothing happens: those of alerts are kept until something does.
const (
	feedsKept   = 64
	feedKeptFor = time.Minute // names of servers and groups may change without an event
)

// feedKey says which feed it is, and the newest event that it tells of.
type feedKey struct {
	self   string
	newest int64
}

// writtenFeed is a feed as it is sent.
type writtenFeed struct {
	body    []byte
	kind    string
	updated time.Time
	at      time.Time // when it was written
}

// feedCache keeps feeds by their address. Its zero value is ready; it may be used by several goroutines.
type feedCache struct {
	mu    sync.Mutex
	feeds map[string]keptFeed
}

type keptFeed struct {
	newest int64
	writtenFeed
}

// get gives the feed if nothing happened since it was written.
func (c *feedCache) get(key feedKey, now time.Time) (writtenFeed, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok := c.feeds[key.self]
	if age := now.Sub(f.at); !ok || f.newest != key.newest || age < 0 || age > feedKeptFor {
		return writtenFeed{}, false
	}
	return f.writtenFeed, true
}

// put keeps a feed. When there are too many all others are dropped: addresses are few unless somebody makes them up.
func (c *feedCache) put(key feedKey, f writtenFeed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.feeds == nil || len(c.feeds) >= feedsKept {
		c.feeds = map[string]keptFeed{}
	}
	c.feeds[key.self] = keptFeed{key.newest, f}
}
