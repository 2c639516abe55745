package notify

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"net"
	"net/mail"
	"strconv"
	"strings"
	"testing"
	"time"

	"monolith"
	"monolith/internal/mailtest"
)

// picture is a small PNG that stands for a graph.
func picture(context.Context, *monolith.Alert) ([]byte, error) {
	img := image.NewRGBA(image.Rect(0, 0, 640, 200))
	for x := range 640 {
		img.Set(x, 100+x%50, color.RGBA{200, 30, 30, 255})
	}
	var b bytes.Buffer
	err := png.Encode(&b, img)
	return b.Bytes(), err
}

// channelTo makes a mail channel to a relay.
func channelTo(r *mailtest.Relay, kind string, mode mailtest.Mode, change map[string]string, password string) *monolith.Channel {
	c := &monolith.Channel{Kind: kind, Config: map[string]string{"host": "127.0.0.1", "port": strconv.Itoa(r.Port), "tls": string(mode), "ca": r.CA,
		"from": "Monolith <monolith@example.com>", "to": "Eve <dba@example.com>, ops@example.com"}}
	for name, value := range change {
		c.Config[name] = value
	}
	if password != "" {
		c.Secrets = map[string]monolith.Secret{"password": monolith.Secret(password)}
	}
	return c
}

// Mail is taken by a real relay in every mode and with every login, and says what it must.
func TestMailModes(t *testing.T) {
	t.Parallel()
	for _, mode := range []mailtest.Mode{mailtest.Plain, mailtest.StartTLS, mailtest.TLS} {
		for _, auth := range []string{"none", "plain", "login"} {
			t.Run(string(mode)+" "+auth, func(t *testing.T) {
				t.Parallel()
				login, change := "", map[string]string{}
				if auth != "none" {
					login, change = "eve:se-cret-word", map[string]string{"auth": auth, "user": "eve"}
				}
				r := mailtest.Start(t, mode, login)
				record := &Dialogue{}
				s := sender(t, channelTo(r, "mail", mode, change, strings.TrimPrefix(login, "eve:")), Options{Record: record, Graph: picture, Base: "https://monolith.example"})
				answer, err := s.Send(t.Context(), Examples()[0])
				if err != nil {
					t.Fatalf("%v\n%s", err, record)
				}
				if !strings.Contains(answer, "127.0.0.1") || !strings.Contains(record.String(), "RCPT TO") || strings.Contains(record.String(), "se-cret-word") {
					t.Errorf("answer %q, dialogue:\n%s", answer, record)
				}
				m := r.Messages(1)[0]
				if m.Subject != "[CRIT] acme/prod/db3 Replication lag: 412 s > 300 s (eu2)" || m.From.Name != "Monolith" || len(m.To) != 2 || m.To[0].Name != "Eve" {
					t.Errorf("subject %q from %v to %v", m.Subject, m.From, m.To)
				}
				for _, text := range []string{m.Text, m.HTML} {
					if !strings.Contains(text, "412 s behind its source") || !strings.Contains(text, "https://monolith.example/alerts/42") {
						t.Errorf("it lacks something: %s", text)
					}
				}
				if len(m.Inline) != 1 || m.Inline[0].ContentType != "image/png" || !strings.Contains(m.HTML, "cid:"+m.Inline[0].ContentID) {
					t.Fatalf("pictures %v", m.Inline)
				}
				if _, err := png.Decode(bytes.NewReader(r.Part(m.ID, m.Inline[0].PartID))); err != nil {
					t.Errorf("the picture: %v", err)
				}
				if login == "" {
					return
				}
				s = sender(t, channelTo(r, "mail", mode, change, "wrong-word"), Options{})
				if _, err := s.Send(t.Context(), Examples()[0]); err == nil || strings.Contains(err.Error(), "wrong-word") {
					t.Errorf("a wrong password: %v", err)
				}
			})
		}
	}
}

