package notify

import (
	"bufio"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"monolith"
	"monolith/internal/mailtest"
)

// The dialogue with a relay has every line of both sides, whichever way it is encrypted, from the greeting to the goodbye;
// of the mail only its beginning, and of the login nothing that must stay secret.
func TestMailDialogue(t *testing.T) {
	t.Parallel()
	for _, mode := range []mailtest.Mode{mailtest.Plain, mailtest.StartTLS, mailtest.TLS} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			r := mailtest.Start(t, mode, "eve:se-cret-word")
			record := &Dialogue{}
			channel := channelTo(r, "mail", mode, map[string]string{"auth": "login", "user": "eve"}, "se-cret-word")
			answer, err := sender(t, channel, Options{Record: record, Graph: picture, Hostname: "watch.example"}).Send(t.Context(), Examples()[0])
			if err != nil {
				t.Fatalf("%v\n%s", err, record)
			}
			taken := regexp.MustCompile(`(?m)^< 250 (.*queued as \S+)$`).FindStringSubmatch(record.String())
			if taken == nil || answer != "taken by 127.0.0.1: 250 "+taken[1] {
				t.Errorf("the log says %q", answer)
			}
			rest := record.String()
			hello := []string{"< 220 ", "> EHLO watch.example", "< 250-"}
			expected := map[mailtest.Mode][]string{
				mailtest.Plain:    hello,
				mailtest.StartTLS: append(hello, "> STARTTLS", "< 220 ", "* TLS 1.3, ", "> EHLO watch.example", "< 250-"),
				mailtest.TLS:      append([]string{"* TLS 1.3, "}, hello...),
			}[mode]
			expected = append([]string{"* connected to 127.0.0.1:"}, expected...)
			for _, line := range append(expected, "> AUTH LOGIN", "< 334 ", "> •••", "< 334 ", "> •••", "< 235 ", "> MAIL FROM:<monolith@example.com>", "< 250 ", "> RCPT TO:<dba@example.com>", "< 250 ",
				"> RCPT TO:<ops@example.com>", "< 250 ", "> DATA", "< 354 ", "> Date: ", "> Subject: ", "* and ", "> .", "< 250 ", "> QUIT", "< 221 ") {
				at := strings.Index("\n"+rest, "\n"+line)
				if at < 0 {
					t.Fatalf("there is no line %q behind the others in\n%s", line, record)
				}
				rest = rest[at+len(line):]
			}
			if lines := strings.Count(record.String(), "\n"); lines > 100 || strings.Contains(record.String(), "se-cret") || strings.Count(record.String(), "< 220 ") > 2 {
				t.Errorf("%d lines:\n%s", lines, record)
			}
		})
	}
}

// relayOf is a relay that answers as it is told: say gives the answer to a line, "" none; false ends the connection.
func relayOf(t *testing.T, say func(line string) (string, bool)) *monolith.Channel {
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
			go func() {
				defer conn.Close()
				conn.Write([]byte("220 relay.example\r\n"))
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					answer, more := say(lines.Text())
					if !more {
						return
					}
					conn.Write([]byte(answer))
				}
			}()
		}
	}()
	return &monolith.Channel{Kind: "mail", Config: map[string]string{"host": "127.0.0.1", "port": strconv.Itoa(l.Addr().(*net.TCPAddr).Port), "tls": "none", "from": "m@example.com", "to": "a@example.com"}}
}

// speaks gives answers to commands by their first word; everything between DATA and the dot gets none.
func speaks(answers map[string]string) func(string) (string, bool) {
	mail := false
	return func(line string) (string, bool) {
		switch {
		case mail && line != ".":
			return "", true
		case mail:
			mail = false
		}
		word, _, _ := strings.Cut(line, " ")
		answer := answers[word]
		if answer == "" && word != "QUIT" {
			answer = "250 fine"
		}
		mail = word == "DATA"
		return answer + "\r\n", answer != ""
	}
}

