package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Limits of one exchange with a receiver.
const (
	mostTime   = 30 * time.Second
	mostAnswer = 16 << 10 // bytes of an answer that are read
)

// newHTTPClient makes a client that waits for nothing too long and follows no redirect: a receiver must not send our secrets
// elsewhere.
func newHTTPClient() *http.Client {
	return &http.Client{
		Timeout:       mostTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 20 * time.Second,
			MaxResponseHeaderBytes: 64 << 10, DisableKeepAlives: true, ForceAttemptHTTP2: true,
		},
	}
}

// post sends a body and gives what the receiver said, without our secrets: it may send back what it got. Refusals that will
// come again are permanent errors.
func post(ctx context.Context, client *http.Client, d *Dialogue, address string, header http.Header, body []byte, secrets []string) (answer string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return "", Permanent(fmt.Errorf("notify: %w", err))
	}
	for name, values := range header {
		req.Header[name] = values
	}
	d.say(">", "POST %s", address)
	for name, values := range req.Header {
		d.say(">", "%s: %s", name, strings.Join(values, ", "))
	}
	d.say(">", "\n%s", body)
	resp, err := client.Do(req)
	if err != nil {
		d.say("*", "%v", err)
		return "", fmt.Errorf("notify: %s: %w", req.URL.Host, WithoutAddress(err))
	}
	defer resp.Body.Close()
	said, readErr := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	d.say("<", "%s", resp.Status)
	d.say("<", "%s", said)
	return settle(resp.StatusCode, resp.Header, masked(string(said), secrets), readErr)
}

// WithoutAddress takes the address out of an error of an exchange over HTTP: a path or a query is often the receiver's secret.
func WithoutAddress(err error) error {
	if of, ok := errors.AsType[*url.Error](err); ok {
		return of.Err
	}
	return err
}

// settle tells from a receiver's answer whether the message was taken.
func settle(status int, header http.Header, said string, readErr error) (string, error) {
	answer := strings.TrimSpace(strconv.Itoa(status) + " " + oneLine(said, 500))
	switch {
	case status >= 200 && status < 300:
		// Taken, even if the rest of the answer was cut off.
		return answer, nil
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests, status >= 500:
		err := fmt.Errorf("notify: the receiver answered %s", answer)
		if wait, ok := retryAfter(header); ok {
			err = &later{err, wait}
		}
		return "", err
	case status >= 300 && status < 400:
		return "", Permanent(fmt.Errorf("notify: the receiver sends elsewhere (%d to %s), which is not followed: give that address", status, header.Get("Location")))
	case readErr != nil:
		return "", fmt.Errorf("notify: the receiver answered %d: %w", status, readErr)
	}
	return "", Permanent(fmt.Errorf("notify: the receiver answered %s", answer))
}

// later is an error of a receiver that says when to come again.
type later struct {
	error
	wait time.Duration
}

func (l *later) Unwrap() error { return l.error }

// Wait gives how long a receiver asked to wait before the next try; 0: it did not say.
func Wait(err error) time.Duration {
	var l *later
	if errors.As(err, &l) {
		return l.wait
	}
	return 0
}

// retryAfter reads Retry-After in seconds; dates are seldom and not worth it.
func retryAfter(h http.Header) (time.Duration, bool) {
	n, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || n <= 0 {
		return 0, false
	}
	return min(time.Duration(n)*time.Second, time.Hour), true
}