func TestMailThreads(t *testing.T) {
	t.Parallel()
	r := mailtest.Start(t, mailtest.Plain, "")
	s := sender(t, channelTo(r, "mail", mailtest.Plain, map[string]string{"reply_to": "team@example.com"}, ""), Options{})
	for _, n := range Examples() {
		if _, err := s.Send(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	messages := r.Messages(8)
	root := messages[0].Header.Get("Message-Id")
	ids := map[string]bool{}
	for i, m := range messages {
		if m.Header.Get("Auto-Submitted") != "auto-generated" || len(m.ReplyTo) != 1 || m.ReplyTo[0].Address != "team@example.com" {
			t.Errorf("%s: header %v", m.Subject, m.Header)
		}
		id := m.Header.Get("Message-Id")
		if ids[id] || id == "" {
			t.Errorf("%s: the id %q stands twice", m.Subject, id)
		}
		ids[id] = true
		if threaded := i >= 1 && i <= 4; threaded != (m.Header.Get("References") == root && m.Header.Get("In-Reply-To") == root) {
			t.Errorf("%s refers to %q, the problem is %q", m.Subject, m.Header.Get("References"), root)
		}
	}
	if !strings.Contains(messages[3].Text, "over after 40 min") {
		t.Errorf("recovery: %s", messages[3].Text)
	}
}

// Nothing that a server says becomes a header or another recipient.
func TestMailInjection(t *testing.T) {
	t.Parallel()
	r := mailtest.Start(t, mailtest.Plain, "")
	for _, kind := range []string{"mail", "pager"} {
		s := sender(t, channelTo(r, kind, mailtest.Plain, nil, ""), Options{})
		if _, err := s.Send(t.Context(), hostileNotice(monolith.NoticeProblem)); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range r.Messages(2) {
		if len(m.To) != 2 || m.Header.Get("Bcc") != "" || strings.ContainsAny(m.Subject, "\r\n") {
			t.Errorf("to %v, bcc %q, subject %q", m.To, m.Header.Get("Bcc"), m.Subject)
		}
		for name := range m.Header {
			if _, known := (mail.Header{})[name]; !known && strings.ContainsAny(name, " <{") {
				t.Errorf("header %q", name)
			}
		}
		if strings.Contains(m.HTML, "<script>") {
			t.Error("a script in the HTML")
		}
	}
}

func TestPagerMail(t *testing.T) {
	t.Parallel()
	r := mailtest.Start(t, mailtest.Plain, "")
	s := sender(t, channelTo(r, "pager", mailtest.Plain, nil, ""), Options{})
	if _, err := s.Send(t.Context(), Examples()[0]); err != nil {
		t.Fatal(err)
	}
	m := r.Messages(1)[0]
	if got := strings.TrimSpace(m.Text); got != "CRIT acme/prod/db3 Replication lag: 412 s > 300 s (eu2) since 11:20Z" || m.Subject != "CRIT" || m.HTML != "" {
		t.Errorf("%q %q %q", m.Subject, got, m.HTML)
	}
	// Gateways that show the subject alone must not call the end of a problem another one.
	sent := 1
	for i, n := range Examples() {
		if want := map[monolith.NoticeKind]string{monolith.NoticeRecovery: "OK", monolith.NoticeTest: "TEST"}[n.Kind]; want != "" {
			if _, err := s.Send(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			sent++
			all := r.Messages(sent)
			if m := all[len(all)-1]; m.Subject != want {
				t.Errorf("example %d, %s: the subject is %q, want %q", i, n.Kind, m.Subject, want)
			}
		}
	}
}

// Gateways take the text of a mail as it stands in it: no encoding may break the line or change a sign of it.
func TestPagerMailIsPlain(t *testing.T) {
	t.Parallel()
	s := sender(t, &monolith.Channel{Kind: "pager", Config: map[string]string{"host": "127.0.0.1", "tls": "none", "from": "Mönolith <m@example.com>", "to": "a@example.com"}}, Options{})
	for _, n := range append(Examples(), hostileNotice(monolith.NoticeProblem)) {
		line := pagerLine(&s.(pager).options, n)
		var written bytes.Buffer
		if _, err := s.(pager).message(n, line).WriteTo(&written); err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(written.String(), "\r\n\r\n")
		if body = strings.TrimSuffix(body, "\r\n"); body != line || len(body) > pagerLength {
			t.Errorf("%s: the mail holds\n%q, the line is\n%q", n.Kind, body, line)
		}
	}
}

// A relay whose certificate nobody vouches for gets nothing; nor does one that breaks off, says nothing or refuses.
func TestMailRefusals(t *testing.T) {
	t.Parallel()
	r := mailtest.Start(t, mailtest.StartTLS, "")
	for name, change := range map[string]map[string]string{
		"unknown authority": {"ca": ""}, "another name": {"server_name": "other.example"}, "TLS where there is none at first": {"tls": "tls"}, "no STARTTLS": {"tls": "none"},
	} {
		s := sender(t, channelTo(r, "mail", mailtest.StartTLS, change, ""), Options{})
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		_, err := s.Send(ctx, Examples()[0])
		stop()
		if err == nil {
			t.Errorf("%s: it was sent", name)
		}
	}
	for _, c := range []struct {
		name      string
		speak     func(net.Conn)
		permanent bool
	}{
		{"closes at once", func(c net.Conn) { c.Close() }, false},
		{"says nothing", func(net.Conn) {}, false},
		{"refuses for good", func(c net.Conn) { c.Write([]byte("554 go away\r\n")) }, true},
		{"is busy", func(c net.Conn) { c.Write([]byte("421 later\r\n")) }, false},
		{"speaks another tongue", func(c net.Conn) { c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }, false},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				c.speak(conn)
				t.Cleanup(func() { conn.Close() })
			}
		}()
		s := sender(t, &monolith.Channel{Kind: "mail", Config: map[string]string{"host": "127.0.0.1", "port": strconv.Itoa(l.Addr().(*net.TCPAddr).Port), "tls": "none",
			"from": "m@example.com", "to": "a@example.com"}}, Options{})
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
		_, err = s.Send(ctx, Examples()[0])
		stop()
		if err == nil || IsPermanent(err) != c.permanent {
			t.Errorf("a relay that %s: %v, permanent %v", c.name, err, IsPermanent(err))
		}
	}
}
