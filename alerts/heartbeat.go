package alerts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"monolith"
	"monolith/alerts/notify"
)

// heartbeatKey is where the store keeps the heartbeat's settings.
const heartbeatKey = "telling.heartbeat"

// Bounds of the time between two heartbeats, and what it is when people do not say.
const (
	minHeartbeat     = 10 * time.Second
	maxHeartbeat     = 24 * time.Hour
	DefaultHeartbeat = time.Minute
)

// heart is the state of the heartbeat.
type heart struct {
	mu      sync.Mutex
	state   monolith.Heartbeat
	changed chan struct{}
}

// keptHeartbeat is what the store keeps as JSON.
type keptHeartbeat struct {
	URL   string        `json:"url"`
	Every time.Duration `json:"every"`
}

func (t *Telling) loadHeartbeat(ctx context.Context) error {
	text, err := t.cfg.Store.Setting(ctx, heartbeatKey)
	var kept keptHeartbeat
	switch {
	case errors.Is(err, monolith.ErrNotFound):
	case err != nil:
		return fmt.Errorf("alerts: load the heartbeat: %w", err)
	default:
		if err := json.Unmarshal([]byte(text), &kept); err != nil {
			t.log.Error("the kept heartbeat can't be read; there is none until it is set again", "error", err)
		}
	}
	if kept.Every == 0 {
		kept.Every = DefaultHeartbeat
	}
	t.beat.mu.Lock()
	defer t.beat.mu.Unlock()
	t.beat.state = monolith.Heartbeat{URL: kept.URL, Every: kept.Every}
	t.beat.changed = make(chan struct{}, 1)
	return nil
}

// Heartbeat gives the heartbeat and how it fares.
func (t *Telling) Heartbeat(context.Context) (monolith.Heartbeat, error) {
	t.beat.mu.Lock()
	defer t.beat.mu.Unlock()
	return t.beat.state, nil
}

// PutHeartbeat sets the address, "" for none, and how often it is called, 0 for every minute.
func (t *Telling) PutHeartbeat(ctx context.Context, h monolith.Heartbeat) error {
	if h.Every == 0 {
		h.Every = DefaultHeartbeat
	}
	if h.Every < minHeartbeat || h.Every > maxHeartbeat {
		return monolith.Invalid("every", "a heartbeat comes every 10 seconds at most and once a day at least", `such as "60s"`)
	}
	if h.URL != "" {
		u, err := url.Parse(h.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || len(h.URL) > 2000 {
			return monolith.Invalid("url", "this is not the address of an HTTP receiver", "such as https://hc.example/ping/1234, without a user")
		}
	}
	text, err := json.Marshal(keptHeartbeat{h.URL, h.Every})
	if err != nil {
		return fmt.Errorf("alerts: heartbeat: %w", err)
	}
	if err := t.cfg.Store.SetSetting(ctx, heartbeatKey, string(text)); err != nil {
		return err
	}
	t.beat.mu.Lock()
	defer t.beat.mu.Unlock()
	t.beat.state = monolith.Heartbeat{URL: h.URL, Every: h.Every}
	select {
	case t.beat.changed <- struct{}{}:
	default:
	}
	return nil
}

// firstBeat is how long after the start the first heartbeat comes: before, nothing could be polled.
const firstBeat = 5 * time.Second

// pulse calls the heartbeat's address until ctx ends.
func (t *Telling) pulse(ctx context.Context) {
	first := time.NewTimer(firstBeat)
	select {
	case <-first.C:
	case <-ctx.Done():
	}
	first.Stop()
	for ctx.Err() == nil {
		t.beat.mu.Lock()
		every, changed := t.beat.state.Every, t.beat.changed
		t.beat.mu.Unlock()
		t.beatOnce(ctx)
		timer := time.NewTimer(every)
		select {
		case <-timer.C:
		case <-changed:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// beatOnce calls the address if Monolith can watch, and notes how that went.
func (t *Telling) beatOnce(ctx context.Context) {
	t.beat.mu.Lock()
	address := t.beat.state.URL
	t.beat.mu.Unlock()
	if address == "" {
		return
	}
	var err error
	if t.cfg.Alive != nil {
		if err = t.cfg.Alive(ctx); err != nil {
			err = fmt.Errorf("left out, so that it is noticed: %w", err)
		}
	}
	if err == nil {
		err = t.ping(ctx, address)
	}
	if ctx.Err() != nil {
		return
	}
	now := t.now()
	t.beat.mu.Lock()
	defer t.beat.mu.Unlock()
	h := &t.beat.state
	switch {
	case h.URL != address: // it was changed meanwhile
	case err == nil:
		h.Last, h.Failing, h.FailingSince = now, "", time.Time{}
	default:
		if h.Failing == "" {
			h.FailingSince = now
			t.log.Warn("the heartbeat fails", "error", err)
		}
		h.Failing = err.Error()
	}
}

func (t *Telling) ping(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("alerts: heartbeat: %w", err)
	}
	req.Header.Set("User-Agent", "Monolith")
	resp, err := t.cfg.Client.Do(req)
	if err != nil {
		return fmt.Errorf("alerts: heartbeat: %s: %w", req.URL.Host, notify.WithoutAddress(err))
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)); err != nil {
		return fmt.Errorf("alerts: heartbeat: %w", err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("alerts: heartbeat: the receiver answered %s", resp.Status)
	}
	return nil
}