// A relay that took a mail has it, however it ends the connection: another try would be a second mail.
func TestMailTakenBeforeTheEnd(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]map[string]string{
		"it hangs up":          {"DATA": "354 go on", ".": "250 2.0.0 Ok: queued as 4711"},
		"it refuses to finish": {"DATA": "354 go on", ".": "250 2.0.0 Ok: queued as 4711", "QUIT": "500 what?", "RSET": "500 what?"},
	} {
		record := &Dialogue{}
		answer, err := sender(t, relayOf(t, speaks(answers)), Options{Record: record}).Send(t.Context(), Examples()[0])
		if err != nil || answer != "taken by 127.0.0.1: 250 2.0.0 Ok: queued as 4711" || !strings.Contains(record.String(), "\n< 250 2.0.0 Ok: queued as 4711\n> QUIT") {
			t.Errorf("%s: %q, %v\n%s", name, answer, err, record)
		}
	}
}

// What a relay says when it refuses stands in the dialogue.
func TestMailRefusalIsShown(t *testing.T) {
	t.Parallel()
	for word, said := range map[string]string{"RCPT": "550 5.1.1 there is no such user", ".": "554 5.7.1 this is spam"} {
		record := &Dialogue{}
		_, err := sender(t, relayOf(t, speaks(map[string]string{"DATA": "354 go on", "QUIT": "221 bye", word: said})), Options{Record: record}).Send(t.Context(), Examples()[0])
		if !IsPermanent(err) || !strings.Contains(record.String(), "\n< "+said+"\n") {
			t.Errorf("%v\n%s", err, record)
		}
	}
}

// Text that came before encryption began is not taken for the encrypted relay's, and one without STARTTLS gets no mail.
func TestMailBeforeEncryption(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]map[string]string{
		"spoke before encryption began": {"EHLO": "250-relay.example\r\n250 STARTTLS", "STARTTLS": "220 go on\r\n250 injected"},
		"does not offer STARTTLS":       {"EHLO": "250 relay.example"},
	} {
		channel := relayOf(t, speaks(answers))
		channel.Config["tls"] = "starttls"
		if _, err := sender(t, channel, Options{}).Send(t.Context(), Examples()[0]); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A mail that is sent again, because Monolith was stopped before it knew that the first was taken, has the same id: mail
// programs show one.
func TestMailSentAgainHasItsID(t *testing.T) {
	t.Parallel()
	r := mailtest.Start(t, mailtest.Plain, "")
	sent := 0
	for _, kind := range []string{"mail", "pager"} {
		for _, n := range Examples() {
			for minutes := range 2 {
				o := Options{Now: func() time.Time { return n.At.Add(time.Duration(minutes) * time.Minute) }}
				if _, err := sender(t, channelTo(r, kind, mailtest.Plain, nil, ""), o).Send(t.Context(), n); err != nil {
					t.Fatal(err)
				}
				sent++
			}
			all := r.Messages(sent)
			if a, b := all[sent-2].Header.Get("Message-Id"), all[sent-1].Header.Get("Message-Id"); a != b || a == "" {
				t.Errorf("%s, %s: %q, then %q", kind, n.Kind, a, b)
			}
		}
	}
}

// A relay that talks without an end is left, whether in one line or in many: its answers are gathered in memory. It is tried again.
func TestMailEndlessAnswer(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"line":  "250-" + strings.Repeat("x", 4<<20) + "\r\n250 ok",
		"lines": strings.Repeat("250-more and more\r\n", 1<<18) + "250 ok",
	} {
		for _, mode := range []string{"none", "starttls"} {
			t.Run(name+" "+mode, func(t *testing.T) {
				t.Parallel()
				channel := relayOf(t, speaks(map[string]string{"EHLO": answer, "HELO": answer}))
				channel.Config["tls"] = mode
				record := &Dialogue{}
				_, err := sender(t, channel, Options{Record: record}).Send(t.Context(), Examples()[0])
				if err == nil || IsPermanent(err) || !strings.Contains(err.Error(), "said more than") {
					t.Errorf("%v", err)
				}
			})
		}
	}
}
