// Package mailtest starts a real mail relay for tests and reads what it took: mailpit, a program of its own module in
// mailpit/, which "make .cache/mailpit" builds.
package mailtest

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"monolith/internal/child"
	"monolith/internal/realpart"
)

// Mode is how a relay wants to be spoken to.
type Mode string

// The modes: without encryption, with STARTTLS and nothing before it, and with TLS from the first byte.
const (
	Plain    Mode = "none"
	StartTLS Mode = "starttls"
	TLS      Mode = "tls"
)

// Relay is a mail relay that runs for the length of a test.
type Relay struct {
	Port int
	CA   string // PEM of the authority that signed its certificate; "" without TLS

	api string
	tb  testing.TB
}

// Start starts a relay on 127.0.0.1 and waits until it answers. logins is "user:password" for one that asks for a login,
// "" for one that takes mail from everybody.
func Start(tb testing.TB, mode Mode, login string) *Relay {
	tb.Helper()
	_, file, _, _ := runtime.Caller(0)
	program := filepath.Join(filepath.Dir(file), "..", "..", ".cache", "mailpit")
	if _, err := os.Stat(program); err != nil {
		realpart.Missing(tb, "the mail relay mailpit", "make .cache/mailpit")
	}
	dir := tb.TempDir()
	var r *Relay
	// A port that was free may be taken before the relay has it.
	for range 5 {
		smtp, api := freePort(tb), freePort(tb)
		r = &Relay{Port: smtp, api: "http://127.0.0.1:" + strconv.Itoa(api), tb: tb}
		args := []string{"--smtp", "127.0.0.1:" + strconv.Itoa(smtp), "--listen", "127.0.0.1:" + strconv.Itoa(api), "--database", filepath.Join(dir, "mail.db"),
			"--disable-version-check", "--smtp-disable-rdns"}
		if mode != Plain {
			var certificate, key string
			certificate, key, r.CA = certify(tb, dir)
			args = append(args, "--smtp-tls-cert", certificate, "--smtp-tls-key", key)
			args = append(args, map[Mode]string{StartTLS: "--smtp-require-starttls", TLS: "--smtp-require-tls"}[mode])
		}
		if login != "" {
			path := filepath.Join(dir, "logins")
			if err := os.WriteFile(path, []byte(login+"\n"), 0o600); err != nil {
				tb.Fatal(err)
			}
			args = append(args, "--smtp-auth-file", path)
			if mode == Plain {
				args = append(args, "--smtp-auth-allow-insecure")
			}
		}
		if r.run(program, args) {
			return r
		}
	}
	tb.Fatal("mailtest: the relay did not come up")
	return nil
}

// run starts the program and reports whether it answers.
func (r *Relay) run(program string, args []string) bool {
	var out bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	p, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		r.tb.Fatalf("mailtest: %v", err)
	}
	r.tb.Cleanup(func() {
		p.Signal(syscall.SIGKILL)
		<-p.Exited()
	})
	ctx, stop := context.WithTimeout(r.tb.Context(), 20*time.Second)
	defer stop()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		select {
		case <-p.Exited():
			r.tb.Logf("mailtest: mailpit: %v\n%s", p.Err(), &out)
			return false
		case <-ctx.Done():
			r.tb.Logf("mailtest: no answer from mailpit\n%s", &out)
			return false
		case <-tick.C:
		}
		if err := r.get(ctx, "/api/v1/info", new(any)); err != nil {
			continue
		}
		if c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(r.Port)); err == nil {
			c.Close()
			return true
		}
	}
}

// Message is a mail that the relay took.
type Message struct {
	ID      string
	Header  mail.Header
	Subject string
	From    struct{ Name, Address string }
	To      []struct{ Name, Address string }
	ReplyTo []struct{ Name, Address string }
	Text    string
	HTML    string
	Inline  []struct{ ContentID, ContentType, PartID string }
}

// Messages gives all mails, the oldest first. It waits until there are so many.
func (r *Relay) Messages(n int) []Message {
	r.tb.Helper()
	ctx, stop := context.WithTimeout(r.tb.Context(), 20*time.Second)
	defer stop()
	var list struct {
		Messages []struct{ ID string }
	}
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		if err := r.get(ctx, "/api/v1/messages?limit=500", &list); err != nil {
			r.tb.Fatal(err)
		}
		if len(list.Messages) >= n {
			break
		}
	}
	var out []Message
	for i := len(list.Messages) - 1; i >= 0; i-- {
		var m Message
		id := list.Messages[i].ID
		if err := r.get(ctx, "/api/v1/message/"+id, &m); err != nil {
			r.tb.Fatal(err)
		}
		if err := r.get(ctx, "/api/v1/message/"+id+"/headers", &m.Header); err != nil {
			r.tb.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// Part gives a part of a message, such as a picture.
func (r *Relay) Part(id, part string) []byte {
	r.tb.Helper()
	body, err := r.read(r.tb.Context(), "/api/v1/message/"+id+"/part/"+part)
	if err != nil {
		r.tb.Fatal(err)
	}
	return body
}

func (r *Relay) get(ctx context.Context, path string, into any) error {
	body, err := r.read(ctx, path)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

func (r *Relay) read(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.api+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("mailtest: %s: %s: %s", path, resp.Status, body)
	}
	return body, err
}

func freePort(tb testing.TB) int {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// certify makes an authority and a certificate for 127.0.0.1 and localhost, in files; ca is the authority's as text.
func certify(tb testing.TB, dir string) (certificate, key, ca string) {
	tb.Helper()
	make := func(template, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey, []byte) {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			tb.Fatal(err)
		}
		if signer == nil {
			signer = k
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &k.PublicKey, signer)
		if err != nil {
			tb.Fatal(err)
		}
		c, err := x509.ParseCertificate(der)
		if err != nil {
			tb.Fatal(err)
		}
		return c, k, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	from, to := time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: from, NotAfter: to, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	authority, signer, authorityPEM := make(root, root, nil)
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: from, NotAfter: to, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	_, k, leafPEM := make(leaf, authority, signer)
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		tb.Fatal(err)
	}
	certificate, key = filepath.Join(dir, "relay.pem"), filepath.Join(dir, "relay.key")
	for path, body := range map[string][]byte{certificate: leafPEM, key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})} {
		if err := os.WriteFile(path, body, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return certificate, key, string(authorityPEM)
}
